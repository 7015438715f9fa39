import { keepsFiles } from "../../infra/areas.ts";
import { type Sql, transact, type Tx } from "../../infra/postgres/postgres.ts";
import type { Actor } from "../audit/audit.ts";
import { problem } from "../problems/problem.ts";
import { contentKey, type DownloadUrl, giveDownloadUrl, signDownload } from "./download.ts";
import { type FileRecord, fileRecord, type FileRow } from "./file.ts";
import { stateConflict } from "./file_state.ts";
import { deliveryKey, deliveryPath, newStagingKey } from "./objects.ts";
import type { FilePlatform } from "./platform.ts";
import {
  EXPORT_CONTENT_TYPE,
  EXPORT_PROFILE,
  type FileProfile,
  requireContentType,
  requireProfile,
  requireSize,
} from "./profiles.ts";
import { holdFile, releaseOwnerReferences } from "./references.ts";
import { insertReservations, type NewFile } from "./reservation_writer.ts";
import { startScanning } from "./scan_job.ts";
import type { AttachableFile, AttachedFiles, FileReader } from "../notifications/platform.ts";
import { holds } from "../rights/caller.ts";
import { newId } from "../shared/ids.ts";
import { SERVICE_SCOPES } from "./service_scopes.ts";

/** Maximum time in which the service writes one of its own files. */
const WRITE_TIMEOUT_MS = 6 * 60 * 60_000;

export interface ServiceFile
  extends Pick<NewFile, "tenantId" | "profile" | "fileName" | "contentType" | "createdBy"> {
  /** The first reference of the file: it cannot be purged while this owner holds it. */
  owner?: { scope: string; id: string };
  /** The file is Temporary and ends at this time. */
  keepUntil?: Date;
}

/**
 * Stores a file that the service or an extension generates. It is scanned like any upload; its status is Scanning when this
 * returns. A crash in between leaves a Pending file, which the sweep purges together with its content.
 * @param confirm called in the transaction that confirms the written file; if it throws, the file stays Pending. What names
 * the file is written here: then a crash leaves no confirmed file that nothing names
 * @returns the file's id and size in bytes
 * @throws FILE_PROFILE_UNKNOWN, FILE_CONTENT_TYPE_NOT_ALLOWED_UNPROCESSABLE, FILE_TOO_LARGE_UNPROCESSABLE,
 * ObjectStoreError, or what the stream throws
 */
export async function storeServiceFile(
  p: FilePlatform,
  o: ServiceFile,
  content: ReadableStream<Uint8Array>,
  confirm: (tx: Tx, fileId: string) => Promise<void> = async () => {},
): Promise<{ fileId: string; sizeBytes: number }> {
  const { tenantId, fileName, contentType, createdBy, owner, keepUntil } = o;
  const profile = requireProfile(p, o.profile);
  requireContentType(profile, contentType);
  const stagingKey = newStagingKey();
  const now = p.clock.now();
  const fileId = newId();
  await transact(p.sql, (tx) =>
    insertReservations(tx, [{
      id: fileId,
      tenantId,
      profile: profile.name,
      fileName,
      contentType,
      createdBy,
      sizeBytes: 0, // set when the content is written
      stagingKey,
      partUpload: null,
      uploadExpiresAt: new Date(now.getTime() + WRITE_TIMEOUT_MS),
      now,
    }]));
  const staged = await p.objects.write(stagingKey, limitSize(profile, content), { contentType });
  await transact(p.sql, async (tx) => {
    await confirm(tx, fileId);
    const file = await startScanning(p, tx, { fileId, staged, createdBy });
    if (!file) throw problem("FILE_UPLOAD_EXPIRED_CONFLICT", "Writing the file took too long.");
    if (keepUntil) {
      await tx`update files set retention_class = 'Temporary', retain_until = ${keepUntil} where id = ${fileId}`;
    }
    if (owner) await holdFile(tx, { fileId, tenantId, scope: owner.scope, ownerId: owner.id, createdBy });
  });
  return { fileId, sizeBytes: staged.sizeBytes };
}

/** Stops a stream that exceeds `maxBytes` of its profile, so that it cannot fill the bucket. */
function limitSize(profile: FileProfile, content: ReadableStream<Uint8Array>): ReadableStream<Uint8Array> {
  let sizeBytes = 0;
  return content.pipeThrough(
    new TransformStream<Uint8Array, Uint8Array>({
      transform(chunk, controller) {
        sizeBytes += chunk.length;
        requireSize(profile, sizeBytes);
        controller.enqueue(chunk);
      },
    }),
  );
}

/** The record of a file in any state; null if it does not exist. Does not check permissions: the caller must. */
export async function readFileState(q: Sql, fileId: string): Promise<FileRecord | null> {
  const [row] = await q<FileRow[]>`select * from files where id = ${fileId}`;
  return row ? fileRecord(row) : null;
}

/**
 * Opens the content of an Available file.
 * @throws FILE_NOT_FOUND, FILE_NOT_AVAILABLE_CONFLICT, FILE_INFECTED_CONFLICT, FILE_PURGED_CONFLICT, ObjectStoreError
 */
export async function openFileContent(
  p: Pick<FilePlatform, "sql" | "objects">,
  fileId: string,
): Promise<ReadableStream<Uint8Array>> {
  return await p.objects.read(contentKey(await readFile(p.sql, fileId)));
}

/**
 * Opens the content of a file that the service itself wrote, also while it is scanned.
 * @throws as `openFileContent` for a file in a further state
 */
