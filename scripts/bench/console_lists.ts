import type { BenchSetup } from "./bench_setup.ts";
import { scaled } from "./compare.ts";
import { reportLatencies } from "./load.ts";
import { fillJobsOfTenants } from "./sample_history.ts";
import { signInAdministrator } from "./sample_users.ts";

const JOBS = scaled(1_000_000);
const WAITING = scaled(10_000);
/** `fillJobsOfTenants` inserts ten jobs for each second. */
const JOB_EVERY_MS = 100;

/**
 * p95 of the overview, and of the lists that read the most rows, with a million jobs of 200 tenants, of which 100,000
 * have failed. BENCH_SCALE=10: ten million.
 */
export async function consoleLists(setup: BenchSetup): Promise<void> {
  await fillJobsOfTenants(setup.sql, JOBS, WAITING);
  const { port } = await setup.startService({ JOB_CONCURRENCY: "0" });
  const headers = await signInAdministrator(port);
  await reportLatencies(port, headers, { "overview": "/api/v1/operations/overview" }, { max: 60 });
  const deadLetters = "/api/v1/dead-letter-jobs";
  const from = new Date(Date.now() - JOBS / 2 * JOB_EVERY_MS).toISOString();
  const lists = {
    "succeeded jobs behind waiting ones": "/api/v1/jobs?status=Succeeded",
    "the last half of the jobs": `/api/v1/jobs?from=${from}`,
    "succeeded jobs of the last half": `/api/v1/jobs?status=Succeeded&from=${from}`,
    "the last half of the jobs of a type": `/api/v1/jobs?jobTypeName=bench.type7&from=${from}`,
    "failed jobs of a queue": "/api/v1/jobs?status=Failed&queue=queue3",
    "jobs by error": "/api/v1/jobs?errorContains=partner-7",
    "dead letters": deadLetters,
    "dead letters of a type": `${deadLetters}?jobTypeName=bench.type7`,
    "dead letters by error": `${deadLetters}?errorContains=partner-7`,
  };
  await reportLatencies(port, headers, lists, { max: 50 });
}
