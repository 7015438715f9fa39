import { TextBuilder } from "./text_builder.ts";
import { type HtmlToken, htmlTokens } from "./tokens.ts";

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
