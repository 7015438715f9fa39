import { createHash } from "node:crypto";
import { ObjectStoreRefused } from "../../infra/objectstore/objectstore.ts";
import { transact } from "../../infra/postgres/postgres.ts";
import { recordAudit } from "../audit/audit.ts";
import type { Platform } from "../shared/platform.ts";
import { FINAL_PREFIX, STAGING_PREFIX } from "./object_keys.ts";
import { registerObject } from "./objects.ts";

type Parts = Pick<Platform, "sql" | "objects" | "clock">;

/**
 * A difference between the registry and the bucket. Objects are told by a hash of their key, which leads nowhere.
 * - `orphan`: an object without a row; `--apply` deletes it
 * - `upload`: an unfinished multipart upload without a row; ended
 * - `unregistered`: a file's content whose object row is gone, so that a purge would leave it; the row is written anew
 * - `missing`, `altered`: an Available file whose content is gone, or is not what was examined; written to the audit
 *   log, since no state of a file says so
 */
export type Difference =
  | { kind: "orphan"; object: string; sizeBytes: number; at: Date }
  | { kind: "upload"; object: string; at: Date }
  | { kind: "unregistered" | "missing" | "altered"; fileId: string };

export interface Reconciling {
  /** Mends what can be mended. */
  apply: boolean;
  /** What is younger is left alone: it may be on its way. */
  safeAgeMs: number;
  /** Hears of every difference, once it is mended where it is to be. */
  found(difference: Difference): void;
}

/** What was looked at. */
export interface Reconciled {
  objects: number;
  files: number;
  /** null: the store does not list unfinished uploads. */
  uploads: number | null;
}

const BATCH = 500;
const LOOKS_AT_ONCE = 8;

/**
 * Compares the bucket with the registry, both ways, a page at a time; deliveries have no rows and are not looked at.
 * Safe beside live traffic: a row is written before its object and removed after it, keys are never used again, and
 * every difference is looked at once more before it is told.
 */
export async function reconcileFiles(p: Parts, o: Reconciling): Promise<Reconciled> {
  let objects = 0;
  for (const prefix of [STAGING_PREFIX, FINAL_PREFIX]) objects += await findOrphans(p, prefix, o);
  const uploads = await findUploads(p, o);
  return { objects, uploads, files: await findMissing(p, o) };
}

/** Says which object without saying where it is. */
const hashOf = (key: string) => createHash("sha256").update(key).digest("hex").slice(0, 12);

async function findOrphans(p: Parts, prefix: string, o: Reconciling): Promise<number> {
  const before = p.clock.now().getTime() - o.safeAgeMs;
  let seen = 0;
  for await (const page of pagesOf(p.objects.list(prefix))) {
    seen += page.length;
    const old = page.filter((object) => object.lastModified.getTime() < before);
    const keys = old.map((object) => object.key);
    const rows = await p.sql<{ key: string; fileId: string; isRegistered: boolean }[]>`
      select key, file_id, true as is_registered from file_objects where key = any(${keys}::text[])
      union all
      select final_key, id, false from files
      where final_key = any(${keys}::text[]) and status in ('Scanning', 'Available', 'Failed')
      union all
      select staging_key, id, false from files
      where staging_key = any(${keys}::text[]) and status in ('Pending', 'Scanning')`;
    const registered = new Set(rows.filter((row) => row.isRegistered).map((row) => row.key));
    const named = new Map(rows.map((row) => [row.key, row.fileId]));
    for (const { key, sizeBytes, lastModified } of old) {
      const fileId = named.get(key);
      if (registered.has(key)) continue;
      if (!await p.objects.head(key)) continue; // deleted, and its row with it, since it was listed
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

async function findUploads(p: Parts, o: Reconciling): Promise<number | null> {
  const before = p.clock.now().getTime() - o.safeAgeMs;
  let seen = 0;
  try {
    for await (const page of pagesOf(p.objects.listUploads(STAGING_PREFIX))) {
      seen += page.length;
      const old = page.filter((upload) => upload.startedAt.getTime() < before);
      // Content the service writes itself has a row without the id of its upload.
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

async function findMissing(p: Parts, o: Reconciling): Promise<number> {
  let seen = 0;
  for (let after = "00000000-0000-0000-0000-000000000000";;) {
    const page = await p.sql<Stored[]>`
      select id, tenant_id, final_key, final_etag, size_bytes from files
      where status = 'Available' and id > ${after} order by id limit ${BATCH}`;
    for (let from = 0; from < page.length; from += LOOKS_AT_ONCE) {
      const files = page.slice(from, from + LOOKS_AT_ONCE);
      const kinds = await Promise.all(files.map((file) => lookAt(p, file)));
      for (const [i, kind] of kinds.entries()) {
        const file = files[i];
        if (file && kind && await isStill(p, file)) await tellMissing(p, file, kind, o);
      }
    }
    seen += page.length;
    const last = page.at(-1);
    if (!last || page.length < BATCH) return seen;
    after = last.id;
  }
}

async function lookAt(p: Parts, file: Stored): Promise<"missing" | "altered" | null> {
  const stored = await p.objects.head(file.finalKey);
  if (!stored) return "missing";
  return stored.sizeBytes === file.sizeBytes && stored.etag === file.finalEtag ? null : "altered";
}

/** A purge may have come in between. */
async function isStill(p: Parts, { id, finalKey }: Stored): Promise<boolean> {
  return (await p
    .sql`select from files where id = ${id} and status = 'Available' and final_key = ${finalKey}`)
    .length === 1;
}

async function tellMissing(
  p: Parts,
  { id, tenantId }: Stored,
  kind: "missing" | "altered",
  o: Reconciling,
): Promise<void> {
  if (o.apply) {
    await transact(p.sql, (tx) =>
      recordAudit(tx, null, {
        action: `file.content-${kind}`,
        targetType: "file",
        targetId: id,
        tenantId,
        after: { status: "Available", foundBy: "reconcile-files" },
      }));
  }
  o.found({ kind, fileId: id });
}

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
