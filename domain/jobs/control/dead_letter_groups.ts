import { z } from "zod";
import { type Sql, transact } from "../../../infra/postgres/postgres.ts";
import { recordAudit } from "../../audit/audit.ts";
import { problem } from "../../problems/problem.ts";
import { passOver } from "../../shared/batches.ts";
import { countRows, pageOf } from "../../shared/lists.ts";
import { type PagedResult, pagedResult, type PageRequest } from "../../shared/paging.ts";
import { instant, orNull, time } from "../../shared/shapes.ts";
import { requireVersion } from "../../shared/version.ts";
import { chosen, deadLetterVersion, readDeadLetter } from "../lists/dead_letter_list.ts";
import type { JobPlatform } from "../platform.ts";
import { auditActor, countScope, type JobActor, type JobReach, jobReach, within } from "../reach.ts";
import { reenqueueLocked } from "./dead_letters.ts";

const AT_ONCE = 500;
const NAMED_AT_MOST = 100;

/** Dead letters of one job type with the same error pattern that have not been retried. */
export const DeadLetterGroup = z.object({
  jobTypeName: z.string(),
  // The error message without its variable parts, cut at 300 characters. The SQL function `error_pattern` makes it.
  errorPattern: z.string(),
  exampleError: z.string().nullable().describe("The error of the last one that failed"),
  count: z.int(),
  firstFailedAt: time,
  lastFailedAt: time,
}).meta({
  id: "DeadLetterGroupDto",
  description: "In errorPattern, # stands for addresses, ids, times and numbers; status codes stay",
});
export type DeadLetterGroup = z.output<typeof DeadLetterGroup>;

/**
 * A page of the groups of dead letters that have not been retried, largest first. The counts are kept; only the times of
 * the groups of the page are looked up.
 */
export async function listDeadLetterGroups(
  q: Sql,
  reach: JobReach,
  page: PageRequest,
): Promise<PagedResult<DeadLetterGroup>> {
  const rows = await q<(DeadLetterGroup & { total: number })[]>`
    with groups as (
      select job_type_name, error_pattern, sum(n)::bigint as count from (
        select job_type_name, error_pattern, n from dead_letter_counts where scope = ${countScope(reach)}
        union all
        select job_type_name, error_pattern, n from dead_letter_deltas where ${within(q, reach)}
      ) counted group by 1, 2 having sum(n) > 0
    ), page as (
      select * from groups order by count desc, job_type_name, error_pattern
      ${pageOf(q, page)}
    )
    select counted.total, page.*, first.failed_at as first_failed_at, last.failed_at as last_failed_at,
      last.error_message as example_error
    from (select count(*) as total from groups) counted left join page on true
      left join lateral ${oneOf(q, reach, "asc")} first on true
      left join lateral ${oneOf(q, reach, "desc")} last on true
    order by page.count desc, page.job_type_name, page.error_pattern`;
  const items = rows.filter((row) => row.jobTypeName !== null).map(({ total: _, ...group }) => group);
  return pagedResult(items, rows[0]?.total ?? 0, page);
}

/** SQL: the first (`asc`) or last (`desc`) dead letter of the group in `page`. */
const oneOf = (q: Sql, reach: JobReach, direction: "asc" | "desc") =>
  q`(
    select d.failed_at, d.error_message from dead_letter_jobs d
    where ${within(q, reach, "d.tenant_id")} and d.retried_at is null and d.job_type_name = page.job_type_name
      and d.error_pattern = page.error_pattern
    order by d.failed_at ${q.unsafe(direction)} limit 1
  )`;

/** The filter of dead letters to retry or purge; null members match all. Dead letters already retried never match. */
export const DeadLetterFilter = z.object({
  jobTypeName: orNull(z.string().max(200)),
  errorPattern: orNull(z.string().max(600)), // 300 characters of at most two UTF-16 code units each
  errorContains: orNull(z.string().min(1).max(500)),
  failedFrom: orNull(instant),
  failedTo: orNull(instant),
});
type DeadLetterFilter = z.output<typeof DeadLetterFilter>;

/**
 * Retries every dead letter that matches at the time of the call, one transaction per batch. `dryRun` only counts.
 * A dead letter whose key another job holds matches, but is not retried.
 * @returns how many matched, how many were retried, and the ids of the first hundred new jobs.
 */
