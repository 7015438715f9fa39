import type { Actor } from "../audit/audit.ts";
import type { AuditPlatform } from "../audit/platform.ts";
import type { Platform } from "../shared/platform.ts";
import type { FileRow } from "./file.ts";
import { stateConflict } from "./file_state.ts";

const DOWNLOAD_SECONDS = 5 * 60;
export const DOWNLOAD_PURPOSES = ["download", "preview", "processing"] as const;
export type DownloadPurpose = typeof DOWNLOAD_PURPOSES[number];

export interface DownloadUrl {
  url: string;
  expiresAt: Date;
}

/**
 * Signs a download URL of an Available file. The purpose is audited before the URL is returned.
 * @throws FILE_NOT_AVAILABLE_CONFLICT, FILE_INFECTED_CONFLICT, FILE_PURGED_CONFLICT
 */
export async function giveDownloadUrl(
  p: Pick<AuditPlatform, "sql" | "objects" | "auditWriter">,
  actor: Actor,
  file: FileRow,
  purpose: DownloadPurpose,
): Promise<DownloadUrl> {
  const signed = signDownload(p, file);
  await p.auditWriter.record(p.sql, actor, {
    action: "file.download-url",
    targetType: "file",
    targetId: file.id,
    after: { purpose, expiresAt: signed.expiresAt },
  });
  return signed;
}

/** Signs a download URL of the scanned copy. Staging objects can never be downloaded. */
export const signDownload = (p: Pick<Platform, "objects">, file: FileRow): DownloadUrl =>
  p.objects.signDownload(contentKey(file), { fileName: file.fileName, expiresInSeconds: DOWNLOAD_SECONDS });

/** The object key of an Available file. @throws as `stateConflict` for a file in another state */
export function contentKey(file: FileRow): string {
  if (file.status !== "Available" || file.finalKey === null) throw stateConflict(file);
  return file.finalKey;
}
