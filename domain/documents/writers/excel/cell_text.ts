import { escapeUTF8 } from "entities/escape";
import { cutText } from "../../../shared/cut_text.ts";

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
