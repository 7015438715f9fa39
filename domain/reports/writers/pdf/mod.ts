import { tallyOf } from "../tally.ts";
import type { ReportWriter } from "../writer.ts";
import { Canvas } from "./canvas.ts";
import { layOut } from "./layout.ts";
import { TablePages } from "./page.ts";

/**
 * A printable document: title and facts, a table with its head on every page, page numbers, the template's chart. Fonts
 * are embedded, as far as their glyphs are used. Pages leave memory as they are finished.
 */
export const writePdf: ReportWriter = async function* (head, batches) {
  const { template, requestedBy, generatedAt } = head;
  const layout = layOut(Object.values(template.columns));
  const canvas = new Canvas({
    ...{ size: layout.size, title: template.name, author: requestedBy, createdAt: generatedAt },
  });
  const pages = new TablePages(canvas, layout, head);
  const tally = tallyOf(template);
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
