import { escapeUTF8 } from "entities/escape";
import { cutText } from "../../../shared/cut_text.ts";

export const XML_HEAD = `<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n`;
export const OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships";
export const SHEETML = "http://schemas.openxmlformats.org/spreadsheetml/2006/main";
export const PACKAGE = "http://schemas.openxmlformats.org/package/2006";
export const DRAWINGML = "http://schemas.openxmlformats.org/drawingml/2006";

/** A text as XML; characters that XML does not allow are left out. */
export const xmlText = (text: string): string =>
  escapeUTF8(text.toWellFormed().replaceAll(/(?![\t\n])\p{Cc}|[\ufffe\uffff]/gu, ""));

/** A link from a part to another one. */
interface Relation {
  /** The last word of its type, such as `worksheet`. */
  type: string;
  /** The namespace of its type; absent: the one of office documents. */
  base?: string;
  target: string;
}

/** A relations part; the ids are rId1, rId2 and so on. */
export function relationsPart(relations: Relation[]): string {
  const links = relations.map(({ type, base = OFFICE, target }, i) =>
    `<Relationship Id="rId${i + 1}" Type="${base}/${type}" Target="${target}"/>`
  );
  return `${XML_HEAD}<Relationships xmlns="${PACKAGE}/relationships">${links.join("")}</Relationships>`;
}

export const MAX_CELL_LENGTH = 32_767;
// Spreadsheets write characters that XML does not allow as _x0001_. A text that already looks like this gets its
// underscore escaped as _x005F_.
const NEEDS_ESCAPE = /(?![\t\n])\p{Cc}|[\ufffe\uffff]|_(?=x[0-9A-Fa-f]{4}_)/u;

/** A cell's text as XML: escaped and cut to MAX_CELL_LENGTH. */
export function cellText(text: string): string {
  const fitting = text.length > MAX_CELL_LENGTH ? cutText(text, MAX_CELL_LENGTH - 1) + "…" : text;
  if (!NEEDS_ESCAPE.test(fitting)) return escapeUTF8(fitting);
  const escaped = fitting.replaceAll(
    new RegExp(NEEDS_ESCAPE, "gu"),
    (c) => `_x${c.charCodeAt(0).toString(16).toUpperCase().padStart(4, "0")}_`,
  );
  return escapeUTF8(escaped);
}

/** A cell with a text. @param at such as `A1` @param style an index of STYLE */
export function textCell(at: string, text: string, style = 0): string {
  const styled = style ? ` s="${style}"` : "";
  return `<c r="${at}" t="inlineStr"${styled}><is><t xml:space="preserve">${cellText(text)}</t></is></c>`;
}

/** The letters of a column (`A`, …, `Z`, `AA`, …), numbered from 1. */
export function columnLetters(column: number): string {
  let letters = "";
  for (let n = column; n > 0; n = Math.floor((n - 1) / 26)) {
    letters = String.fromCharCode(65 + (n - 1) % 26) + letters;
  }
  return letters;
}
