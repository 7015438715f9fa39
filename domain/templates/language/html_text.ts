import { decodeHTMLStrict } from "entities/decode";

const PARAGRAPHS = new Set(["p", "h1", "h2", "h3", "h4", "h5", "h6", "table", "dl", "pre", "figure", "form"]);
const BLOCKS = new Set([
  ...["div", "section", "article", "header", "footer", "main", "nav", "aside", "address", "body", "html"],
  ...["tr", "thead", "tbody", "tfoot", "caption", "dt", "dd", "fieldset", "figcaption", "center"],
]);
const LINK = /^(https?:|mailto:|tel:)/i;

interface Conversion {
  builder: TextBuilder;
  /** One entry per open list: the number of its next item, or null for a bullet list. */
  lists: (number | null)[];
  links: { url: string; text: string }[];
  /** True if the current table row has a cell. */
  hasCell: boolean;
}

/**
 * Converts HTML to plain text in one pass. It supports paragraphs, nested lists, quotes, preformatted text and image
 * descriptions. Links become `text (url)`, and ` | ` separates the cells of a row. It never throws.
 *
 * The library html-to-text 10.0.1 needs 110 µs for an order mail (this: 70 µs) and 73 s for a megabyte of `<b>` (this:
 * 0.1 s): its parser, htmlparser2, moves all open elements for each new one.
 */
export function htmlToText(html: string): string {
  const conversion: Conversion = { builder: new TextBuilder(), lists: [], links: [], hasCell: false };
  for (const token of htmlTokens(html)) {
    if (token.kind === "text") appendText(conversion, token.text);
    else if (token.kind === "open") openElement(conversion, token);
    else closeElement(conversion, token.name);
  }
  while (conversion.links.length > 0) closeElement(conversion, "a");
  return conversion.builder.toString();
}

function appendText(conversion: Conversion, text: string): void {
  const link = conversion.links.at(-1);
  if (link !== undefined) link.text += text;
  conversion.builder.append(text);
}

function openElement(conversion: Conversion, token: Extract<HtmlToken, { kind: "open" }>): void {
  const { builder, lists } = conversion;
  const { name } = token;
  if (PARAGRAPHS.has(name)) builder.paragraphBreak();
  else if (BLOCKS.has(name)) builder.lineBreak();
  if (name === "br") builder.lineBreak(true);
  else if (name === "hr") {
    builder.paragraphBreak();
    builder.append("----------");
    builder.paragraphBreak();
  } else if (name === "img") appendText(conversion, token.attribute("alt") ?? "");
  else if (name === "a") conversion.links.push({ url: token.attribute("href")?.trim() ?? "", text: "" });
  else if (name === "ul" || name === "ol") {
    if (lists.length === 0) builder.paragraphBreak();
    else builder.lineBreak();
    lists.push(name === "ol" ? Number.parseInt(token.attribute("start") ?? "1", 10) || 1 : null);
    builder.indent(name === "ol" ? "   " : "  ");
  } else if (name === "li") builder.item(nextMarker(lists));
  else if (name === "blockquote") {
    builder.paragraphBreak();
    builder.indent("> ");
  } else if (name === "pre") builder.preformat(true);
  else if (name === "tr") conversion.hasCell = false;
  else if (name === "td" || name === "th") {
    if (conversion.hasCell) builder.append(" | ");
    conversion.hasCell = true;
  }
}

function closeElement(conversion: Conversion, name: string): void {
  const { builder, lists } = conversion;
  if (name === "a") {
    const link = conversion.links.pop();
    if (link !== undefined) builder.append(linkTarget(link));
  } else if (name === "ul" || name === "ol") {
    if (lists.length === 0) return;
    lists.pop();
    builder.outdent();
    if (lists.length === 0) builder.paragraphBreak();
  } else if (name === "blockquote") {
    builder.outdent();
    builder.paragraphBreak();
  } else if (name === "li") builder.lineBreak();
  if (PARAGRAPHS.has(name)) builder.paragraphBreak();
  else if (BLOCKS.has(name)) builder.lineBreak();
  if (name === "pre") builder.preformat(false);
}

function nextMarker(lists: (number | null)[]): string {
  const number = lists.at(-1) ?? null;
  if (number === null) return "- ";
  lists[lists.length - 1] = number + 1;
  return `${number}. `;
}

/** The text after a link: its URL in parentheses. Empty if the label is the URL, or it is not a web, mail or phone URL. */
function linkTarget({ url, text }: { url: string; text: string }): string {
  const label = text.trim();
  const address = url.replace(/^(mailto|tel):/i, "");
  if (!LINK.test(url) || label === url || label === address) return "";
  return label === "" ? address : ` (${address})`;
}

const MAX_INDENT = 12;

/**
 * Builds plain text. It collapses white space as HTML does, keeps at most one blank line between blocks, and indents
 * every line for the lists and quotes around it.
 */
class TextBuilder {
  private readonly lines: string[] = [];
  private readonly indents: string[] = [];
  private line = "";
  /** True if the line is empty or ends with a space. Testing the string each time would flatten (copy) it. */
  private isSpaced = true;
  /** The marker of a list item, such as `- `. It replaces the innermost indentation of the item's first line. */
  private marker: string | null = null;
  private isBlankLineDue = false;
  private preformatted = 0;

