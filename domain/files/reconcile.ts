import { createHash } from "node:crypto";
import { ObjectStoreRefused } from "../../infra/objectstore/errors.ts";
import { transact } from "../../infra/postgres/postgres.ts";
import { recordAudit } from "../audit/audit.ts";
import type { Platform } from "../shared/platform.ts";
import { FINAL_PREFIX, registerObject, STAGING_PREFIX } from "./objects.ts";
import { ARCHIVE_PREFIX } from "../shared/archive.ts";
import { passOver } from "../shared/batches.ts";

type ReconcilePlatform = Pick<Platform, "sql" | "objects" | "clock">;

/**
 * A difference between the registry and the bucket, and its fix by `--apply`. Objects are identified by a hash of their
 * key, so that the report contains no keys.
 * - `orphan`: an object without a row; it is deleted
 * - `upload`: an unfinished multipart upload without a row; it is aborted
 * - `unregistered`: a file's content without an object row, so that a purge would not delete it; the row is inserted
 * - `missing`, `altered`: an Available file whose content is gone or differs from the scanned content; an audit row is
 *   written, because no file state expresses it
 */
export type Difference =
  | { kind: "orphan"; object: string; sizeBytes: number; at: Date }
  | { kind: "upload"; object: string; at: Date }
  | { kind: "unregistered" | "missing" | "altered"; fileId: string };

export interface ReconcileOptions {
  /** True: fix differences; false: report only. */
  apply: boolean;
  /** Younger objects and uploads are skipped, because they may still be in progress. */
  safeAgeMs: number;
  /** Called for every difference, after it was fixed if `apply` is set. */
  found(difference: Difference): void;
}

/** Numbers of checked objects, files and uploads. */
export interface ReconcileCounts {
  objects: number;
  files: number;
  /** null: the store does not list unfinished uploads. */
  uploads: number | null;
}

const BATCH = 500;
const CONCURRENT_CHECKS = 8;

/**
 * Compares the bucket with the registry in both directions, a page at a time. Deliveries have no rows and are not
 * checked. It is safe under live traffic: a row is inserted before its object and deleted after it, keys are never
 * reused, and every difference is checked again before it is reported.
 */
export async function reconcileFiles(p: ReconcilePlatform, o: ReconcileOptions): Promise<ReconcileCounts> {
  let objects = 0;
  for (const prefix of [STAGING_PREFIX, FINAL_PREFIX, ARCHIVE_PREFIX]) {
    objects += await findOrphans(p, prefix, o);
  }
  const uploads = await findUploads(p, o);
  return { objects, uploads, files: await findMissing(p, o) };
}

/** Identifies an object without revealing its key. */
const hashOf = (key: string) => createHash("sha256").update(key).digest("hex").slice(0, 12);

/** Finds objects under the prefix without an object row. @returns the number of objects under the prefix */
async function findOrphans(p: ReconcilePlatform, prefix: string, o: ReconcileOptions): Promise<number> {
  const before = p.clock.now().getTime() - o.safeAgeMs;
  let seen = 0;
  for await (const page of pagesOf(p.objects.list(prefix))) {
    seen += page.length;
    const old = page.filter((object) => object.lastModified.getTime() < before);
    const keys = old.map((object) => object.key);
    const rows = await p.sql<{ key: string; fileId: string; isRegistered: boolean }[]>`
      select key, file_id, true as is_registered from file_objects where key = any(${keys}::text[])
      union all
      select object_key, id, true from archives where object_key = any(${keys}::text[])
      union all
      select final_key, id, false from files
      where final_key = any(${keys}::text[])
        and (status in ('Scanning', 'Available', 'Failed') or (status = 'Infected' and legal_hold))
      union all
      select staging_key, id, false from files
      where staging_key = any(${keys}::text[]) and status in ('Pending', 'Scanning')`;
    const registered = new Set(rows.filter((row) => row.isRegistered).map((row) => row.key));
    const named = new Map(rows.map((row) => [row.key, row.fileId]));
    for (const { key, sizeBytes, lastModified } of old) {
      const fileId = named.get(key);
      if (registered.has(key)) continue;
      if (!await p.objects.head(key)) continue; // deleted with its row after it was listed
      if (fileId !== undefined) {
        if (o.apply) await registerObject(p.sql, { key, fileId });
        o.found({ kind: "unregistered", fileId });
      } else {
        if (o.apply) await p.objects.delete(key);
        o.found({ kind: "orphan", object: hashOf(key), sizeBytes, at: lastModified });
      }
    }
  }
  return seen;
}

