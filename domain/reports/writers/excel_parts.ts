import { escapeUTF8 } from "entities/escape";

/** The XML parts of a workbook besides its sheets. */

const HEAD = `<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n`;
const OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships";
const SHEETML = "http://schemas.openxmlformats.org/spreadsheetml/2006/main";
const PACKAGE = "http://schemas.openxmlformats.org/package/2006";
const TYPE = "application/vnd.openxmlformats-officedocument.spreadsheetml";

export const PACKAGE_RELATIONS = `${HEAD}<Relationships xmlns="${PACKAGE}/relationships">` +
  `<Relationship Id="rId1" Type="${OFFICE}/officeDocument" Target="xl/workbook.xml"/></Relationships>`;

/** Cell styles by index: 0 plain, 1 head, 2 instant, 3 day, 4 boolean (without it LibreOffice shows 1 and 0). */
export const STYLES = `${HEAD}<styleSheet xmlns="${SHEETML}">` +
  `<numFmts count="3"><numFmt numFmtId="164" formatCode="yyyy\\-mm\\-dd\\ hh:mm:ss"/>` +
  `<numFmt numFmtId="165" formatCode="yyyy\\-mm\\-dd"/>` +
  `<numFmt numFmtId="166" formatCode="&quot;TRUE&quot;;&quot;TRUE&quot;;&quot;FALSE&quot;"/></numFmts>` +
  `<fonts count="2"><font><sz val="11"/><name val="Calibri"/></font>` +
  `<font><b/><sz val="11"/><color rgb="FFFFFFFF"/><name val="Calibri"/></font></fonts>` +
  `<fills count="3"><fill><patternFill patternType="none"/></fill><fill><patternFill patternType="gray125"/></fill>` +
  `<fill><patternFill patternType="solid"><fgColor rgb="FF24415F"/><bgColor indexed="64"/></patternFill></fill></fills>` +
  `<borders count="1"><border><left/><right/><top/><bottom/><diagonal/></border></borders>` +
  `<cellStyleXfs count="1"><xf numFmtId="0" fontId="0" fillId="0" borderId="0"/></cellStyleXfs>` +
  `<cellXfs count="5"><xf numFmtId="0" fontId="0" fillId="0" borderId="0" xfId="0"/>` +
  `<xf numFmtId="0" fontId="1" fillId="2" borderId="0" xfId="0" applyFont="1" applyFill="1"/>` +
  `<xf numFmtId="164" fontId="0" fillId="0" borderId="0" xfId="0" applyNumberFormat="1"/>` +
  `<xf numFmtId="165" fontId="0" fillId="0" borderId="0" xfId="0" applyNumberFormat="1"/>` +
  `<xf numFmtId="166" fontId="0" fillId="0" borderId="0" xfId="0" applyNumberFormat="1"/></cellXfs>` +
  `<cellStyles count="1"><cellStyle name="Normal" xfId="0" builtinId="0"/></cellStyles></styleSheet>`;

/** The workbook part. All sheets except the last repeat their head row on every printed page. */
export function workbook(names: string[]): string {
  const heads = names.slice(0, -1).map((name, i) =>
    `<definedName name="_xlnm.Print_Titles" localSheetId="${i}">'${
      escapeUTF8(name.replaceAll("'", "''"))
    }'!$1:$1</definedName>`
  );
  const sheets = names.map((name, i) =>
    `<sheet name="${escapeUTF8(name)}" sheetId="${i + 1}" r:id="rId${i + 1}"/>`
  );
  return `${HEAD}<workbook xmlns="${SHEETML}" xmlns:r="${OFFICE}"><sheets>${
    sheets.join("")
  }</sheets><definedNames>${heads.join("")}</definedNames></workbook>`;
}

export function workbookRelations(sheets: number): string {
  const links = Array.from(
    { length: sheets },
    (_, i) =>
      `<Relationship Id="rId${i + 1}" Type="${OFFICE}/worksheet" Target="worksheets/sheet${i + 1}.xml"/>`,
  );
  const styles = `<Relationship Id="rId${sheets + 1}" Type="${OFFICE}/styles" Target="styles.xml"/>`;
  return `${HEAD}<Relationships xmlns="${PACKAGE}/relationships">${links.join("")}${styles}</Relationships>`;
}

export function contentTypes(sheets: number): string {
  const overrides = Array.from(
    { length: sheets },
    (_, i) => `<Override PartName="/xl/worksheets/sheet${i + 1}.xml" ContentType="${TYPE}.worksheet+xml"/>`,
  );
  return `${HEAD}<Types xmlns="${PACKAGE}/content-types">` +
    `<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>` +
    `<Default Extension="xml" ContentType="application/xml"/>` +
    `<Override PartName="/xl/workbook.xml" ContentType="${TYPE}.sheet.main+xml"/>` +
    `<Override PartName="/xl/styles.xml" ContentType="${TYPE}.styles+xml"/>${overrides.join("")}</Types>`;
}

/** The letters of a column (`A`, …, `Z`, `AA`, …), numbered from 1. */
export function columnLetters(column: number): string {
  let letters = "";
  for (let n = column; n > 0; n = Math.floor((n - 1) / 26)) {
    letters = String.fromCharCode(65 + (n - 1) % 26) + letters;
  }
  return letters;
}

const MAX_CELL_LENGTH = 32_767;
// Spreadsheets write characters that XML does not allow as _x0001_. A text that already looks like this gets its
// underscore escaped as _x005F_.
const NEEDS_ESCAPE = /(?![\t\n])\p{Cc}|[\ufffe\uffff]|_(?=x[0-9A-Fa-f]{4}_)/u;

/** A cell's text as XML: escaped and cut to MAX_CELL_LENGTH. */
export function cellText(text: string): string {
  const fitting = text.length > MAX_CELL_LENGTH
    ? text.slice(0, MAX_CELL_LENGTH - 1).toWellFormed() + "…"
    : text;
  if (!NEEDS_ESCAPE.test(fitting)) return escapeUTF8(fitting);
  const escaped = fitting.replaceAll(
    new RegExp(NEEDS_ESCAPE, "gu"),
    (c) => `_x${c.charCodeAt(0).toString(16).toUpperCase().padStart(4, "0")}_`,
  );
  return escapeUTF8(escaped);
}
