import { chartCounterOf } from "../chart_counter.ts";
import type { ReportWriter } from "../writer.ts";
import { Canvas } from "./canvas.ts";
import { layOutTable } from "./layout.ts";
import { TablePages } from "./table_pages.ts";

/**
 * Writes a PDF: title and metadata, a table with its head on every page, page numbers and the template's chart. Fonts
 * are embedded with the used glyphs only. Finished pages do not stay in memory.
 */
export const writePdf: ReportWriter = async function* (head, batches) {
  const { template, requestedBy, generatedAt } = head;
  const layout = layOutTable(Object.values(template.columns));
  const canvas = new Canvas({
    size: layout.size,
    title: template.name,
    author: requestedBy,
    createdAt: generatedAt,
  });
  const pages = new TablePages(canvas, layout, head);
  const tally = chartCounterOf(template);
  pages.begin();
  let count = 0;
  for await (const batch of batches) {
    const rows = batch.rows();
    count += rows.length;
    tally?.add(rows);
    for (const row of rows) {
      if (pages.addRow(row)) yield* canvas.take();
    }
  }
  pages.finish(count, tally && { title: tally.chart.title, bars: tally.bars() });
  await canvas.end();
  yield* canvas.take();
};
