import { drainOurs } from "./drain.ts";
import { type Ground, median, rounded, tell } from "./ground.ts";
import { load } from "./load.ts";
import { fillJobs } from "./past.ts";
import { signIn } from "./people.ts";

const FINISHED = 1_000_000;
const ROUNDS = 3;

/** A million finished jobs in the tables: what drain, lists and stats feel of them. */
export async function fullLedger(ground: Ground): Promise<void> {
  const { sql } = ground;
  const empty: number[] = [];
  for (let round = 0; round <= ROUNDS; round++) empty.push(await drainOurs(ground));
  await sql`truncate jobs, job_executions, job_count_deltas, job_counts`;
  await fillJobs(sql, FINISHED);
  const service = await ground.startService({ JOB_CONCURRENCY: "0" });
  const token = await signIn(service.port, "admin@steward.local", "steward-admin-dev");
  const headers = { authorization: `Bearer ${token}` };
  const paths = {
    "list of failed jobs": "/api/v1/jobs?status=Failed&page=3",
    "list by type and priority": "/api/v1/jobs?searchTerm=bench&priority=High",
    "list by completion": "/api/v1/jobs?orderBy=CompletedAt",
    "list of the few of an old queue": "/api/v1/jobs?queue=old",
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
    tell(`${name}, p95`, p95, " ms", { most: name === "dashboard stats" ? 5 : 20 });
  }
  await service.stop();
  const full: number[] = [];
  for (let round = 0; round <= ROUNDS; round++) full.push(await drainOurs(ground));
  const ratio = median(full.slice(1)) / median(empty.slice(1));
  tell("drain with a million finished jobs, against empty tables", rounded(ratio), " ×", { least: 0.85 });
  await sql`truncate jobs, job_executions, job_count_deltas, job_counts`;
}
