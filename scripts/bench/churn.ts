import { DAY_MS } from "../../infra/clock.ts";
import { setTimeout as delay } from "node:timers/promises";
import { absent } from "../../domain/area_parts.ts";
import { foldCounts } from "../../domain/jobs/statistics/fold_counts.ts";
import { pruneJobs } from "../../domain/jobs/built_in/prune_jobs.ts";
import type { ObjectStore } from "../../infra/objectstore/objectstore.ts";
import type { Sql } from "../../infra/postgres/postgres.ts";
import type { BenchSetup } from "./bench_setup.ts";
import { median, report, scaled } from "./compare.ts";
import { enqueueNoops, startNoopWorker } from "./noop_jobs.ts";

const JOBS = Number(Deno.env.get("BENCH_CHURN_JOBS") ?? scaled(1_500_000));
/** Number of ended jobs that are kept. */
const KEPT = Number(Deno.env.get("BENCH_CHURN_KEPT") ?? scaled(50_000));
const ENQUEUED_AT_ONCE = 5_000;
const MAX_WAITING = 20_000;
const MAINTENANCE_MS = 1_000;
const TABLES = ["jobs", "job_attempts", "job_count_changes", "job_creation_count_changes"];

interface Size {
  name: string;
  bytes: number;
}

/**
 * Pace and sizes while jobs are enqueued, run and pruned, so that only the newest ended jobs are kept. Both must stay
 * the same, however many jobs have gone through the tables.
 */
export async function churn(setup: BenchSetup): Promise<void> {
  const { sql } = setup;
  let enqueued = 0;
  let settled = 0;
  const worker = await startNoopWorker(setup, { pollMs: 2_000, onSettled: (count) => settled += count });
  const ended = new AbortController();
  const maintenance = maintain(sql, ended.signal);
  const paces: number[] = [];
  const totals: number[] = [];
  const parts = 10;
  for (let part = 1; part <= parts; part++) {
    const started = performance.now();
    const before = settled;
    while (settled < JOBS * part / parts) {
      if (enqueued - settled < MAX_WAITING && enqueued < JOBS) {
        await enqueueNoops(sql, ENQUEUED_AT_ONCE);
        enqueued += ENQUEUED_AT_ONCE;
        worker.wake();
      } else await delay(10);
    }
    paces.push((settled - before) / (performance.now() - started) * 1_000);
    const used = await sizes(sql);
    totals.push(used.reduce((sum, { bytes }) => sum + bytes, 0));
    console.log(`    after ${settled} jobs: ${Math.round(paces.at(-1) ?? 0)}/s; ${text(used)}`);
  }
  await worker.stop(10_000);
  ended.abort();
  await maintenance;
  report(
    "pace of the last half, against the first",
    median(paces.slice(5)) / median(paces.slice(0, 5)),
    " ×",
    {
      min: 0.9,
    },
  );
  report(
    `largest size of the tables and indexes in the last half (${
      megabytes(Math.max(...totals.slice(5)))
    }), against the first`,
    Math.max(...totals.slice(5)) / Math.max(...totals.slice(0, 5)),
    " ×",
    { max: 1.1 },
  );
}

/** Prunes all but the newest ended jobs, and folds the counters, as the service does. */
async function maintain(sql: Sql, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    await delay(MAINTENANCE_MS);
    await foldCounts(sql, { always: false });
    const [oldest] = await sql<{ completedAt: Date }[]>`
      select completed_at from jobs where status = 'Succeeded' order by completed_at desc offset ${KEPT} limit 1`;
    if (!oldest) continue;
    const p = { sql, objects: absent<ObjectStore>("the object store"), config: { ARCHIVE: null } };
    await pruneJobs(p, { retentionDays: 1, now: new Date(oldest.completedAt.getTime() + DAY_MS), signal });
  }
}

/** The tables of jobs and their indexes, the largest first. */
const sizes = (sql: Sql): Promise<Size[]> =>
  sql<Size[]>`
    select c.relname as name, pg_relation_size(c.oid)::float8 as bytes
    from pg_class c left join pg_index i on i.indexrelid = c.oid
    where coalesce(i.indrelid, c.oid) = any(${TABLES}::text[]::regclass[])
    order by 2 desc`;

const text = (all: Size[]): string =>
  all.slice(0, 6).map(({ name, bytes }) => `${name} ${megabytes(bytes)}`).join(", ");

const megabytes = (bytes: number): string => `${(bytes / 1_048_576).toFixed(1)} MB`;
