import { z } from "zod";
import { insertJobs } from "../../domain/jobs/enqueue.ts";
import { defineJob, JobTypes } from "../../domain/jobs/job_type.ts";
import { Worker } from "../../domain/jobs/worker.ts";
import type { Platform } from "../../domain/shared/platform.ts";
import { createLog } from "../../infra/log.ts";
import { type Sql, transact } from "../../infra/postgres/postgres.ts";

/** A registry with the job type `bench.noop`, which does nothing. */
export function noopTypes(): JobTypes {
  const types = new JobTypes();
  types.register(
    defineJob({
      name: "bench.noop",
      args: z.object({ n: z.number() }),
      run: () => Promise.resolve(undefined),
    }),
  );
  return types;
}

/** Enqueues `count` no-op jobs, 5,000 per transaction. */
export async function enqueueNoops(sql: Sql, count: number): Promise<void> {
  for (let from = 0; from < count; from += 5_000) {
    const jobs = Array.from({ length: Math.min(5_000, count - from) }, (_, n) => ({
      jobTypeName: "bench.noop",
      serializedArgs: JSON.stringify({ n: from + n }),
      maxRetries: 3,
    }));
    await transact(sql, (tx) => insertJobs({ wakeUps: { at() {} } }, tx, jobs));
  }
}

/** Starts a worker for no-op jobs, with the concurrency of the graphile-worker peer. */
export const startNoopWorker = (
  sql: Sql,
  pollMs: number,
  onSettled?: (count: number) => void,
): Promise<Worker> =>
  Worker.start({
    platform: { sql } as Platform, // the job type uses no other member
    sql,
    types: noopTypes(),
    log: createLog("warn"),
    host: "bench",
    concurrency: 24,
    queues: null,
    pollMs,
    onSettled: (jobs) => onSettled?.(jobs.length),
  });
