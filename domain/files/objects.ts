import { randomBytes } from "node:crypto";
import { ObjectStoreUnavailable } from "../../infra/objectstore/errors.ts";
import type { Sql, Tx } from "../../infra/postgres/postgres.ts";
import type { Batch } from "../jobs/maintenance.ts";
import { invalid } from "../problems/problem.ts";
import type { Platform } from "../shared/platform.ts";
import type { PartUpload } from "./parts.ts";

const BATCH = 100;
const RETRY_MS = 5 * 60_000;

/** A key under which an object may soon exist. */
interface NewObject {
  key: string;
  fileId: string;
  /** The object may be written until then, and is deleted then unless `endWrite` keeps it. Absent: it exists and is kept. */
  writableUntil?: Date;
}

/** Registers a key before an object is written under it, so that no object exists without a row. */
export async function registerObject(q: Sql, o: NewObject): Promise<void> {
  const until = o.writableUntil ?? null;
  await q`insert into file_objects (key, file_id, writable_until, delete_at)
    values (${o.key}, ${o.fileId}, ${until}, ${until})`;
}

/**
 * Records that nothing more is written under a registered key. Until then, a deletion of the file's objects is repeated at
 * `writableUntil`, because the object may have been written in between.
 * @param deleteAt when the object is deleted; null: it is kept
 */
export async function endWrite(q: Sql, key: string, deleteAt: Date | null): Promise<void> {
  await q`update file_objects set writable_until = null, delete_at = ${deleteAt} where key = ${key}`;
}

/** The multipart upload started under a key; null if no upload was started. */
export async function readPartUpload(q: Sql, key: string): Promise<PartUpload | null> {
  const [row] = await q<PartUpload[]>`select upload_id, part_count from file_objects
    where key = ${key} and upload_id is not null`;
  return row ?? null;
}

/** Marks all objects of these files for deletion, with their pictures. Runs in the transaction that purges the files. */
export async function discardObjects(tx: Tx, fileIds: string[], now: Date): Promise<void> {
  await tx`update file_objects set delete_at = ${now}
    where file_id = any(${fileIds}::uuid[]) and (delete_at is null or delete_at > ${now})`;
  await tx`delete from file_renditions where file_id = any(${fileIds}::uuid[])`;
}

type Storage = Pick<Platform, "sql" | "objects" | "clock" | "log">;

/** Deletes the marked objects of these files now. The sweep retries objects that could not be deleted. */
export async function deleteDiscarded(p: Storage, fileIds: string[], signal?: AbortSignal): Promise<void> {
  const rows = await p.sql<DueObject[]>`select key, writable_until, upload_id from file_objects
    where file_id = any(${fileIds}::uuid[]) and delete_at <= ${p.clock.now()}`;
  await deleteObjects(p, rows, signal);
}

/**
 * Tries to delete one batch of the objects that are due for deletion. What cannot be deleted is due again later.
 * @returns how many it tried
 */
export async function deleteDueObjects(
  p: Storage,
  { limit = BATCH, signal }: Partial<Batch> = {},
): Promise<number> {
  const due = await p.sql<DueObject[]>`select key, writable_until, upload_id from file_objects
    where delete_at <= ${p.clock.now()} order by delete_at limit ${limit}`;
  return await deleteObjects(p, due, signal);
}

interface DueObject {
  key: string;
  writableUntil: Date | null;
  uploadId: string | null;
}

/**
 * Deletes objects one by one, until the store does not answer. Deleting one twice is harmless, so instances need no lock.
 * @returns how many it tried
 */
async function deleteObjects(
  p: Storage,
  rows: DueObject[],
  signal: AbortSignal | undefined,
): Promise<number> {
  for (const [i, { key, writableUntil, uploadId }] of rows.entries()) {
    signal?.throwIfAborted(); // each deletion may be slow when the store is slow
    const now = p.clock.now();
    try {
      // Abort first, so that the parts cannot be joined into an object after the deletion.
      if (uploadId !== null) await p.objects.abortParts(key, uploadId);
      await p.objects.delete(key);
    } catch (error) {
      p.log.warn("an object could not be deleted; the sweep will retry", { error });
      const retryAt = new Date(now.getTime() + RETRY_MS);
      await p.sql`update file_objects set delete_at = ${retryAt} where key = ${key}`;
      if (error instanceof ObjectStoreUnavailable) return i + 1;
      continue;
    }
    if (writableUntil !== null && writableUntil > now) {
      // null: the write has ended in the meantime
      await p.sql`update file_objects set delete_at = coalesce(writable_until, ${now}) where key = ${key}`;
    } else {
      await p.sql`delete from file_objects where key = ${key}`;
    }
  }
  return rows.length;
}

/**
 * Updates the ETag of a file whose content was restored from a backup: a store can give the same bytes another ETag.
 * The file is changed only if the restored bytes have the SHA-256 of the scanned content.
 * @returns whether a file was updated
 */
export async function adoptRestoredContent(
  q: Sql,
  { key, sha256, etag }: { key: string; sha256: string; etag: string },
): Promise<boolean> {
  const updated = await q`
    update files set final_etag = ${etag} where final_key = ${key} and sha256 = ${sha256} and final_etag <> ${etag}`;
  return updated.count > 0;
}

// All object keys of the bucket are made here, except those of archives (`shared/archive.ts`). Keys of files are random:
// they cannot be guessed and reveal no name, tenant, type or time. Keys of deliveries are readable, because people and
// programs collect deliveries from the bucket by key.

const randomName = () => randomBytes(24).toString("base64url");

export const STAGING_PREFIX = "staging/";
export const FINAL_PREFIX = "files/";
const DELIVERIES_PREFIX = "deliveries/";

/** A key for an upload. Objects under it are never served. */
export const newStagingKey = (): string => STAGING_PREFIX + randomName();

/** A key for one scanned copy. It is written once, and no upload URL ever names it. */
export const newFinalKey = (): string => FINAL_PREFIX + randomName();

/** The key of a delivery to `targetPath` (as returned by `deliveryPath`). The tenant prefix keeps tenants apart. */
export const deliveryKey = (tenantId: string | null, targetPath: string): string =>
  `${DELIVERIES_PREFIX}${tenantId ?? "product"}/${targetPath}`;

/** Deletes the documents that were delivered to the folder of a tenant, when the tenant is erased. @throws ObjectStoreError */
export async function deleteDeliveries(
  { objects }: Pick<Platform, "objects">,
  tenantId: string,
): Promise<void> {
  for await (const { key } of objects.list(deliveryKey(tenantId, ""))) await objects.delete(key);
}

const MAX_PATH_BYTES = 512;
const SEGMENT = /^[\p{L}\p{N}_(][\p{L}\p{M}\p{N} _.()+,=@-]*$/u;

/**
 * Checks the path of a delivery, such as `a/b/name.ext`: no leading or trailing slash, no `.` or `..`.
 * @param field the field that the error names
 * @returns the path in Unicode NFC
 * @throws VALIDATION_ERROR
 */
export function deliveryPath(targetPath: string, field = "targetPath"): string {
  const bytes = new TextEncoder().encode(targetPath).length;
  if (bytes > MAX_PATH_BYTES) {
    throw invalid({ [field]: [`expected at most ${MAX_PATH_BYTES} bytes, found ${bytes}`] });
  }
  const segments = targetPath.normalize("NFC").split("/");
  if (!segments.every((segment) => SEGMENT.test(segment) && !segment.endsWith("."))) {
    throw invalid({
      [field]: [
        "expected a relative path such as monthly/users.csv, with letters, digits and _ . - ( ) + , = @",
      ],
    });
  }
  return segments.join("/");
}
