import { JobWriter } from "../../domain/jobs/job_writer.ts";
import { runGraphileWorker } from "./drain.ts";
import { type BenchSetup, median, printResult, rounded } from "./bench_setup.ts";
import { load } from "./load.ts";
import { signIn } from "./sample_users.ts";
import { mainPool } from "../../infra/postgres/postgres.ts";

const JOBS = 4_000;
const AT_ONCE = 20;
const ROUNDS = 3;

/**
 * Rate of single enqueues, 20 at a time, against graphile-worker's addJob; and of POST /api/v1/jobs, 32 connections.
 */
export async function enqueue(setup: BenchSetup): Promise<void> {
  const ratios: number[] = [];
  let last = "";
  for (let round = 0; round <= ROUNDS; round++) {
    const ours = await enqueueOurs(setup);
    const theirs = (await runGraphileWorker(setup)).addsPerSecond;
    if (round > 0) ratios.push(ours / theirs);
    last = `${ours}/s against ${theirs}/s`;
  }
  printResult("single enqueues, against graphile-worker's addJob", rounded(median(ratios)), " ×", { min: 3 });
  console.log(`    last round: ${last}`);

  const service = await setup.startService({ JOB_CONCURRENCY: "0" });
  const token = await signIn(service.port, "admin@steward.local", "steward-admin-dev");
  const body = JSON.stringify({ jobTypeName: "steward.echo", serializedArgs: '{"n":1}' });
  const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
  const rates: number[] = [];
  for (let round = 0; round <= ROUNDS; round++) {
    const result = await load({
      port: service.port,
      connections: 32,
      seconds: 3,
      next: () => ({ method: "POST", path: "/api/v1/jobs", headers, body }),
    });
    if (!result.statuses[201]) throw new Error(`enqueuing answered ${JSON.stringify(result.statuses)}`);
    if (round > 0) rates.push(result.perSecond);
  }
  printResult("POST /api/v1/jobs with 32 connections", median(rates), "/s", { min: 3_000 });
  await service.stop();
}

async function enqueueOurs({ sql }: BenchSetup): Promise<number> {
  const writer = new JobWriter(mainPool(sql));
  let next = 0;
  const started = performance.now();
  await Promise.all(Array.from({ length: AT_ONCE }, async () => {
    while (next < JOBS) {
      const n = next++;
      await writer.write(sql, [{
        jobTypeName: "bench.noop",
        serializedArgs: JSON.stringify({ n }),
        maxRetries: 3,
      }]);
    }
  }));
  const perSecond = Math.round(JOBS / ((performance.now() - started) / 1000));
  await sql`truncate jobs, job_executions, job_count_deltas, job_counts`;
  return perSecond;
}
