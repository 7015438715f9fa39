import type { DocumentTable, ReportDocument } from "../../document.ts";
import type { Row } from "../../rows.ts";
import type { ReportWriter } from "../writer.ts";
import { Canvas } from "./canvas.ts";
import { layOutTable } from "./layout.ts";
import { TablePages } from "./table_pages.ts";

/** Limit of a structure tree: it stays in memory and makes the file several times larger. */
const MAX_ELEMENTS = 25_000;
/** Limit of the rows that wait until it is known whether the table gets a structure tree. */
const MAX_WAITING_BYTES = 32 * 1024 * 1024;

/**
 * Writes a PDF: title and metadata, a table with its head on every page, page numbers and the template's chart. Fonts
 * are embedded with the used glyphs only. Finished pages do not stay in memory. A table within the limits above is
 * tagged.
 */
export const writePdf: ReportWriter = async function* (document) {
  let pages: TablePages | null = null;
  const begun = (isTagged: boolean) => pages ??= beginPages(document, isTagged);
  for (const part of document.parts) {
    if (part.kind === "chart") {
      begun(true).chart(await part.read());
      continue;
    }
    const elementsOfRow = part.columns.length + 1;
    let waiting: Row[] = [];
    let count = 0;
    let bytes = 0;
    let isOpen = false;
    for await (const batch of part.batches()) {
      const rows = batch.rows();
      count += rows.length;
      bytes += batch.bytes.length;
      waiting.push(...rows);
      if (!isOpen && count * elementsOfRow <= MAX_ELEMENTS && bytes <= MAX_WAITING_BYTES) continue;
      if (!isOpen) begun(false).openTable(part.columns, part.title);
      isOpen = true;
      yield* addRows(begun(false), waiting);
      waiting = [];
    }
    if (!isOpen) begun(true).openTable(part.columns, part.title);
    yield* addRows(begun(true), waiting);
    begun(true).closeTable(count);
  }
  const ended = begun(true);
  ended.finish();
  await ended.canvas.end();
  yield* ended.canvas.take();
};

function beginPages(document: ReportDocument, isTagged: boolean): TablePages {
  const tables = document.parts.filter((part): part is DocumentTable => part.kind === "table");
  const sizes = tables.map(({ columns }) => layOutTable(columns).size);
  const size = sizes.includes("A3") ? "A3" : "A4";
  const { title, requestedBy, generatedAt } = document;
  const canvas = new Canvas({ size, title, author: requestedBy, createdAt: generatedAt, isTagged });
  const pages = new TablePages(canvas, size, document);
  pages.begin();
  return pages;
}

function* addRows(pages: TablePages, rows: Row[]): Generator<Uint8Array<ArrayBuffer>> {
  for (const row of rows) {
    if (pages.addRow(row)) yield* pages.canvas.take();
  }
}
