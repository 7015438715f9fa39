import { TextBuilder } from "./text_builder.ts";
import { type HtmlToken, htmlTokens } from "./tokens.ts";

const PARAGRAPHS = new Set(["p", "h1", "h2", "h3", "h4", "h5", "h6", "table", "dl", "pre", "figure", "form"]);
const BLOCKS = new Set([
  ...["div", "section", "article", "header", "footer", "main", "nav", "aside", "address", "body", "html"],
  ...["tr", "thead", "tbody", "tfoot", "caption", "dt", "dd", "fieldset", "figcaption", "center"],
]);
const LINK = /^(https?:|mailto:|tel:)/i;

interface Reading {
  paper: TextBuilder;
  /** One entry per open list: the number of its next item, or null where items are bullets. */
  lists: (number | null)[];
  links: { url: string; text: string }[];
  /** Whether the table row under way has a cell already. */
  isRowBegun: boolean;
}

/**
 * A plain-text alternative to an HTML body, in one pass over it: paragraphs, nested lists, quotes, `text (url)` for
 * links, ` | ` between the cells of a row, image descriptions, preformatted text. Never throws, whatever the input.
 */
export function htmlToText(html: string): string {
  const reading: Reading = { paper: new TextBuilder(), lists: [], links: [], isRowBegun: false };
  for (const token of htmlTokens(html)) {
    if (token.kind === "text") say(reading, token.text);
    else if (token.kind === "open") begin(reading, token);
    else end(reading, token.name);
  }
  while (reading.links.length > 0) end(reading, "a");
  return reading.paper.toString();
}

function say(reading: Reading, text: string): void {
  const link = reading.links.at(-1);
  if (link !== undefined) link.text += text;
  reading.paper.words(text);
}

function begin(reading: Reading, token: Extract<HtmlToken, { kind: "open" }>): void {
  const { paper, lists } = reading;
  const { name } = token;
  if (PARAGRAPHS.has(name)) paper.blank();
  else if (BLOCKS.has(name)) paper.lineBreak();
  if (name === "br") paper.lineBreak(true);
  else if (name === "hr") {
    paper.blank();
    paper.words("----------");
    paper.blank();
  } else if (name === "img") say(reading, token.attribute("alt") ?? "");
  else if (name === "a") reading.links.push({ url: token.attribute("href")?.trim() ?? "", text: "" });
  else if (name === "ul" || name === "ol") {
    if (lists.length === 0) paper.blank();
    else paper.lineBreak();
    lists.push(name === "ol" ? Number.parseInt(token.attribute("start") ?? "1", 10) || 1 : null);
    paper.indent(name === "ol" ? "   " : "  ");
  } else if (name === "li") paper.item(nextMark(lists));
  else if (name === "blockquote") {
    paper.blank();
    paper.indent("> ");
  } else if (name === "pre") paper.plain(true);
  else if (name === "tr") reading.isRowBegun = false;
  else if (name === "td" || name === "th") {
    if (reading.isRowBegun) paper.words(" | ");
    reading.isRowBegun = true;
  }
}

function end(reading: Reading, name: string): void {
  const { paper, lists } = reading;
  if (name === "a") {
    const link = reading.links.pop();
    if (link !== undefined) paper.words(linkTarget(link));
  } else if (name === "ul" || name === "ol") {
    if (lists.length === 0) return;
    lists.pop();
    paper.outdent();
    if (lists.length === 0) paper.blank();
  } else if (name === "blockquote") {
    paper.outdent();
    paper.blank();
  } else if (name === "li") paper.lineBreak();
  if (PARAGRAPHS.has(name)) paper.blank();
  else if (BLOCKS.has(name)) paper.lineBreak();
  if (name === "pre") paper.plain(false);
}

function nextMark(lists: (number | null)[]): string {
  const number = lists.at(-1) ?? null;
  if (number === null) return "- ";
  lists[lists.length - 1] = number + 1;
  return `${number}. `;
}

/** What follows a link's text: its address, unless the text already is the address or it leads nowhere. */
function linkTarget({ url, text }: { url: string; text: string }): string {
  const said = text.trim();
  const address = url.replace(/^(mailto|tel):/i, "");
  if (!LINK.test(url) || said === url || said === address) return "";
  return said === "" ? address : ` (${address})`;
}
