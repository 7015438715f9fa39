import { createHash } from "node:crypto";
import type { ArchiveKind } from "../../infra/areas.ts";
import type { Config } from "../../infra/config.ts";
import { type PendingQuery, type Sql, transact, type Tx } from "../../infra/postgres/postgres.ts";
import { newId, timeOfId } from "./ids.ts";
import type { Platform } from "./platform.ts";

export const ARCHIVE_PREFIX = "archive/";

/** A row as archives keep it, without anything personal: an erasure does not change archives. */
export interface ArchivedRow {
  id: string;
  tenantId: string | null;
  at: Date;
  type: string;
  status: string | null;
  /** All else, as JSON. */
  facts: Record<string, unknown>;
}

/** The columns of an archive. All kinds have the same ones, so one query reads them all. */
const COLUMNS = [
  ["id", "STRING", "id"],
  ["tenant_id", "STRING", "tenantId"],
  ["occurred_at", "TIMESTAMP", "at"],
  ["type", "STRING", "type"],
  ["status", "STRING", "status"],
  ["facts", "JSON", "facts"],
] as const satisfies [name: string, type: string, member: keyof ArchivedRow][];

/** Old rows that are deleted by their ids. */
export interface OldRows {
  kind: ArchiveKind;
  ids: string[];
  read(q: Sql, ids: string[]): PendingQuery<ArchivedRow[]>;
  /** Locks those of the rows that may still be deleted. */
  lock(tx: Tx, ids: string[]): PendingQuery<{ id: string }[]>;
  remove(tx: Tx, ids: string[]): PromiseLike<unknown>;
}

export type ArchivePlatform = Pick<Platform, "sql" | "objects"> & { config: Pick<Config, "ARCHIVE"> };

/**
 * Deletes old rows. If ARCHIVE names their kind, their object is written and read back first, and its row in `archives`
 * comes with the deletion. So a crash leaves an object without a row, which nobody reads, and the rows are written into
 * another one later. The same happens if one of the rows changed in the meantime.
 * @returns how many rows were deleted
 * @throws ObjectStoreError; then nothing is deleted
 */
export async function deleteOldRows(
  p: ArchivePlatform,
  { kind, ids, read, lock, remove }: OldRows,
): Promise<number> {
  if (ids.length === 0) return 0;
  const rows = p.config.ARCHIVE?.has(kind) ? await read(p.sql, ids) : null;
  const archive = rows && rows.length > 0 ? await writeArchive(p, kind, rows) : null;
  return await transact(p.sql, async (tx) => {
    const locked = (await lock(tx, archive ? archive.ids : ids)).map(({ id }) => id);
    if (rows && locked.length !== archive?.ids.length) return 0;
    if (archive) {
      // The object of a run that stopped for hours may be gone: reconcile-files deletes objects without a row.
      const writtenAt = timeOfId(archive.row.id);
      const [recent] = await tx`select where ${writtenAt}::timestamptz > now() - interval '1 hour'`;
      if (!recent) return 0;
      await tx`insert into archives ${tx(archive.row)}`;
    }
    await remove(tx, locked);
    return locked.length;
  });
}

/** Writes an object and compares what the store has with it. @returns its row in `archives`, and the ids of its rows */
async function writeArchive(
  { objects }: ArchivePlatform,
  kind: ArchiveKind,
  rows: ArchivedRow[],
) {
  const { parquetWriteBuffer } = await import("hyparquet-writer");
  const columnData = COLUMNS.map(([name, type, member]) => ({
    name,
    type,
    data: rows.map((row) => row[member]),
  }));
  const bytes = new Uint8Array(parquetWriteBuffer({ columnData }));
  const id = newId();
  const day = timeOfId(id).toISOString().slice(0, 10).replaceAll("-", "/");
  const key = `${ARCHIVE_PREFIX}${kind}/${day}/${id}.parquet`;
  await objects.write(key, new Blob([bytes]).stream(), { contentType: "application/vnd.apache.parquet" });
  const sha256 = hashOf(bytes);
  const stored = hashOf(await new Response(await objects.read(key)).bytes());
  if (stored !== sha256) throw new Error(`the archive of ${kind} was not stored as it was written`);
  const times = rows.map(({ at }) => at.getTime());
  return {
    ids: rows.map((row) => row.id),
    row: {
      id,
      kind,
      object_key: key,
      from_at: new Date(Math.min(...times)),
      to_at: new Date(Math.max(...times)),
      row_count: rows.length,
      bytes: bytes.length,
      sha256,
    },
  };
}

const hashOf = (bytes: Uint8Array): string => createHash("sha256").update(bytes).digest("hex");
