// Maintenance jobs: prunes, sweeps and folds that work in batches.
import { z } from "zod";
import type { Sql } from "../../infra/postgres/postgres.ts";
import type { Platform } from "../shared/platform.ts";
import { nextRun } from "./cron.ts";
import type { JobPlatform } from "./platform.ts";
import { defineJob, type JobContext, type JobSpec, type JobType, PostponeJob } from "./job_type.ts";

/** Pause before a run that continues with the remaining rows. Waiting jobs get the worker's place during the pause. */
const PAUSE_MS = 100;

/** One batch of a work. */
export interface Batch {
  /** Maximum number of rows of the batch. */
  limit: number;
  /** The position that the previous batch returned; null in the first batch of a pass. */
  after: string | null;
  signal: AbortSignal;
}

/** The result of a batch: the number of rows that it handled, and the position of the next batch. */
export interface BatchResult {
  rows: number;
  /** The position at which the next batch begins; null: no rows are left. */
  after: string | null;
}

/** The position after a page of rows in the order of their ids; null if the page is not full. */
export const positionAfter = (page: { id: string }[], limit: number): string | null =>
  page.length < limit ? null : page.at(-1)?.id ?? null;

/** One work of a maintenance job, which handles one kind of rows in batches. */
export interface Work<P> {
  /** Rows of one batch. MAINTENANCE_BATCH may lower it. */
  limit: number;
  /**
   * Does one batch in its own transaction. Doing it twice must do no harm.
   * @returns a result, or only the number of rows: fewer than the limit means that none are left
   */
  run(p: P, batch: Batch): PromiseLike<number | BatchResult>;
}

interface WorkProgress extends BatchResult {
  isDone: boolean;
}
type Progress = Record<string, WorkProgress>;

/**
 * Declares a maintenance job. Its works do one batch each in turn, so that none waits for the backlog of another. When
 * MAINTENANCE_BUDGET_MS are over, the job stores its positions and is postponed for a moment. The job ends when every
 * work has no rows left; its output is the number of rows by work. If one work fails, the others continue, and those that
 * are done begin again at the next tick.
 */
export function maintenanceJob<P extends Platform>(
  { works, ...spec }:
    & Omit<JobSpec<Record<never, never>, JobContext<P>>, "args" | "run">
    & { cron: string; works: Record<string, Work<P>> },
): JobType<Record<never, never>, JobContext<P>> {
  return defineJob({
    maxRetries: 0, // the next tick tries again
    ...spec,
    args: z.object({}),
    run: (_args, context: JobContext<P>) => runWorks(spec, works, context),
  });
}

async function runWorks<P extends Platform>(
  { name, cron }: { name: string; cron: string },
  works: Record<string, Work<P>>,
  { platform: p, db, signal }: JobContext<P>,
): Promise<Record<string, number>> {
  const { version, progress: stored } = await readProgress(db, name);
  const progress: Progress = {};
  for (const work of Object.keys(works)) {
    progress[work] = stored[work] ?? { rows: 0, after: null, isDone: false };
  }
  const errors: unknown[] = [];
  const failed = new Set<string>();
  const until = performance.now() + p.config.MAINTENANCE_BUDGET_MS;
  const open = () => Object.entries(works).filter(([work]) => !progress[work]?.isDone && !failed.has(work));
  while (open().length > 0 && performance.now() < until && !signal.aborted) {
    for (const [work, declared] of open()) {
      if (signal.aborted) break;
      try {
        progress[work] = await runBatch(p, declared, progress[work]!, signal);
      } catch (error) {
        errors.push(error);
        failed.add(work);
      }
    }
  }
  const unfinished = Object.entries(progress).filter(([, { isDone }]) => !isDone);
  const left = unfinished.map(([work]) => work);
  const kept = errors.length > 0 ? Object.fromEntries(unfinished) : progress;
  const isNewest = left.length > 0
    ? await storeProgress(db, name, version, kept)
    : await storePass(db, name, version, nextRun(cron, "UTC", p.clock.now()));
  signal.throwIfAborted();
  if (errors.length > 0) {
    throw errors.length === 1 ? errors[0] : new AggregateError(errors, String(errors[0]));
  }
  if (left.length > 0 && isNewest) throw new PostponeJob(`rows are left: ${left.join(", ")}`, PAUSE_MS);
  return Object.fromEntries(Object.entries(progress).map(([work, { rows }]) => [work, rows]));
}

