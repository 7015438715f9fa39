import type { ReportDocument } from "../document.ts";

/**
 * Writes a document, in byte chunks. It keeps at most about one batch of rows in memory. A chunk is valid until the next
 * one is requested.
 */
export type ReportWriter = (document: ReportDocument) => AsyncGenerator<Uint8Array<ArrayBuffer>>;
