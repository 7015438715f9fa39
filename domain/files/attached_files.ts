import type { Tx } from "../../infra/postgres/postgres.ts";
import type { AttachableFile, AttachedFiles, FileReader } from "../notifications/attached_files.ts";
import { holds } from "../rights/caller.ts";
import type { FileRow } from "./file.ts";
import { stateConflict } from "./file_state.ts";
import { EXPORT_PROFILE } from "./profiles.ts";
import { holdFile, releaseOwnerReferences } from "./references.ts";
import { fileNotFound, openFileContent, readFileState } from "./service_files.ts";
import { SERVICE_SCOPES } from "./service_scopes.ts";

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

/** Locks files in the order of their ids, which prevents deadlocks. Creators may read their files without read:files. */
async function lockReadable(tx: Tx, reader: FileReader, fileIds: string[]): Promise<FileRow[]> {
  const { tenantId, userId } = reader;
  return await tx<FileRow[]>`
    select * from files
    where id = any(${fileIds}::uuid[]) and (tenant_id is null or tenant_id = ${tenantId})
      and (created_by = ${userId} or ${holds(reader, "read:files")} and profile <> ${EXPORT_PROFILE})
    order by id for update`;
}

const attachable = (file: FileRow): AttachableFile => ({
  fileName: file.fileName,
  contentType: file.declaredContentType,
  sizeBytes: file.sizeBytes,
  mistake: file.status === "Available" ? null : stateConflict(file).message,
});
