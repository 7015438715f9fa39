import { drainOurs } from "./drain.ts";
import { type BenchSetup, median, printResult, rounded } from "./bench_setup.ts";
import { load } from "./load.ts";
import { fillJobs } from "./sample_history.ts";
import { signIn } from "./sample_users.ts";

const FINISHED = 1_000_000;
const ROUNDS = 3;

/** Drain rate, lists and stats with a million finished jobs in the tables. */
export async function fullLedger(setup: BenchSetup): Promise<void> {
  const { sql } = setup;
  const empty: number[] = [];
  for (let round = 0; round <= ROUNDS; round++) empty.push(await drainOurs(setup));
  await sql`truncate jobs, job_executions, job_count_deltas, job_counts`;
  await fillJobs(sql, FINISHED);
  const service = await setup.startService({ JOB_CONCURRENCY: "0" });
  const token = await signIn(service.port, "admin@steward.local", "steward-admin-dev");
  const headers = { authorization: `Bearer ${token}` };
  const paths = {
    "list of failed jobs": "/api/v1/jobs?status=Failed&page=3",
    "list by type and priority": "/api/v1/jobs?searchTerm=bench&priority=High",
    "list by completion": "/api/v1/jobs?orderBy=CompletedAt",
    "list of a queue with 100 old jobs": "/api/v1/jobs?queue=old",
    "dashboard stats": "/api/v1/jobs/dashboard/stats",
  };
  for (const [name, path] of Object.entries(paths)) {
    await load({ port: service.port, connections: 1, seconds: 1, next: () => ({ path, headers }) });
    const { p95, statuses } = await load({
      port: service.port,
      connections: 1,
      seconds: 3,
      next: () => ({ path, headers }),
    });
    if (!statuses[200]) throw new Error(`${path} answered ${JSON.stringify(statuses)}`);
    printResult(`${name}, p95`, p95, " ms", { max: name === "dashboard stats" ? 5 : 20 });
  }
  await service.stop();
  const full: number[] = [];
  for (let round = 0; round <= ROUNDS; round++) full.push(await drainOurs(setup));
  const ratio = median(full.slice(1)) / median(empty.slice(1));
  printResult("drain with a million finished jobs, against empty tables", rounded(ratio), " ×", {
    min: 0.85,
  });
  await sql`truncate jobs, job_executions, job_count_deltas, job_counts`;
}
