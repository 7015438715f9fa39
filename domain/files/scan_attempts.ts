import type { Queryable } from "../../infra/postgres/postgres.ts";
import type { ScanAttemptVerdict } from "./verdict.ts";

/** One look at the content, as callers see it. */
export interface ScanAttempt {
  attemptNumber: number;
  startedAt: Date;
  completedAt: Date;
  durationMs: number;
  engine: string | null;
  databaseVersion: string | null;
  verdict: ScanAttemptVerdict;
  detectedContentType: string | null;
  signatureName: string | null;
  errorMessage: string | null;
}

/** All attempts at a file, newest first. */
export async function listScanAttempts(q: Queryable, fileId: string): Promise<ScanAttempt[]> {
  const rows = await q<Omit<ScanAttempt, "durationMs">[]>`
    select attempt_number, started_at, completed_at, engine, database_version, verdict, detected_content_type,
      signature_name, error_message
    from file_scan_attempts where file_id = ${fileId} order by attempt_number desc`;
  return rows.map((row) => ({ ...row, durationMs: row.completedAt.getTime() - row.startedAt.getTime() }));
}
