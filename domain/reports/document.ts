import type { ReportFormat } from "./formats.ts";
import type { ReportTemplate } from "./report_template.ts";
import { readRows, type RowBatch } from "./rows.ts";
import { writerOf } from "./writers/mod.ts";

/** Everything a document is made of, as plain values that go from one thread to another. */
export interface DocumentOrder {
  templateId: string;
  format: ReportFormat;
  /** Parameters that run, defaults included. */
  parameters: Record<string, unknown>;
  /** As `ReportScope`. */
  tenantIds: string[] | null;
  tenantName: string | null;
  requestedBy: string | null;
  generatedAt: Date;
}

/**
 * Makes a document piece by piece and returns how many rows it has. An abort cancels its query at the server.
 * @throws the signal's reason, PostgresError, Error of the template
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
