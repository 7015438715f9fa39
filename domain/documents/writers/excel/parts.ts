import type { ReportDocument } from "../../document.ts";
import { OFFICE, PACKAGE, relationsPart, SHEETML, XML_HEAD, xmlText } from "./xml.ts";

/** The parts (files of the Office Open XML package) of a workbook besides its sheets. */

const TYPE = "application/vnd.openxmlformats-officedocument";

const CORE = `${PACKAGE}/metadata/core-properties`;

export const PACKAGE_RELATIONS = relationsPart([
  { type: "officeDocument", target: "xl/workbook.xml" },
  { base: `${PACKAGE}/relationships`, type: "metadata/core-properties", target: "docProps/core.xml" },
]);

/** Title, creator and dates, which Excel and file managers show as the properties of the document. */
export function corePart({ title, requestedBy, looks, generatedAt }: ReportDocument): string {
  const at = `${generatedAt.toISOString().slice(0, 19)}Z`;
  const time = (name: string) => `<dcterms:${name} xsi:type="dcterms:W3CDTF">${at}</dcterms:${name}>`;
  return `${XML_HEAD}<cp:coreProperties xmlns:cp="${CORE}" xmlns:dc="http://purl.org/dc/elements/1.1/" ` +
    `xmlns:dcterms="http://purl.org/dc/terms/" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance">` +
    `<dc:title>${xmlText(title)}</dc:title><dc:creator>${
      xmlText(requestedBy ?? looks.productName)
    }</dc:creator>` +
    `${time("created")}${time("modified")}</cp:coreProperties>`;
}

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
    `<Override PartName="/docProps/core.xml" ContentType="application/vnd.openxmlformats-package.core-properties+xml"/>` +
    `<Override PartName="/xl/styles.xml" ContentType="${TYPE}.spreadsheetml.styles+xml"/>` +
    overrides(count.sheets, "worksheets/sheet", "spreadsheetml.worksheet") +
    overrides(count.drawings, "drawings/drawing", "drawing") +
    overrides(count.charts, "charts/chart", "drawingml.chart") + "</Types>";
}
