import { escapeUTF8 } from "entities/escape";

export const XML_HEAD = `<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n`;
export const OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships";
export const SHEETML = "http://schemas.openxmlformats.org/spreadsheetml/2006/main";
export const PACKAGE = "http://schemas.openxmlformats.org/package/2006";
export const DRAWINGML = "http://schemas.openxmlformats.org/drawingml/2006";

/** A text as XML; characters that XML does not allow are left out. */
export const xmlText = (text: string): string =>
  escapeUTF8(text.toWellFormed().replaceAll(/(?![\t\n])\p{Cc}|[\ufffe\uffff]/gu, ""));

/** A link from a part to another one. */
export interface Relation {
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
