import { foldCounts } from "../../domain/jobs/statistics/fold_counts.ts";
import type { BenchSetup } from "./bench_setup.ts";
import { report, scaled } from "./compare.ts";
import { load } from "./load.ts";
import { signInAdministrator } from "./sample_users.ts";

const CHANGES = scaled(2_000_000);
const TENANTS = 200;

/**
 * Time in which the fold of the job counters catches up from a backlog, the duration of its calls, and the p95 of the
 * dashboard's counts meanwhile, which sum up what is left.
 */
export async function foldBacklog(setup: BenchSetup): Promise<void> {
  const { sql } = setup;
  const { port } = await setup.startService({ JOB_CONCURRENCY: "0" });
  const headers = await signInAdministrator(port);
  for (let from = 0; from < CHANGES; from += 100_000) {
    await sql`
      insert into job_count_changes (tenant_id, status, type, priority, queue, job_type_name, n)
      select ('00000000-0000-7000-8000-' || lpad((n % ${TENANTS})::text, 12, '0'))::uuid, 'Succeeded', 'FireAndForget', 1,
        'default', 'bench.type' || n % 20, 1
      from generate_series(${from}::int, ${Math.min(from + 100_000, CHANGES) - 1}::int) n`;
  }
  const calls: number[] = [];
  let isComplete = false;
  const folding = (async () => {
    while (!isComplete) {
      const started = performance.now();
      isComplete = await foldCounts(sql, { always: true });
      calls.push(performance.now() - started);
    }
  })();
  const started = performance.now();
  const request = { path: "/api/v1/jobs?pageSize=20", headers };
  const reads = await load({ port, connections: 1, isRunning: () => !isComplete, next: () => request });
  await folding;
  const seconds = (performance.now() - started) / 1_000;
  const [left] = await sql<{ n: number }[]>`select count(*)::int as n from job_count_deltas`;
  report("changes that the fold left", left?.n ?? 0, "", { max: 0 });
  report(`fold of ${CHANGES} changes`, Math.round(CHANGES / seconds), "/s", { min: 20_000 });
  report("longest call of the fold", Math.round(Math.max(...calls)), " ms", { max: 2_000 });
  report("p95 of a list of jobs meanwhile", reads.p95, " ms");
}
