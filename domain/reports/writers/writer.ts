import type { ReportTemplate } from "../report_template.ts";
import type { RowBatch } from "../rows.ts";

/** The metadata of a document. */
export interface DocumentHead {
  template: ReportTemplate;
  /** Validated parameters, with defaults. */
  parameters: Record<string, unknown>;
  /** Name of the tenant whose data it shows; null: all tenants. */
  tenantName: string | null;
  requestedBy: string | null;
  generatedAt: Date;
}

/**
 * Writes rows as a document, in byte chunks. It keeps at most about one batch in memory. A chunk is valid until the
 * next one is requested.
 */
export type ReportWriter = (
  head: DocumentHead,
  batches: AsyncIterable<RowBatch>,
) => AsyncGenerator<Uint8Array<ArrayBuffer>>;
