import type { Queryable } from "../../infra/postgres/postgres.ts";
import type { ScannerStatus } from "../../infra/scanner/scanner.ts";

/**
 * The number of what an engine knows now. Numbers grow in the order in which engines and signature databases were first
 * seen, so a file of a smaller one was examined with older knowledge, and two instances of different age agree on it.
 */
export async function generationOf(
  q: Queryable,
  { engine, databaseVersion }: ScannerStatus,
): Promise<number> {
  const version = databaseVersion ?? "";
  const find = async () => {
    const [row] = await q<{ id: number | null }[]>`
      select max(id) as id from scan_generations where engine = ${engine} and database_version = ${version}`;
    return row?.id ?? null;
  };
  const known = await find();
  if (known !== null) return known;
  await q`insert into scan_generations (engine, database_version) values (${engine}, ${version})
    on conflict do nothing`;
  const seen = await find();
  if (seen === null) throw new Error(`the generation of ${engine} was not kept`);
  return seen;
}

/**
 * Makes every file outdated, as if the newest engine had newer signatures; the next tick begins the walk.
 * @returns false when no engine has examined anything yet.
 */
export async function requestRescan(q: Queryable): Promise<boolean> {
  const made = await q`
    insert into scan_generations (engine, database_version, round)
    select engine, database_version,
      (select max(round) + 1 from scan_generations same
        where same.engine = newest.engine and same.database_version = newest.database_version)
    from scan_generations newest order by id desc limit 1
    on conflict do nothing`;
  // On a conflict somebody else has asked at the same moment, which is as good.
  return made.count > 0 || (await q`select from scan_generations limit 1`).length > 0;
}

/** How far the newest generation has come. */
export interface RescanProgress {
  engine: string | null;
  databaseVersion: string | null;
  seenAt: Date | null;
  /** Available files that were last examined with older knowledge. */
  outdatedFiles: number;
  /** Is a walk under way, or resting until then? */
  walkUntil: Date | null;
}

/** How far the newest generation has come; all null when no engine has been seen. */
export async function readRescanProgress(q: Queryable): Promise<RescanProgress> {
  const [row] = await q<RescanProgress[]>`
    select engine, nullif(database_version, '') as database_version, seen_at, walk_until,
      (select count(*) from files where status = 'Available' and scan_generation < newest.id) as outdated_files
    from scan_generations newest order by id desc limit 1`;
  return row ??
    { engine: null, databaseVersion: null, seenAt: null, outdatedFiles: 0, walkUntil: null };
}
