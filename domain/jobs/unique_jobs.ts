import { z } from "zod";
import type { Sql } from "../../infra/postgres/postgres.ts";
import { JOB_COLUMNS, type JobRow } from "./job_row.ts";
import { enumName, orNull, withDefault } from "../shared/shapes.ts";

/** Longest `uniqueFor` in seconds: 366 days. */
const MAX_UNIQUE_SECONDS = 366 * 86_400;

/** The time for which a job holds its key: until it ends, or this many seconds since its creation. */
export type UniqueFor = "unfinished" | number;

export const uniqueFor = z.union([enumName(["unfinished"]), z.int().min(1).max(MAX_UNIQUE_SECONDS)], {
  error: `expected "unfinished" or 1 to ${MAX_UNIQUE_SECONDS} seconds`,
}).describe("How long a job holds the key: until it ends, or seconds since its creation");

export const uniqueKey = z.string().min(1).max(200).describe(
  "While a job holds the key, no other job of the same tenant and type gets it",
);
/** Members of a request that enqueues jobs. */
export const unique = {
  uniqueKey: orNull(uniqueKey),
  uniqueFor: withDefault(uniqueFor, "unfinished"),
};

/** The key of a job; absent or null: none. No other job of its tenant and type gets a key that a job holds. */
export interface UniqueKey {
  uniqueKey?: string | null;
  /** Default: `unfinished`. */
  uniqueFor?: UniqueFor | null;
}

/** `uniqueFor` as it is stored; null: until the job ends. */
export const uniqueSecondsOf = ({ uniqueKey, uniqueFor }: UniqueKey): number | null =>
  uniqueKey && typeof uniqueFor === "number" ? uniqueFor : null;

/** `uniqueFor` of stored columns; null: the row has no key. */
export const uniqueForOf = (uniqueKey: string | null, uniqueSeconds: number | null): UniqueFor | null =>
  uniqueKey === null ? null : uniqueSeconds ?? "unfinished";

/** The columns and the condition of the unique index `jobs_unique_key`. */
const SCOPE = "coalesce(tenant_id, '00000000-0000-0000-0000-000000000000'::uuid)";
const HOLDS_KEY = `unique_key is not null and not is_key_released
  and (unique_seconds is not null or status not in ('Succeeded', 'DeadLettered', 'Cancelled'))`;
const HAS_TIME_LEFT = `(unique_seconds is null
  or created_at + make_interval(secs => unique_seconds) > statement_timestamp())`;

/** SQL that makes an insert skip jobs whose key another job holds. */
export const UNLESS_KEY_IS_HELD =
  `on conflict (${SCOPE}, job_type_name, unique_key) where ${HOLDS_KEY} do nothing`;

type Keyed = UniqueKey & { id: string; jobTypeName: string; tenantId?: string | null };

/**
 * Inserts jobs of which some have a key. The unique index decides between concurrent calls.
 * @param insert inserts jobs, skips those whose key is held, and returns the inserted rows
 * @returns for each job its row, or the row of the job that holds its key: then the ids differ.
 */
export async function insertOrFindHolders<J extends Keyed>(
  q: Sql,
  jobs: J[],
  insert: (jobs: J[]) => PromiseLike<JobRow[]>,
): Promise<JobRow[]> {
  const rowOf = new Map<string, JobRow>();
  // Concurrent calls take keys in the same order, so that they do not deadlock.
  const keyOf = ({ tenantId, jobTypeName, uniqueKey }: Keyed) => [tenantId, jobTypeName, uniqueKey].join("|");
  let left = jobs.toSorted((a, b) => keyOf(a) < keyOf(b) ? -1 : 1);
  while (left.length > 0) {
    for (const row of await insert(left)) rowOf.set(row.id, row);
    left = left.filter(({ id }) => !rowOf.has(id));
    if (left.length > 0) { for (const [id, holder] of await findHolders(q, left)) rowOf.set(id, holder); }
    left = left.filter(({ id }) => !rowOf.has(id)); // their holder has ended, or its time has passed
  }
  return jobs.flatMap(({ id }) => rowOf.get(id) ?? []);
}

/** The jobs that hold the keys of `jobs`, by the id of the refused job. Releases keys whose time has passed. */
async function findHolders(q: Sql, jobs: Keyed[]): Promise<[id: string, holder: JobRow][]> {
  const column = <T>(read: (job: Keyed) => T): T[] => jobs.map(read);
  const rows = await q<(JobRow & { refusedId: string })[]>`
    with refused as (
      select * from unnest(${column((j) => j.id)}::uuid[], ${column((j) => j.tenantId ?? null)}::uuid[],
        ${column((j) => j.jobTypeName)}::text[], ${column((j) => j.uniqueKey ?? null)}::text[])
        as r (refused_id, refused_tenant, refused_type, refused_key)
    ), released as (
      update jobs set is_key_released = true from refused
      where ${isHolder(q)} and not ${q.unsafe(HAS_TIME_LEFT)}
    )
    select refused_id, ${q.unsafe(JOB_COLUMNS)} from refused join jobs on ${isHolder(q)}
    where ${q.unsafe(HAS_TIME_LEFT)}`;
  return rows.map(({ refusedId, ...holder }) => [refusedId, holder]);
}

const isHolder = (q: Sql) =>
  q`${q.unsafe(SCOPE)} = coalesce(refused_tenant, '00000000-0000-0000-0000-000000000000')
    and job_type_name = refused_type and unique_key = refused_key and ${q.unsafe(HOLDS_KEY)}`;

/** Releases the keys of ended jobs, so that jobs that run their work again can take them. */
export async function releaseKeys(q: Sql, jobIds: string[]): Promise<void> {
  if (jobIds.length === 0) return;
  await q`
    update jobs set is_key_released = true
    where id = any(${jobIds}::uuid[]) and unique_seconds is not null and not is_key_released`;
}
