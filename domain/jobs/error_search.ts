// Limits searches in the errors of jobs: no index finds a part of a text, and an outage leaves very many failed jobs.
import type { Sql } from "../../infra/postgres/postgres.ts";
import { timeOfId } from "../shared/ids.ts";
import { createdWithin, type JobFilters, keysOf } from "./job_filters.ts";
import { FAILED } from "./job_row.ts";
import type { JobReach } from "./reach.ts";

/** A search without a first time covers this many failed jobs or dead letters, the newest ones. */
export const MOST_SEARCHED = 10_000;

/**
 * Limits filters with `errorContains` to the newest failed and dead-lettered jobs within reach, unless they have a first
 * creation time or name the creator, an argument or a trace.
 * @returns the filters, and the creation time from which on jobs are searched; null: all are
 */
export async function limitErrorSearch<F extends JobFilters>(
  sql: Sql,
  reach: JobReach,
  filters: F,
): Promise<{ filters: F; searchedFrom: Date | null }> {
  const { errorContains, from, to, traceId, status } = filters;
  const isNarrow = from || traceId || keysOf(filters).length > 0;
  if (!errorContains || isNarrow) return { filters, searchedFrom: null };
  const newestOf = (failed: string) =>
    sql`(select id from jobs where ${createdWithin(sql, reach, { to })} and status = ${sql.unsafe(`'${failed}'`)}
      order by id desc limit ${MOST_SEARCHED + 1})`;
  const [one, other] = FAILED.filter((failed) => status === undefined || failed === status).map(newestOf);
  if (!one) return { filters, searchedFrom: null };
  const [last, before] = await sql<{ id: string }[]>`
    select id from (${one} ${other ? sql`union all ${other}` : sql``}) newest
    order by id desc offset ${MOST_SEARCHED - 1} limit 2`;
  const searchedFrom = last && before ? timeOfId(last.id) : null;
  return { filters: searchedFrom ? { ...filters, from: searchedFrom } : filters, searchedFrom };
}