async function runBatch<P extends Platform>(
  p: P,
  work: Work<P>,
  { rows, after }: WorkProgress,
  signal: AbortSignal,
): Promise<WorkProgress> {
  const limit = Math.min(work.limit, p.config.MAINTENANCE_BATCH);
  const given = await work.run(p, { limit, after, signal });
  const result = typeof given === "number" ? { rows: given, after: null } : given;
  const isDone = typeof given === "number" ? given < limit : given.after === null;
  return { rows: rows + result.rows, after: result.after, isDone };
}

async function readProgress(q: Sql, name: string): Promise<{ version: number; progress: Progress }> {
  const [row] = await q<{ version: number; progress: Progress }[]>`
    insert into maintenance_works as w (job_type_name) values (${name})
    on conflict (job_type_name) do update set version = w.version returning version, progress`;
  if (!row) throw new Error(`the progress of ${name} was not returned`);
  return row;
}

/** Stores the progress of a run. @returns false if another run of the job has stored its progress: then that run continues */
async function storeProgress(q: Sql, name: string, version: number, progress: Progress): Promise<boolean> {
  const { count } = await q`update maintenance_works set progress = ${
    JSON.stringify(progress)
  }::text::jsonb, version = version + 1
    where job_type_name = ${name} and version = ${version}`;
  return count === 1;
}

/** Stores the end of a pass. @returns false if another run of the job has stored its progress */
async function storePass(q: Sql, name: string, version: number, nextDue: Date | null): Promise<boolean> {
  const { count } =
    await q`update maintenance_works set progress = '{}', version = version + 1, due_at = ${nextDue}
    where job_type_name = ${name} and version = ${version}`;
  return count === 1;
}

/** Rows that are deleted some time after the time in one of their columns. An index must begin with the column. */
export interface Expiry {
  table: string;
  column: string;
  /** A Postgres interval; absent: at once. */
  keptFor?: string;
  /** A further SQL condition. */
  and?: string;
}

/**
 * The work that deletes expired rows, oldest first. Each batch begins at the time where the previous one ended, so it does
 * not step over the index entries of deleted rows. A row that changes during the statement stays.
 */
export const deleteExpired = ({ table, column, keptFor = "0", and = "true" }: Expiry): Work<Platform> => ({
  limit: 1_000,
  async run({ sql }, { limit, after }) {
    const [row] = await sql<BatchResult[]>`
      with due as materialized (
        select ctid, ${sql(column)} as at from ${sql(table)}
        where ${sql(column)} >= ${after ?? "-infinity"}::text::timestamptz
          and ${sql(column)} < now() - ${keptFor}::text::interval and ${sql.unsafe(and)}
        order by ${sql(column)} limit ${limit}
      ), deleted as (
        delete from ${sql(table)} where ctid = any(array(select ctid from due))
          and ${sql(column)} < now() - ${keptFor}::text::interval and ${sql.unsafe(and)} returning 1
      )
      select (select count(*) from deleted)::int as rows,
        case when count(*) = ${limit} then max(at)::text end as after from due`;
    return row ?? { rows: 0, after: null };
  },
});

/** By maintenance job of an area that is on, for how long its pass has been due without being finished, in seconds. */
export async function readMaintenanceLag(
  { sql, jobTypes }: Pick<JobPlatform, "sql" | "jobTypes">,
): Promise<{ name: string; seconds: number }[]> {
  return await sql<{ name: string; seconds: number }[]>`
    select job_type_name as name, greatest(0, extract(epoch from now() - due_at))::float8 as seconds
    from maintenance_works where job_type_name = any(${jobTypes.names()}::text[]) order by 1`;
}
