import type { TableBlock } from "../../../markup/blocks.ts";
import { longestWord, naturalWidth } from "./lines.ts";

/** Number of rows that are measured. Further rows are not. */
const MEASURED_ROWS = 300;
/** A column takes at most this share of the table by its longest word. */
const MAX_WORD_SHARE = 0.5;

/**
 * The widths of the columns, in points. A column with a width in per cent gets it. The others get a share of the rest by
 * their content. If the rest is too narrow for the content, each keeps the width of its longest word as long as there is
 * room, so that no word is broken.
 * @param padding of a cell, left and right together
 */
export function columnWidths(table: TableBlock, width: number, fontSize: number, padding: number): number[] {
  const given = table.widths.map((percent) => percent === null ? null : width * percent / 100);
  const givenTotal = given.reduce<number>((sum, each) => sum + (each ?? 0), 0);
  const scale = givenTotal > width ? width / givenTotal : 1;
  const open = [...given.keys()].filter((column) => given[column] === null);
  const room = Math.max(0, width - givenTotal * scale);
  const { natural, minimum } = measure(table, fontSize, padding);
  const capped = minimum.map((each) => Math.min(each, width * MAX_WORD_SHARE));
  const wanted = open.map((column) => natural[column] ?? 0);
  const total = wanted.reduce((sum, each) => sum + each, 0);
  const result = given.map((each) => (each ?? 0) * scale);
  if (open.length === 0) return result.map((each) => each * (width / Math.max(1, givenTotal * scale)));
  if (total <= room) {
    for (const [i, column] of open.entries()) result[column] = (wanted[i] ?? 0) * room / Math.max(1, total);
    return result;
  }
  const minimumTotal = open.reduce((sum, column) => sum + (capped[column] ?? 0), 0);
  const spare = Math.max(0, room - minimumTotal);
  const extra = open.map((column) => Math.max(0, (natural[column] ?? 0) - (capped[column] ?? 0)));
  const extraTotal = Math.max(1, extra.reduce((sum, each) => sum + each, 0));
  const shrink = minimumTotal > room ? room / minimumTotal : 1;
  for (const [i, column] of open.entries()) {
    result[column] = (capped[column] ?? 0) * shrink + spare * (extra[i] ?? 0) / extraTotal;
  }
  return result;
}

/** For each column, the width of its widest cell in one line and of its longest word. */
function measure({ widths, head, body, foot }: TableBlock, size: number, padding: number) {
  const natural = widths.map(() => padding);
  const minimum = widths.map(() => padding);
  for (const row of [...head, ...body.slice(0, MEASURED_ROWS), ...foot]) {
    let column = 0;
    for (const { spans, isHead, columns } of row) {
      if (columns === 1) {
        const style = { size, isBold: isHead };
        natural[column] = Math.max(natural[column] ?? 0, naturalWidth(spans, style) + padding + 0.1);
        minimum[column] = Math.max(minimum[column] ?? 0, longestWord(spans, style) + padding + 0.1);
      }
      column += columns;
    }
  }
  return { natural, minimum };
}
