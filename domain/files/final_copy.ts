import { ObjectChanged, ObjectNotFound } from "../../infra/objectstore/objectstore.ts";
import { transact } from "../../infra/postgres/postgres.ts";
import type { Platform } from "../shared/platform.ts";
import { ContentUnreadable } from "./scan_content.ts";
import type { FileRow } from "./file.ts";
import { newFinalKey } from "./object_keys.ts";
import { discardObject, registerObject } from "./objects.ts";

/** Time after the start of an attempt at which its copy is deleted, if a crash has left it behind. */
const ORPHAN_COPY_MS = 60 * 60_000;
/** A copy is not used within this time before its deletion, because the sweep may already delete it. */
const MARGIN_MS = 5 * 60_000;

/**
 * Returns the key of the file's final copy; makes the copy if there is none. Each attempt copies to a new key and the
 * first one to finish sets `final_key`. So the final object is written once, before its key is known, and neither a
 * repeated upload nor another attempt can change it.
 * @returns null if the file is no longer Scanning
 * @throws ObjectStoreError, ContentUnreadable if the staging object is not the content that was confirmed
 */
export async function ensureFinalCopy(p: Platform, file: FileRow): Promise<string | null> {
  if (file.finalKey !== null) return file.finalKey;
  const key = newFinalKey();
  const deleteAt = new Date(p.clock.now().getTime() + ORPHAN_COPY_MS);
  await registerObject(p.sql, { key, fileId: file.id, deleteAt });
  try {
    const copied = await p.objects.copy(file.stagingKey, key, { ifEtag: file.stagedEtag ?? "" });
    if (copied.sizeBytes !== file.sizeBytes) throw new ContentUnreadable("the copy has another size");
    if (await claimFinalKey(p, file, key, copied.etag)) return key;
  } catch (error) {
    if (!(error instanceof ObjectNotFound || error instanceof ObjectChanged)) throw error;
    await transact(p.sql, (tx) => discardObject(tx, key, p.clock.now())); // nothing was copied there
    // The staging object may be gone because another attempt has finished its copy.
    const current = await readFinalKey(p, file.id);
    if (current === undefined) throw error;
    return current;
  }
  return await readFinalKey(p, file.id) ?? null;
}

/** Sets `final_key` and keeps the copy. @returns false if another attempt was faster; then this copy is discarded */
async function claimFinalKey(p: Platform, file: FileRow, key: string, etag: string): Promise<boolean> {
  const now = p.clock.now();
  return await transact(p.sql, async (tx) => {
    const claimed = await tx`update files set final_key = ${key}, final_etag = ${etag}, version = version + 1
      where id = ${file.id} and status = 'Scanning' and final_key is null`;
    if (claimed.count === 0) {
      await discardObject(tx, key, now);
      return false;
    }
    const updated = await tx`update file_objects set delete_at = null
      where key = ${key} and delete_at > ${new Date(now.getTime() + MARGIN_MS)}`;
    if (updated.count === 0) {
      throw new ContentUnreadable("the copy took too long and is already due for deletion");
    }
    await discardObject(tx, file.stagingKey, now);
    return true;
  });
}

/** Reads the final key. @returns null if the file is not Scanning; undefined if it is Scanning without a final copy */
async function readFinalKey(p: Pick<Platform, "sql">, fileId: string): Promise<string | null | undefined> {
  const [row] = await p.sql<{ finalKey: string | null }[]>`
    select final_key from files where id = ${fileId} and status = 'Scanning'`;
  return row ? row.finalKey ?? undefined : null;
}
