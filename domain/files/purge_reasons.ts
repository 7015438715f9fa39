/** The reasons why a Purged file has no content: the service rejected it, it expired, or it was purged on request. */
export const PURGE_KINDS = ["Rejected", "Expired", "Purged"] as const;
export type PurgeKind = typeof PURGE_KINDS[number];

/** Reasons for which the service itself purges a file. Callers cannot use the prefix `job:`. */
export const JOB_REASONS = {
  typeRejected: "job:tipo-reprovado",
  archiveRejected: "job:archive-limits",
  uploadExpired: "job:upload-expired",
  sizeMismatch: "job:size-mismatch",
  retentionExpired: "job:retention-expired",
  tenantErased: "job:tenant-erased",
  dataErased: "job:data-erased",
} as const;

/** True if `reason` starts with the reserved prefix `job:`, or looks like it. */
export const isJobReason = (reason: string): boolean =>
  /^job:/i.test(reason.normalize("NFKC").replaceAll(/[\p{C}\p{Z}]/gu, ""));

const { typeRejected, archiveRejected, sizeMismatch, uploadExpired, retentionExpired } = JOB_REASONS;
const REJECTED: string[] = [typeRejected, archiveRejected, sizeMismatch];
const EXPIRED: string[] = [uploadExpired, retentionExpired];

/** The kind of a purge reason. The SQL function `file_purge_kind` gives the same answers. */
export function purgeKindOf(reason: string | null): PurgeKind | null {
  if (reason === null) return null;
  if (REJECTED.includes(reason)) return "Rejected";
  return EXPIRED.includes(reason) ? "Expired" : "Purged";
}