/** Finds unfinished multipart uploads without a row. @returns the number of uploads; null: the store does not list them */
async function findUploads(p: ReconcilePlatform, o: ReconcileOptions): Promise<number | null> {
  const before = p.clock.now().getTime() - o.safeAgeMs;
  let seen = 0;
  try {
    for await (const page of pagesOf(p.objects.listUploads(STAGING_PREFIX))) {
      seen += page.length;
      const old = page.filter((upload) => upload.startedAt.getTime() < before);
      // Files that the service writes itself have a row without an upload id.
      const rows = await p.sql<{ key: string; uploadId: string | null }[]>`
        select key, upload_id from file_objects where key = any(${old.map((upload) => upload.key)}::text[])`;
      const known = new Map(rows.map((row) => [row.key, row.uploadId]));
      for (const { key, uploadId, startedAt } of old) {
        if (known.has(key) && [null, uploadId].includes(known.get(key) ?? null)) continue;
        if (o.apply) await p.objects.abortParts(key, uploadId);
        o.found({ kind: "upload", object: hashOf(key), at: startedAt });
      }
    }
    return seen;
  } catch (error) {
    if (error instanceof ObjectStoreRefused && seen === 0) return null;
    throw error;
  }
}

interface Stored {
  id: string;
  tenantId: string | null;
  finalKey: string;
  finalEtag: string | null;
  sizeBytes: number;
}

/** Finds Available files whose content is missing or altered. @returns the number of Available files */
async function findMissing(p: ReconcilePlatform, o: ReconcileOptions): Promise<number> {
  return await passOver(BATCH, async (after) => {
    const page = await p.sql<Stored[]>`
      select id, tenant_id, final_key, final_etag, size_bytes from files
      where status = 'Available' and id > ${after} order by id limit ${BATCH}`;
    for (let from = 0; from < page.length; from += CONCURRENT_CHECKS) {
      const files = page.slice(from, from + CONCURRENT_CHECKS);
      const kinds = await Promise.all(files.map((file) => compareContent(p, file)));
      for (const [i, kind] of kinds.entries()) {
        const file = files[i];
        if (!file || !kind || !await isUnchanged(p, file)) continue;
        const { id, tenantId } = file;
        if (o.apply) {
          const after = { status: "Available", foundBy: "reconcile-files" };
          await transact(
            p.sql,
            (tx) => recordAudit(tx, null, `file.content-${kind}`, id, { tenantId, after }),
          );
        }
        o.found({ kind, fileId: id });
      }
    }
    return page;
  });
}

async function compareContent(p: ReconcilePlatform, file: Stored): Promise<"missing" | "altered" | null> {
  const stored = await p.objects.head(file.finalKey);
  if (!stored) return "missing";
  return stored.sizeBytes === file.sizeBytes && stored.etag === file.finalEtag ? null : "altered";
}

/** True if the file is still Available with the same key. A purge may have run since the file was listed. */
async function isUnchanged(p: ReconcilePlatform, { id, finalKey }: Stored): Promise<boolean> {
  const found = await p.sql`
    select from files where id = ${id} and status = 'Available' and final_key = ${finalKey}`;
  return found.length === 1;
}

/** Collects items into pages of `BATCH`. */
async function* pagesOf<T>(items: AsyncIterable<T>): AsyncGenerator<T[]> {
  let page: T[] = [];
  for await (const item of items) {
    page.push(item);
    if (page.length < BATCH) continue;
    yield page;
    page = [];
  }
  if (page.length > 0) yield page;
}
