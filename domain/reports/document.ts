import type { ReportFormat } from "./formats.ts";
import type { ReportTemplate } from "./report_template.ts";
import { readRows, type RowBatch } from "./rows.ts";
import { writerOf } from "./writers/mod.ts";

/** The input of a document. Plain values only, because it is sent to another thread. */
export interface DocumentOrder {
  templateId: string;
  format: ReportFormat;
  /** Validated parameters, with defaults. */
  parameters: Record<string, unknown>;
  /** As `ReportScope`. */
  tenantIds: string[] | null;
  tenantName: string | null;
  requestedBy: string | null;
  generatedAt: Date;
}

/**
 * Generates a document as a stream of byte chunks; the generator's return value is the number of rows. Aborting
 * `signal` cancels the query at the server.
 * @throws the signal's reason, PostgresError, or an error of the template
 */
export async function* makeDocument(
  databaseUrl: string,
  template: ReportTemplate,
  { format, tenantIds, parameters, ...head }: DocumentOrder,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array<ArrayBuffer>, number> {
  const rows = { count: 0 };
  const batches = counted(readRows(databaseUrl, template, { tenantIds, parameters }, signal), rows);
  const write = await writerOf(format);
  yield* write({ ...head, template, parameters }, batches);
  return rows.count;
}

async function* counted(
  batches: AsyncIterable<RowBatch>,
  rows: { count: number },
): AsyncGenerator<RowBatch> {
  for await (const batch of batches) {
    rows.count += batch.count;
    yield batch;
  }
}
