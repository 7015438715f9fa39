import type { ReportTemplate } from "../report_template.ts";
import type { RowBatch } from "../rows.ts";

/** What a document says besides its rows. */
export interface DocumentHead {
  template: ReportTemplate;
  /** Parameters that ran, defaults included. */
  parameters: Record<string, unknown>;
  /** Whose data it is; null: the whole service's. */
  tenantName: string | null;
  requestedBy: string | null;
  generatedAt: Date;
}

/**
 * Turns rows into a document, piece by piece; holds no more in memory than a batch needs. A piece is good until the next
 * is asked for.
 */
export type ReportWriter = (
  head: DocumentHead,
  batches: AsyncIterable<RowBatch>,
) => AsyncGenerator<Uint8Array<ArrayBuffer>>;
