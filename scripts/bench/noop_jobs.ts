import { z } from "zod";
import { insertJobs } from "../../domain/jobs/enqueue.ts";
import { defineJob, JobTypes } from "../../domain/jobs/job_type.ts";
import { Worker } from "../../domain/jobs/engine/worker.ts";
import type { ServicePlatform } from "../../domain/platform.ts";
import { createLog } from "../../infra/log.ts";
import { type Sql, transact } from "../../infra/postgres/postgres.ts";
import type { BenchSetup } from "./bench_setup.ts";

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

export type JobConnections = Pick<BenchSetup, "sql" | "engineSql">;

/**
 * Starts a worker of the job type `bench.noop`, with the concurrency of the graphile-worker peer. The job only calls
 * `onStart`.
 */
export function startNoopWorker(
  { sql, engineSql }: JobConnections,
  o: { pollMs: number; onStart?: () => void; onSettled?: (count: number) => void },
): Promise<Worker> {
  const types = new JobTypes();
  types.register(
    defineJob({
      name: "bench.noop",
      args: z.object({ n: z.number() }),
      run: () => {
        o.onStart?.();
        return Promise.resolve(undefined);
      },
    }),
  );
  return Worker.start({
    platform: { sql } as ServicePlatform, // the job type uses no other member
    sql: engineSql,
    types,
    log: createLog("warn"),
    host: "bench",
    concurrency: 24,
    queues: null,
    pollMs: o.pollMs,
    onSettled: (jobs) => o.onSettled?.(jobs.length),
  });
}
