import { ObjectChanged, ObjectNotFound } from "../../infra/objectstore/objectstore.ts";
import { transact } from "../../infra/postgres/postgres.ts";
import type { Platform } from "../shared/platform.ts";
import { ContentUnreadable } from "./examine.ts";
import type { FileRow } from "./file.ts";
import { newFinalKey } from "./object_keys.ts";
import { discardObject, registerObject } from "./objects.ts";

/** A copy nobody took over by then was left behind by an attempt that died. */
const LEFT_BEHIND_MS = 60 * 60_000;
/** Taken over so close to its deletion, a copy might be deleted all the same. */
const MARGIN_MS = 5 * 60_000;

/**
 * The key of the file's final copy, made now when there is none. Every attempt copies to a key of its own and the
 * first takes over: so the object a file names as its final copy was written once, before it was named, and
 * neither a replayed upload nor another attempt ever changes it.
 * @returns null when the file is not Scanning any more.
 * @throws ObjectStoreError, ContentUnreadable when staging does not have what was confirmed
 */
export async function takeFinalCopy(p: Platform, file: FileRow): Promise<string | null> {
  if (file.finalKey !== null) return file.finalKey;
  const key = newFinalKey();
  const deleteAt = new Date(p.clock.now().getTime() + LEFT_BEHIND_MS);
  await registerObject(p.sql, { key, fileId: file.id, deleteAt });
  try {
    const copied = await p.objects.copy(file.stagingKey, key, { ifEtag: file.stagedEtag ?? "" });
    if (copied.sizeBytes !== file.sizeBytes) throw new ContentUnreadable("the copy has another size");
    if (await takeOver(p, file, key, copied.etag)) return key;
  } catch (error) {
    if (!(error instanceof ObjectNotFound || error instanceof ObjectChanged)) throw error;
    await transact(p.sql, (tx) => discardObject(tx, key, p.clock.now())); // nothing was copied there
    // The staging object goes as soon as another attempt has taken its copy over.
    const current = await readFinalKey(p, file.id);
    if (current === undefined) throw error;
    return current;
  }
  return await readFinalKey(p, file.id) ?? null;
}

/** @returns false when another attempt was faster; the own copy is then discarded. */
async function takeOver(p: Platform, file: FileRow, key: string, etag: string): Promise<boolean> {
  const now = p.clock.now();
  return await transact(p.sql, async (tx) => {
    const named = await tx`update files set final_key = ${key}, final_etag = ${etag}, version = version + 1
      where id = ${file.id} and status = 'Scanning' and final_key is null`;
    if (named.count === 0) {
      await discardObject(tx, key, now);
      return false;
    }
    const kept = await tx`update file_objects set delete_at = null
      where key = ${key} and delete_at > ${new Date(now.getTime() + MARGIN_MS)}`;
    if (kept.count === 0) throw new ContentUnreadable("the copy took so long that it is being deleted");
    await discardObject(tx, file.stagingKey, now);
    return true;
  });
}

/** null: the file is settled already; undefined: it is Scanning and has no final copy. */
async function readFinalKey(p: Pick<Platform, "sql">, fileId: string): Promise<string | null | undefined> {
  const [row] = await p.sql<{ finalKey: string | null }[]>`
    select final_key from files where id = ${fileId} and status = 'Scanning'`;
  return row ? row.finalKey ?? undefined : null;
}