  /** Appends text. White space becomes one space, except inside `<pre>`. */
  append(text: string): void {
    if (this.preformatted > 0) {
      for (const [index, line] of text.split(/\r\n?|\n/).entries()) {
        if (index > 0) this.flush(true);
        this.line += line;
      }
      return;
    }
    const flat = text.replace(/[ \t\r\n\f]+/g, " ");
    const added = this.isSpaced ? flat.trimStart() : flat;
    if (added === "") return;
    this.line += added;
    this.isSpaced = added.endsWith(" ");
  }

  /** Ends the current line if it is not empty. @param isForced also if it is empty */
  lineBreak(isForced = false): void {
    this.flush(isForced);
  }

  /** Ends the paragraph: one blank line precedes the next text. */
  paragraphBreak(): void {
    this.flush(false);
    this.isBlankLineDue = true;
  }

  indent(by: string): void {
    this.flush(false);
    this.indents.push(by);
  }

  outdent(): void {
    this.flush(false);
    this.indents.pop();
  }

  /** Starts a list item with its marker. */
  item(marker: string): void {
    this.flush(false);
    this.marker = marker;
  }

  /** Keeps white space unchanged until the matching `preformat(false)`. */
  preformat(isOn: boolean): void {
    this.preformatted = Math.max(0, this.preformatted + (isOn ? 1 : -1));
  }

  toString(): string {
    this.flush(false);
    return this.lines.join("\n").trimEnd();
  }

  private flush(isForced: boolean): void {
    const text = this.preformatted > 0 ? this.line.trimEnd() : this.line.trim();
    this.line = "";
    this.isSpaced = true;
    if (text === "" && !isForced) return;
    if (this.isBlankLineDue && this.lines.length > 0) this.lines.push("");
    this.isBlankLineDue = false;
    const indents = this.indents.slice(0, MAX_INDENT);
    if (this.marker !== null) indents.pop();
    this.lines.push((indents.join("") + (this.marker ?? "") + text).trimEnd());
    this.marker = null;
  }
}

/** A token of an HTML document that matters for plain text. */
type HtmlToken =
  | { kind: "text"; text: string }
  | { kind: "open"; name: string; attribute(name: string): string | null }
  | { kind: "close"; name: string };

/** Elements whose content is not shown as text. The end of `head` may be left out, and its other elements are empty. */
const HIDDEN = new Set(["script", "style", "title", "template", "noscript", "svg", "object", "select"]);
const ATTRIBUTE = /([^\s=>"'/]+)(?:\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s>"']+)))?/g;

/** Splits HTML into tokens in one pass. What is not a tag is text. An unclosed tag or comment ends the document. */
function* htmlTokens(html: string): Generator<HtmlToken> {
  let at = 0;
  while (at < html.length) {
    const open = html.indexOf("<", at);
    const until = open === -1 ? html.length : open;
    if (until > at) yield { kind: "text", text: decodeHTMLStrict(html.slice(at, until)) };
    if (open === -1) return;
    if (html.startsWith("<!--", open)) {
      const end = html.indexOf("-->", open + 4);
      if (end === -1) return;
      at = end + 3;
      continue;
    }
    if (!/[A-Za-z/!?]/.test(html[open + 1] ?? "")) {
      yield { kind: "text", text: "<" };
      at = open + 1;
      continue;
    }
    const end = tagEnd(html, open);
    if (end === -1) return;
    const name = /^<\/?([A-Za-z][A-Za-z0-9:-]*)/.exec(html.slice(open, Math.min(end, open + 40)))?.[1]
      ?.toLowerCase();
    at = end + 1;
    if (name === undefined) continue;
    if (html[open + 1] === "/") yield { kind: "close", name };
    else if (HIDDEN.has(name) && html[end - 1] !== "/") at = afterElement(html, name, at);
    else yield openToken(name, html.slice(open + 1 + name.length, end));
  }
}

/** The offset of the `>` that ends a tag, skipping quoted attribute values. A quote that is not closed counts as text. */
function tagEnd(html: string, open: number): number {
  const delimiter = /["'>]/g;
  delimiter.lastIndex = open;
  for (let found = delimiter.exec(html); found !== null; found = delimiter.exec(html)) {
    if (found[0] === ">") return found.index;
    const closing = html.indexOf(found[0], found.index + 1);
    if (closing === -1) return html.indexOf(">", found.index);
    delimiter.lastIndex = closing + 1;
  }
  return -1;
}

function afterElement(html: string, name: string, from: number): number {
  const end = new RegExp(`</${name}[\\s>/]`, "gi");
  end.lastIndex = from;
  const found = end.exec(html);
  const close = found ? html.indexOf(">", found.index) : -1;
  return close === -1 ? html.length : close + 1;
}

function openToken(name: string, attributes: string): HtmlToken {
  return {
    kind: "open",
    name,
    attribute(wanted) {
      for (const [, found, double, single, bare] of attributes.matchAll(ATTRIBUTE)) {
        if (found?.toLowerCase() === wanted) return decodeHTMLStrict(double ?? single ?? bare ?? "");
      }
      return null;
    },
  };
}
