import type { DocumentTable } from "../../document.ts";
import type { ReportWriter } from "../writer.ts";
import { Canvas } from "./canvas.ts";
import { LANDSCAPE, layOutTable } from "./layout.ts";
import { TablePages } from "./table_pages.ts";

/**
 * Writes a PDF: title and metadata, tables with their heads on every page, charts and page numbers. Fonts are embedded
 * with the used glyphs only. Finished pages and the tags of finished rows do not stay in memory.
 */
export const writePdf: ReportWriter = async function* (document) {
  const { title, requestedBy, generatedAt, parts } = document;
  const tables = parts.filter((part): part is DocumentTable => part.kind === "table");
  const sizes = tables.map(({ columns }) => layOutTable(columns).size);
  const size = sizes.includes("A3") ? "A3" : "A4";
  const [width, height] = LANDSCAPE[size];
  const canvas = new Canvas({
    width,
    height,
    title,
    author: requestedBy,
    createdAt: generatedAt,
    language: "en",
  });
  const pages = new TablePages(canvas, size, document);
  pages.begin();
  for (const part of parts) {
    if (part.kind === "chart") {
      pages.chart(await part.read());
      continue;
    }
    pages.openTable(part.columns, part.title);
    let count = 0;
    for await (const batch of part.batches()) {
      const rows = batch.rows();
      count += rows.length;
      for (const row of rows) {
        if (pages.addRow(row)) yield* canvas.take();
      }
    }
    pages.closeTable(count);
  }
  pages.finish();
  canvas.end();
  yield* canvas.take();
};
