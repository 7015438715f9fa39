import type { Sql } from "../../infra/postgres/postgres.ts";
import type { ScannerStatus } from "../../infra/scanner/scanner.ts";

/**
 * The generation number of an engine and its signature version; inserts a new one if needed. Numbers grow in the order
 * in which engines and signature versions are first seen. A file with a smaller number was scanned with older
 * signatures. All instances get the same number.
 */
export async function generationOf(
  q: Sql,
  { engine, databaseVersion }: ScannerStatus,
): Promise<number> {
  const version = databaseVersion ?? "";
  const find = async () => {
    const [row] = await q<{ id: number | null }[]>`
      select max(id) as id from scan_generations where engine = ${engine} and database_version = ${version}`;
    return row?.id ?? null;
  };
  const existing = await find();
  if (existing !== null) return existing;
  await q`insert into scan_generations (engine, database_version) values (${engine}, ${version})
    on conflict do nothing`;
  const inserted = await find();
  if (inserted === null) throw new Error(`the generation of ${engine} was not inserted`);
  return inserted;
}

/**
 * Makes every file outdated by adding a generation, as if the engine had newer signatures. The next check starts the
 * walk.
 * @returns false if no engine has scanned anything yet
 */
export async function requestRescan(q: Sql): Promise<boolean> {
  const inserted = await q`
    insert into scan_generations (engine, database_version, round)
    select engine, database_version,
      (select max(round) + 1 from scan_generations same
        where same.engine = newest.engine and same.database_version = newest.database_version)
    from scan_generations newest order by id desc limit 1
    on conflict do nothing`;
  // On a conflict, another process requested a rescan at the same time. That request counts for both.
  return inserted.count > 0 || (await q`select from scan_generations limit 1`).length > 0;
}

/** For how long the newest generation has been known while files wait for it, in seconds; 0 if no file waits. */
export async function rescanLagSeconds(q: Sql): Promise<number> {
  const [row] = await q<{ seconds: number }[]>`
    select extract(epoch from now() - seen_at)::float8 as seconds
    from (select * from scan_generations order by id desc limit 1) newest
    where exists (select from files where status = 'Available' and scan_generation < newest.id)`;
  return Math.max(0, row?.seconds ?? 0);
}

/** How far the rescan with the newest generation is. */
export interface RescanProgress {
  engine: string | null;
  databaseVersion: string | null;
  seenAt: Date | null;
  /** Available files last scanned with an older generation. */
  outdatedFiles: number;
  /** While a walk runs or pauses: until when; null if there is no walk. */
  walkUntil: Date | null;
}

/** Reads the rescan progress; all members are null (or 0) if no engine has been seen. */
export async function readRescanProgress(q: Sql): Promise<RescanProgress> {
  const [row] = await q<RescanProgress[]>`
    select engine, nullif(database_version, '') as database_version, seen_at, walk_until,
      (select count(*) from files where status = 'Available' and scan_generation < newest.id) as outdated_files
    from scan_generations newest order by id desc limit 1`;
  return row ??
    { engine: null, databaseVersion: null, seenAt: null, outdatedFiles: 0, walkUntil: null };
}
