import { tallyOf } from "../tally.ts";
import type { ReportWriter } from "../writer.ts";
import { Canvas } from "./canvas.ts";
import { layOut } from "./layout.ts";
import { TablePages } from "./page.ts";

/** Rows drawn before others get their turn: some ten milliseconds of work. */
const ROWS_AT_ONCE = 40;

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
  for await (const rows of batches) {
    count += rows.length;
    tally?.add(rows);
    for (let i = 0; i < rows.length; i += ROWS_AT_ONCE) {
      for (const row of rows.slice(i, i + ROWS_AT_ONCE)) pages.addRow(row);
      await turn();
      yield* canvas.take();
    }
  }
  pages.finish(count, tally && { title: tally.chart.title, bars: tally.bars() });
  await canvas.end();
  yield* canvas.take();
};

/** Lets the event loop do what waits. */
const turn = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 0));
