import { createHash } from "node:crypto";
import type { ArchiveKind } from "../../infra/areas.ts";
import type { Config } from "../../infra/config.ts";
import { type Sql, type SqlPart, transact, type Tx } from "../../infra/postgres/postgres.ts";
import { FIRST_ID, firstIdOf, newId, timeOfId } from "./ids.ts";
import type { Platform } from "./platform.ts";

export const ARCHIVE_PREFIX = "archive/";

/**
 * The columns of an archive; all kinds have the same ones, so one query reads them all. They hold nothing personal, because
 * an erasure does not change archives.
 */
const COLUMNS = {
  id: "STRING",
  tenantId: "STRING",
  occurredAt: "TIMESTAMP",
  type: "STRING",
  status: "STRING",
  facts: "JSON",
} as const;
type ArchivedRow = Record<keyof typeof COLUMNS, unknown> & { tenantId: string | null; occurredAt: Date };

/** Rows that are deleted some time after their creation. */
export interface OldRows {
  kind: ArchiveKind;
  table: string;
  createdBefore: Date;
  /** May the row `r` be deleted? */
  isOld(q: Sql): SqlPart;
  /** The columns of an archive, except the ids, of the row `r`. */
  archived(q: Sql): SqlPart;
  /** Deletes the rows of other tables that belong to the rows. */
  removeParts?(tx: Tx, ids: string[]): Promise<void>;
}

export type ArchivePlatform = Pick<Platform, "sql" | "objects"> & { config: Pick<Config, "ARCHIVE"> };

/**
 * One step through old rows in the order of their ids, which deletes them. If ARCHIVE names their kind, their object is
 * written and read back first, and its row in `archives` comes with the deletion. So a crash leaves an object without a
 * row, which nobody reads, and the rows are written into another one later. The same happens if one of the rows changed
 * in the meantime.
 * @returns how many rows were deleted, and where the next step begins; null: no rows are left
 * @throws ObjectStoreError; then nothing is deleted
 */
export async function deleteOldRows(
  p: ArchivePlatform,
  old: OldRows,
  { limit, after }: { limit: number; after: string | null },
): Promise<{ rows: number; after: string | null }> {
  const page = await p.sql<{ id: string; isOld: boolean | null }[]>`
    select id, ${old.isOld(p.sql)} as is_old from ${p.sql(old.table)} r
    where id > ${after ?? FIRST_ID} and id < ${firstIdOf(old.createdBefore)} order by id limit ${limit}`;
  const ids = page.filter((row) => row.isOld).map(({ id }) => id);
  const rows = ids.length === 0 ? 0 : await deleteRows(p, old, ids);
  return { rows, after: page.length < limit ? null : page.at(-1)?.id ?? null };
}

async function deleteRows(p: ArchivePlatform, old: OldRows, ids: string[]): Promise<number> {
  const archive = p.config.ARCHIVE?.has(old.kind) ? await writeArchive(p, old, ids) : null;
  return await transact(p.sql, async (tx) => {
    const locked = await tx<{ id: string }[]>`
      select id from ${tx(old.table)} r where id = any(${ids}::uuid[]) and ${
      old.isOld(tx)
    } for update skip locked`;
    if (archive) {
      // The object of a run that stopped for hours may be gone: reconcile-files deletes objects without a row.
      const [recent] = await tx`
        select where ${timeOfId(archive.id)}::timestamptz > now() - interval '1 hour'`;
      if (!recent || locked.length !== archive.row_count) return 0;
      await tx`insert into archives ${tx(archive)}`;
    }
    const gone = locked.map(({ id }) => id);
    await old.removeParts?.(tx, gone);
    await tx`delete from ${tx(old.table)} where id = any(${gone}::uuid[])`;
    return gone.length;
  });
}

/** Writes an object and compares what the store has with it. @returns its row in `archives` */
async function writeArchive(
  { sql, objects }: ArchivePlatform,
  { kind, table, archived }: OldRows,
  ids: string[],
) {
  const rows = await sql<ArchivedRow[]>`
    select r.id, r.tenant_id, ${archived(sql)} from ${
    sql(table)
  } r where r.id = any(${ids}::uuid[]) order by r.id`;
  if (rows.length === 0) return null; // another run has deleted them
  const { parquetWriteBuffer } = await import("hyparquet-writer");
  const columnData = Object.entries(COLUMNS).map(([member, type]) => ({
    name: member.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
    type,
    data: rows.map((row) => row[member as keyof ArchivedRow]),
  }));
  const bytes = new Uint8Array(parquetWriteBuffer({ columnData }));
  const id = newId();
  const day = timeOfId(id).toISOString().slice(0, 10).replaceAll("-", "/");
  const key = `${ARCHIVE_PREFIX}${kind}/${day}/${id}.parquet`;
  await objects.write(key, new Blob([bytes]).stream(), { contentType: "application/vnd.apache.parquet" });
  const sha256 = hashOf(bytes);
  await readArchive(await objects.read(key), sha256);
  const times = rows.map(({ occurredAt }) => occurredAt.getTime());
  const [from_at, to_at] = [new Date(Math.min(...times)), new Date(Math.max(...times))];
  const tenant_ids = [...new Set(rows.flatMap(({ tenantId }) => tenantId ?? []))];
  const content = { row_count: rows.length, bytes: bytes.length, sha256, tenant_ids };
  return { id, kind, object_key: key, from_at, to_at, ...content };
}

/** @throws Error if the object is not as it was written */
export async function readArchive(object: ReadableStream<Uint8Array>, sha256: string): Promise<ArrayBuffer> {
  const bytes = await new Response(object).arrayBuffer();
  if (hashOf(new Uint8Array(bytes)) !== sha256) throw new Error("an archive is not as it was written");
  return bytes;
}

const hashOf = (bytes: Uint8Array): string => createHash("sha256").update(bytes).digest("hex");
