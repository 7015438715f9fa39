import { z } from "zod";
import type { Sql } from "../../../infra/postgres/postgres.ts";
import type { Caller } from "../../rights/caller.ts";
import type { ClaimedJob } from "../engine/claim.ts";
import type { SettledJob } from "../job_row.ts";
import { PermanentJobFailure } from "../job_type.ts";
import type { JobPlatform } from "../platform.ts";
import { failed, interrupted, postponed, settleJobs, type Settlement, succeeded } from "../engine/settle.ts";
import { type Hide, hideInJson, hideReported } from "./reported_secrets.ts";
import { type Served, servedBy, tenantsServed } from "./served.ts";

export const WORK_OUTCOMES = ["succeeded", "failed", "hopeless", "postponed", "released"] as const;
export type WorkOutcome = typeof WORK_OUTCOMES[number];

/** How a remote worker ends an attempt. */
export interface WorkResult {
  jobId: string;
  attempt: number;
  outcome: WorkOutcome;
  /** JSON, stored with the execution. */
  output: string | null;
  error: string | null;
  /** Delay before a failed or postponed job runs again; null: the usual one. */
  retryInSeconds: number | null;
}

/** Settled: also if it was settled so before. Conflict: it was settled otherwise. Lost: it is not the caller's attempt. */
export const WorkAnswer = z.object({
  jobId: z.guid(),
  attempt: z.int(),
  result: z.enum(["settled", "lost", "conflict"]),
});
type WorkAnswer = z.output<typeof WorkAnswer>;

const POSTPONED_SECONDS = 60;

type Held = ClaimedJob & { workerId: string; elapsedMs: number };
type SettlePlatform = Pick<JobPlatform, "sql" | "jobTypes">;

/**
 * Settles attempts of remote workers like those of the service's own worker. Of several results for one attempt in a
 * call, the first counts.
 */
export async function settleWork(
  p: SettlePlatform,
  caller: Caller,
  results: WorkResult[],
): Promise<WorkAnswer[]> {
  const served = await tenantsServed(p.sql, caller);
  const first = new Map(results.toReversed().map((result) => [keyOf(result), result]));
  const distinct = [...first.values()].sort((a, b) => a.jobId < b.jobId ? -1 : 1);
  const settled = await settleHeld(p, served, distinct);
  const others = distinct.filter((result) => !settled.has(keyOf(result)));
  const former = await readOutcomes(p.sql, served, others);
  return results.map((result) => {
    const key = keyOf(result);
    const outcome = settled.has(key) ? first.get(key)?.outcome : former.get(key);
    const verdict = outcome === undefined ? "lost" : outcome === result.outcome ? "settled" : "conflict";
    return { jobId: result.jobId, attempt: result.attempt, result: verdict };
  });
}

const keyOf = ({ jobId, attempt }: { jobId: string; attempt: number }) => `${jobId} ${attempt}`;

/** @returns the keys of the attempts that were held until now */
async function settleHeld(p: SettlePlatform, served: Served, results: WorkResult[]): Promise<Set<string>> {
  const held = await readHeld(p.sql, served, results);
  const reported = results.filter((result) => held.has(keyOf(result)));
  const hidden = await hideReported(p.sql, [...held.values()], reported, withoutSecrets);
  const byWorker = Map.groupBy(
    hidden.flatMap((result) => {
      const job = held.get(keyOf(result));
      return job ? [{ workerId: job.workerId, settlement: settlementOf(job, result) }] : [];
    }),
    ({ workerId }) => workerId,
  );
  const changed: SettledJob[] = [];
  const accepted = new Set<string>();
  for (const [workerId, own] of byWorker) {
    const settlements = own.map(({ settlement }) => settlement);
    const { settled, released } = await settleJobs(p.sql, workerId, settlements, p.jobTypes, {
      isContended: settlements.length > 1,
    });
    for (const { id, attempts } of settled) accepted.add(keyOf({ jobId: id, attempt: attempts }));
    changed.push(...settled, ...released);
  }
  if (changed.length > 0) p.jobTypes.onChanged?.(changed);
  return accepted;
}

/** The running attempts among the results. What a settlement depends on does not change while an attempt runs. */
async function readHeld(q: Sql, served: Served, results: WorkResult[]): Promise<Map<string, Held>> {
  const rows = await q<Held[]>`
    select j.id, j.tenant_id, j.job_type_name, '' as serialized_args, j.attempts, j.failures, j.max_retries, j.created_by,
      j.trace_id, null as outage_ms, j.lost_leases, j.worker_id,
      greatest(extract(epoch from j.started_at - j.due_at)::float8 * 1000, 0) as waited_ms,
      greatest(extract(epoch from now() - j.started_at)::float8 * 1000, 0) as elapsed_ms
    from jobs j
    where j.id = any(${results.map(({ jobId }) => jobId)}::uuid[]) and j.status = 'Processing'
      and j.deadline > now() and ${servedBy(q, served)}`;
  return new Map(rows.map((row) => [keyOf({ jobId: row.id, attempt: row.attempts }), row]));
}

const withoutSecrets = (result: WorkResult, hide: Hide): WorkResult => ({
  ...result,
  output: result.output && hideInJson(result.output, hide),
  error: result.error && hide(result.error),
});

function settlementOf(job: Held, result: WorkResult): Settlement {
  const { outcome, output, error, retryInSeconds } = result;
  const endedAt = performance.now();
  const times = { startedAt: endedAt - job.elapsedMs, endedAt };
  const message = error ?? `the worker reported: ${outcome}`;
  switch (outcome) {
    case "succeeded":
      return { ...succeeded(job, output, times), outcome };
    case "postponed":
      return { ...postponed(job, message, (retryInSeconds ?? POSTPONED_SECONDS) * 1000, times), outcome };
    case "released":
      return { ...interrupted(job, times, error ?? "its worker released it"), outcome };
    case "hopeless":
      return { ...failed(job, new PermanentJobFailure(message), times), outcome };
    case "failed": {
      const settlement = failed(job, message, times);
      const delayMs = retryInSeconds === null ? settlement.delayMs : retryInSeconds * 1000;
      return { ...settlement, delayMs, outcome };
    }
  }
}

/** How attempts that no longer run were settled. Attempts that ended otherwise are left out. */
async function readOutcomes(
  q: Sql,
  served: Served,
  results: WorkResult[],
): Promise<Map<string, WorkOutcome>> {
  if (results.length === 0) return new Map();
  const rows = await q<{ id: string; attempt: number; outcome: WorkOutcome }[]>`
    select j.id, given.attempt, case when j.postponed_attempt = given.attempt then 'postponed' else e.outcome end as outcome
    from unnest(${results.map(({ jobId }) => jobId)}::uuid[], ${results.map(({ attempt }) => attempt)}::int[])
      given (id, attempt)
    join jobs j on j.id = given.id
    left join job_executions e on e.job_id = given.id and e.attempt_number = given.attempt
    where (j.postponed_attempt = given.attempt or e.outcome is not null) and ${servedBy(q, served)}`;
  return new Map(rows.map(({ id, attempt, outcome }) => [keyOf({ jobId: id, attempt }), outcome]));
}
