import { OFFICE, PACKAGE, relationsPart, SHEETML, XML_HEAD, xmlText } from "./xml.ts";

/** The parts of a workbook besides its sheets. */

const TYPE = "application/vnd.openxmlformats-officedocument";

export const PACKAGE_RELATIONS = relationsPart([{ type: "officeDocument", target: "xl/workbook.xml" }]);

/** A sheet of the workbook. Its part is `xl/worksheets/sheet{number}.xml`. */
export interface Sheet {
  name: string;
  number: number;
  /** The row that is repeated on every printed page; null: none. */
  headRow: number | null;
}

/** The workbook part. @param sheets in the order of their tabs */
export function workbookPart(sheets: Sheet[]): string {
  const quoted = (name: string) => `'${xmlText(name.replaceAll("'", "''"))}'`;
  const names = sheets.flatMap(({ name, headRow }, i) =>
    headRow === null ? [] : [
      `<definedName name="_xlnm.Print_Titles" localSheetId="${i}">${
        quoted(name)
      }!$${headRow}:$${headRow}</definedName>`,
    ]
  );
  const active = sheets.findIndex(({ number }) => number === 1); // the sheet that is marked as selected
  const listed = sheets.map(({ name, number }) =>
    `<sheet name="${xmlText(name)}" sheetId="${number}" r:id="rId${number}"/>`
  );
  return `${XML_HEAD}<workbook xmlns="${SHEETML}" xmlns:r="${OFFICE}"><bookViews><workbookView activeTab="${active}"/></bookViews>` +
    `<sheets>${listed.join("")}</sheets>` +
    `${names.length > 0 ? `<definedNames>${names.join("")}</definedNames>` : ""}</workbook>`;
}

/** The relations of the workbook: sheets by their numbers, then the styles. */
export const workbookRelations = (sheets: number): string =>
  relationsPart([
    ...Array.from(
      { length: sheets },
      (_, i) => ({ type: "worksheet", target: `worksheets/sheet${i + 1}.xml` }),
    ),
    { type: "styles", target: "styles.xml" },
  ]);

export function contentTypes(count: { sheets: number; drawings: number; charts: number }): string {
  const overrides = (number: number, path: string, type: string) =>
    Array.from(
      { length: number },
      (_, i) => `<Override PartName="/xl/${path}${i + 1}.xml" ContentType="${TYPE}.${type}+xml"/>`,
    ).join("");
  return `${XML_HEAD}<Types xmlns="${PACKAGE}/content-types">` +
    `<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>` +
    `<Default Extension="xml" ContentType="application/xml"/>` +
    `<Default Extension="png" ContentType="image/png"/><Default Extension="jpeg" ContentType="image/jpeg"/>` +
    `<Override PartName="/xl/workbook.xml" ContentType="${TYPE}.spreadsheetml.sheet.main+xml"/>` +
    `<Override PartName="/xl/styles.xml" ContentType="${TYPE}.spreadsheetml.styles+xml"/>` +
    overrides(count.sheets, "worksheets/sheet", "spreadsheetml.worksheet") +
    overrides(count.drawings, "drawings/drawing", "drawing") +
    overrides(count.charts, "charts/chart", "drawingml.chart") + "</Types>";
}