export async function openOwnContent(
  p: Pick<FilePlatform, "sql" | "objects">,
  fileId: string,
): Promise<ReadableStream<Uint8Array>> {
  const file = await readFile(p.sql, fileId);
  if (file.status !== "Scanning") return await p.objects.read(contentKey(file));
  try {
    return await p.objects.read(file.finalKey ?? file.stagingKey);
  } catch (error) {
    if ((await readFile(p.sql, fileId)).status === "Scanning") throw error;
    return await openFileContent(p, fileId); // the scan has ended, and with it the staged object
  }
}

/**
 * Signs a download URL of an Available file, valid for five minutes.
 * @throws FILE_NOT_FOUND, FILE_NOT_AVAILABLE_CONFLICT, FILE_INFECTED_CONFLICT, FILE_PURGED_CONFLICT
 */
export async function signFileDownload(
  p: Pick<FilePlatform, "sql" | "objects">,
  fileId: string,
): Promise<DownloadUrl> {
  return signDownload(p, await readFile(p.sql, fileId));
}

/** Signs a download URL of an Available file for five minutes, and writes an audit row. Throws as `signFileDownload`. */
export async function giveServiceDownload(
  p: Pick<FilePlatform, "sql" | "objects" | "auditWriter">,
  actor: Actor,
  fileId: string,
): Promise<DownloadUrl> {
  return await giveDownloadUrl(p, actor, await readFile(p.sql, fileId), "download");
}

/**
 * Signs a download URL of an Available file of the tenant, valid for five minutes. Writes no audit row.
 * @throws FILE_NOT_FOUND, also for a file of another tenant; FILE_NOT_AVAILABLE_CONFLICT, FILE_INFECTED_CONFLICT,
 * FILE_PURGED_CONFLICT
 */
export async function signTenantDownload(
  p: Pick<FilePlatform, "config" | "sql" | "objects">,
  tenantId: string,
  fileId: string,
): Promise<DownloadUrl> {
  if (!keepsFiles(p.config)) throw problem("FILE_NOT_FOUND", "There are no files: AREAS leaves out files.");
  const file = await readFile(p.sql, fileId);
  if (file.tenantId !== tenantId) throw fileNotFound();
  return signDownload(p, file);
}

/**
 * Copies an Available file to `targetPath` in its tenant's delivery folder. An existing object there is overwritten.
 * @throws VALIDATION_ERROR for a path `deliveryPath` refuses, FILE_NOT_FOUND, FILE_NOT_AVAILABLE_CONFLICT,
 * FILE_INFECTED_CONFLICT, FILE_PURGED_CONFLICT, ObjectStoreError
 */
export async function copyFileTo(
  p: Pick<FilePlatform, "sql" | "objects">,
  fileId: string,
  targetPath: string,
): Promise<void> {
  const path = deliveryPath(targetPath);
  const file = await readFile(p.sql, fileId);
  const from = contentKey(file);
  if (file.finalEtag === null) throw stateConflict(file);
  await p.objects.copy(from, deliveryKey(file.tenantId, path), { ifEtag: file.finalEtag });
}

async function readFile(q: Sql, fileId: string): Promise<FileRow> {
  const [row] = await q<FileRow[]>`select * from files where id = ${fileId}`;
  if (!row) throw fileNotFound();
  return row;
}

const fileNotFound = () => problem("FILE_NOT_FOUND", "The file does not exist.");

const SCOPE = SERVICE_SCOPES.message;

/** How the notifications area reads and holds attachments. */
export const attachedFiles: AttachedFiles = {
  async lock(tx, reader, fileIds) {
    const files = await lockReadable(tx, reader, fileIds);
    return new Map(files.map((file) => [file.id, attachable(file)]));
  },
  async hold(tx, { tenantId, userId }, notificationId, fileIds) {
    for (const fileId of new Set(fileIds)) {
      await holdFile(tx, { fileId, tenantId, scope: SCOPE, ownerId: notificationId, createdBy: userId });
    }
  },
  release: (tx, notificationId) => releaseOwnerReferences(tx, SCOPE, [notificationId]),
  async readSize(q, fileId) {
    const file = await readFileState(q, fileId);
    if (!file) throw fileNotFound();
    if (["Infected", "Purged", "Failed"].includes(file.status)) throw stateConflict(file);
    return file.sizeBytes;
  },
  open: openFileContent,
};

/**
 * Locks files in the order of their ids, which prevents deadlocks. Creators may read their files without read:files. Exports of
 * personal data are not sent: a download of them needs a recent sign-in.
 */
async function lockReadable(tx: Tx, reader: FileReader, fileIds: string[]): Promise<FileRow[]> {
  const { tenantId, userId } = reader;
  return await tx<FileRow[]>`
    select * from files
    where id = any(${fileIds}::uuid[]) and (tenant_id is null or tenant_id = ${tenantId})
      and not (profile = ${EXPORT_PROFILE} and declared_content_type = ${EXPORT_CONTENT_TYPE})
      and (created_by = ${userId} or ${holds(reader, "read:files")} and profile <> ${EXPORT_PROFILE})
    order by id for update`;
}

const attachable = (file: FileRow): AttachableFile => ({
  fileName: file.fileName,
  contentType: file.declaredContentType,
  sizeBytes: file.sizeBytes,
  mistake: file.status === "Available" ? null : stateConflict(file).message,
});
