import type { Row } from "../../rows.ts";
import { chartCounterOf } from "../chart_counter.ts";
import type { DocumentHead, ReportWriter } from "../writer.ts";
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
export const writePdf: ReportWriter = async function* (head, batches) {
  const elementsOfRow = Object.keys(head.template.columns).length + 1;
  const tally = chartCounterOf(head.template);
  let pages: TablePages | null = null;
  let waiting: Row[] = [];
  let count = 0;
  let bytes = 0;
  for await (const batch of batches) {
    const rows = batch.rows();
    count += rows.length;
    bytes += batch.bytes.length;
    tally?.add(rows);
    waiting.push(...rows);
    if (count * elementsOfRow <= MAX_ELEMENTS && bytes <= MAX_WAITING_BYTES) continue;
    pages ??= beginTable(head, false);
    yield* addRows(pages, waiting);
    waiting = [];
  }
  pages ??= beginTable(head, true);
  yield* addRows(pages, waiting);
  pages.finish(count, tally && { title: tally.chart.title, bars: tally.bars() });
  await pages.canvas.end();
  yield* pages.canvas.take();
};

function beginTable(head: DocumentHead, isTagged: boolean): TablePages {
  const { template, requestedBy, generatedAt } = head;
  const layout = layOutTable(Object.values(template.columns));
  const canvas = new Canvas({
    size: layout.size,
    title: template.name,
    author: requestedBy,
    createdAt: generatedAt,
    isTagged,
  });
  const pages = new TablePages(canvas, layout, head);
  pages.begin();
  return pages;
}

function* addRows(pages: TablePages, rows: Row[]): Generator<Uint8Array<ArrayBuffer>> {
  for (const row of rows) {
    if (pages.addRow(row)) yield* pages.canvas.take();
  }
}