export async function retryDeadLetters(
  p: Pick<JobPlatform, "sql" | "wakeUps" | "jobTypes">,
  caller: JobActor,
  o: { filter: DeadLetterFilter; reach: JobReach; dryRun: boolean },
): Promise<{ matched: number; retried: number; dryRun: boolean; jobIds: string[] }> {
  if (o.dryRun) {
    const matched = await countRows(p.sql, p.sql`dead_letter_jobs where ${open(p.sql, o)}`);
    return { matched, retried: 0, dryRun: true, jobIds: [] };
  }
  // A retried job may fail at once and leave a new matching dead letter. This call must not retry it again and again.
  const [newest] = await p.sql<{ id: string }[]>`select id from dead_letter_jobs order by id desc limit 1`;
  if (!newest) return { matched: 0, retried: 0, dryRun: false, jobIds: [] };
  const jobIds: string[] = [];
  let retried = 0;
  const matched = await passOver(AT_ONCE, async (after) => {
    const { entries, retriedJobIds } = await transact(p.sql, async (tx) => {
      // Rows locked by another call are skipped: that call retries them.
      const entries = await tx<{ id: string }[]>`
        select id from dead_letter_jobs where ${open(tx, o)} and id > ${after} and id <= ${newest.id}
        order by id limit ${AT_ONCE} for update skip locked`;
      const { retriedJobIds } = await reenqueueLocked(p, tx, caller, entries.map(({ id }) => id));
      if (retriedJobIds.length > 0) {
        const after = { ...o.filter, retried: retriedJobIds.length };
        await recordAudit(tx, auditActor(caller), "deadLetter.retryMany", targetOf(o.reach), { after });
      }
      return { entries, retriedJobIds };
    });
    retried += retriedJobIds.length;
    jobIds.push(...retriedJobIds.slice(0, NAMED_AT_MOST - jobIds.length));
    return entries;
  });
  return { matched, retried, dryRun: false, jobIds };
}

/** The matching dead letters that were not retried, as an SQL condition. */
const open = (q: Sql, { filter, reach }: { filter: DeadLetterFilter; reach: JobReach }) =>
  chosen(q, reach, { ...filter, isRetried: false });

/** The target of an audit row about many dead letters. */
const targetOf = (reach: JobReach): string => reach.everything ? "everything" : reach.tenantId;

/** Nothing is older; more days lead to times that the database does not have. */
const MAX_DAYS = 36_500;

interface Purge {
  reach: JobReach;
  /** Deletes only what failed more than this many days ago; null: of any age. */
  retentionDays: number | null;
  /** Deletes only what matches and was not retried; null: also what was retried. */
  filter: DeadLetterFilter | null;
  /** The number that must match; null: any. */
  expectedCount: number | null;
  /** Only counts. */
  dryRun: boolean;
}

/**
 * Deletes dead letters in one transaction.
 * @returns how many were deleted; for a dry run also how many match.
 * @throws JOB_DEADLETTER_COUNT_CONFLICT when another number than `expectedCount` matches; then none is deleted
 */
export async function purgeDeadLetters(
  sql: Sql,
  caller: JobActor,
  o: Purge,
): Promise<{ purged: number; matched?: number }> {
  const { reach, retentionDays, filter, expectedCount, dryRun } = o;
  const daysBack = Math.min(retentionDays ?? 0, MAX_DAYS);
  return await transact(sql, async (tx) => {
    const purged = tx`${filter ? open(tx, { filter, reach }) : within(tx, reach)}
      ${retentionDays === null ? tx`` : tx`and failed_at < now() - make_interval(days => ${daysBack})`}`;
    if (dryRun || expectedCount !== null) {
      const matched = await countRows(tx, tx`dead_letter_jobs where ${purged}`);
      requireCount(matched, expectedCount);
      if (dryRun) return { purged: 0, matched };
    }
    const { count } = await tx`delete from dead_letter_jobs where ${purged}`;
    requireCount(count, expectedCount); // others may have failed, or were retried, since they were counted
    await recordAudit(tx, auditActor(caller), "deadLetter.purge", targetOf(reach), {
      after: { retentionDays, ...filter, purged: count },
    });
    return { purged: count };
  });
}

/**
 * Deletes one dead letter that was not retried.
 * @throws JOB_DEADLETTER_NOT_FOUND, PRECONDITION_FAILED, JOB_DEADLETTER_ALREADY_RETRIED
 */
export async function discardDeadLetter(
  sql: Sql,
  caller: JobActor,
  id: string,
  ifMatch: string | null,
): Promise<void> {
  await transact(sql, async (tx) => {
    const reach = jobReach(caller);
    const [discarded] = await tx<{ jobId: string; jobTypeName: string }[]>`
      delete from dead_letter_jobs where id = ${id} and ${within(tx, reach)} and retried_at is null
      returning job_id, job_type_name`;
    const found = discarded ? { retriedAt: null, retriedJobId: null } : await readDeadLetter(tx, reach, id);
    requireVersion(ifMatch, deadLetterVersion(found));
    if (!discarded) {
      const detail = `Dead letter ${id} was not deleted: it was retried, as job ${found.retriedJobId}.`;
      throw problem("JOB_DEADLETTER_ALREADY_RETRIED", detail);
    }
    await recordAudit(tx, auditActor(caller), "deadLetter.discard", id, { before: discarded });
  });
}

function requireCount(matched: number, expected: number | null): void {
  if (expected === null || matched === expected) return;
  throw problem(
    "JOB_DEADLETTER_COUNT_CONFLICT",
    `The purge matches ${matched} dead letters; expected ${expected}. None was deleted.`,
  );
}
