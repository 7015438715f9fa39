import { z } from "zod";
import type { Sql, Tx } from "../../infra/postgres/postgres.ts";
import type { ScannerStatus } from "../../infra/scanner/scanner.ts";
import { pageOf } from "../shared/lists.ts";
import type { PageRequest } from "../shared/paging.ts";
import { time } from "../shared/shapes.ts";

/** One scan attempt, as callers see it. */
export const ScanAttempt = z.object({
  attemptNumber: z.int(),
  startedAt: time,
  completedAt: time,
  durationMs: z.int(),
  engine: z.string().nullable(),
  databaseVersion: z.string().nullable(),
  verdict: z.enum(["Clean", "Infected", "TypeRejected", "Error"]),
  detectedContentType: z.string().nullable(),
  signatureName: z.string().nullable(),
  errorMessage: z.string().nullable(),
}).meta({ id: "ScanAttempt" });
export type ScanAttempt = z.output<typeof ScanAttempt>;

/** The scan attempts of a file, newest first. */
export async function listScanAttempts(
  q: Sql,
  fileId: string,
  page: PageRequest,
): Promise<ScanAttempt[]> {
  const rows = await q<Omit<ScanAttempt, "durationMs">[]>`
    select attempt_number, started_at, completed_at, engine, database_version, verdict, detected_content_type,
      signature_name, error_message
    from file_scan_attempts where file_id = ${fileId} order by attempt_number desc ${pageOf(q, page)}`;
  return rows.map((row) => ({ ...row, durationMs: row.completedAt.getTime() - row.startedAt.getTime() }));
}

/** The start of an attempt, and the engine's name and signature version; null if the engine did not answer. */
export interface AttemptStart {
  startedAt: Date;
  engine: ScannerStatus | null;
}

interface NewScanAttempt extends AttemptStart {
  completedAt: Date;
  verdict: ScanAttempt["verdict"];
  detectedContentType?: string | null;
  signatureName?: string | null;
  errorMessage?: string | null;
  isUnreadable?: boolean;
}

/**
 * Inserts an attempt with the next attempt number. The caller must hold the lock on the file's row, so that numbers are
 * unique.
 * @returns the attempt number
 */
export async function insertScanAttempt(tx: Tx, fileId: string, o: NewScanAttempt): Promise<number> {
  const [row] = await tx<{ attemptNumber: number }[]>`
    insert into file_scan_attempts (file_id, attempt_number, started_at, completed_at, engine, database_version,
      verdict, detected_content_type, signature_name, error_message, is_unreadable)
    select ${fileId}, coalesce(max(attempt_number), 0) + 1, ${o.startedAt}, ${o.completedAt},
      ${o.engine?.engine ?? null}, ${o.engine?.databaseVersion ?? null}, ${o.verdict},
      ${o.detectedContentType ?? null}, ${o.signatureName ?? null}, ${o.errorMessage ?? null},
      ${o.isUnreadable ?? false}
    from file_scan_attempts where file_id = ${fileId}
    returning attempt_number`;
  return row?.attemptNumber ?? 0;
}
