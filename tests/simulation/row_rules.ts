// Rules for the rows in the database: order within a lane and pauses, right after each claim; the others when all jobs have ended.
import { foldCounts } from "../../domain/jobs/statistics/fold_counts.ts";
import type { Pool } from "../../infra/postgres/postgres.ts";
import { STOPPED } from "./change_rules.ts";
import type { Model, Violation } from "./model.ts";
import type { Task } from "./statements.ts";

/** SQL condition: the queue or type of the job is paused. */
const isPaused = (job: string) =>
  `exists (select from job_pauses p where (p.tenant_id is null or p.tenant_id = ${job}.tenant_id)
    and p.name = case p.kind when 'queue' then ${job}.queue else ${job}.job_type_name end)`;

/** A statement that claims jobs and returns their ids. */
const CLAIM = /update jobs (j )?set status = 'Processing'/;

export async function checkClaim(
  sql: Pool,
  task: Task,
  rows: unknown,
  alias: (id: string) => string,
): Promise<Violation[]> {
  if (!CLAIM.test(task.text)) return [];
  const ids = [...rows as { id: string }[]].map(({ id }) => id);
  if (ids.length === 0) return [];
  const passed = await sql<{ id: string; lane: string }[]>`
    with last as (
      select distinct on (lane) lane, priority, due_at, id from jobs where id = any(${ids}::uuid[])
      order by lane, priority desc, due_at desc, id desc
    )
    select k.id, k.lane from jobs k join last l on l.lane = k.lane
    where k.status = 'Enqueued' and (k.priority, k.due_at, k.id) < (l.priority, l.due_at, l.id)
      and k.id <> all(${ids}::uuid[]) and not ${sql.unsafe(isPaused("k"))}
    order by k.id for update of k skip locked`;
  const paused = await sql<{ id: string }[]>`
    select j.id from jobs j where j.id = any(${ids}::uuid[]) and ${sql.unsafe(isPaused("j"))} order by j.id`;
  return [
    ...passed.map(({ id, lane }) => ({
      rule: "order",
      what: `${alias(id)} was first in ${lane}, and a later job was claimed`,
    })),
    ...paused.map(({ id }) => ({ rule: "pauses", what: `${alias(id)} is paused and was claimed` })),
  ];
}

interface EndWorld {
  acknowledged: ReadonlySet<string>;
  /** Outcomes that the API confirmed to remote workers, by job id and attempt. */
  settled: ReadonlyMap<string, string>;
}

/** Queries that must return no row. */
const EMPTY: Record<string, string> = {
  "counters": `
    select status, type, priority, queue, job_type_name, sum(n) as n from (
      select status, type, priority, queue, job_type_name, n from job_counts
      where scope = 'ffffffff-ffff-ffff-ffff-ffffffffffff'
      union all select status, type, priority, queue, job_type_name, n from job_count_deltas
      union all select status, type, priority, queue, job_type_name, -1 from jobs
    ) all_counts group by 1, 2, 3, 4, 5 having sum(n) <> 0`,
  "counters by creation": `
    select created, status, queue, job_type_name, sum(n) as n from (
      select created, status, queue, job_type_name, n from job_creation_counts
      where scope = 'ffffffff-ffff-ffff-ffff-ffffffffffff'
      union all select created, status, queue, job_type_name, n from job_creation_count_deltas
      union all select left(id::text, 7), status, queue, job_type_name, -1 from jobs
    ) all_counts group by 1, 2, 3, 4 having sum(n) <> 0`,
  "counters of batches": `
    select batch_id, status, sum(n) as n from (
      select batch_id, status, n from job_batch_counts
      union all select batch_id, status, n from job_batch_deltas
      union all select batch_id, status, -1 from jobs where batch_id is not null
    ) all_counts group by 1, 2 having sum(n) <> 0`,
  "counters of executions": `
    select sum(n) as n from (
      select n from execution_counts where scope = 'ffffffff-ffff-ffff-ffff-ffffffffffff'
      union all select n from execution_count_deltas
      union all select -1 from job_executions
    ) all_counts having coalesce(sum(n), 0) <> 0`,
  "counters of dead letters": `
    select sum(n) as n from (
      select n from dead_letter_counts where scope = 'ffffffff-ffff-ffff-ffff-ffffffffffff'
      union all select -1 from dead_letter_jobs where retried_at is null
    ) all_counts having coalesce(sum(n), 0) <> 0`,
  "executions": `
    select j.id, j.attempts, count(e.*) as n, max(e.attempt_number) as last from jobs j
    left join job_executions e on e.job_id = j.id
    group by 1, 2 having max(e.attempt_number) > j.attempts or count(e.*) <> count(distinct e.attempt_number)
      or (j.status = 'Succeeded') <> coalesce(bool_or(e.status = 'Succeeded'), false)
      or count(*) filter (where e.status in ('Failed', 'Abandoned')) < j.failures`,
  "dead letters": `
    select j.id, count(d.*) as n from jobs j left join dead_letter_jobs d on d.job_id = j.id
    group by 1 having (j.status = 'DeadLettered') <> (count(d.*) = 1)`,
  "retries of dead letters": `
    select d.id from dead_letter_jobs d left join jobs r on r.id = d.retried_job_id
    where (d.retried_at is null) <> (r.id is null)`,
  "held jobs": `select id, status from jobs where worker_id is not null or lease_until is not null`,
  "batches": `
    select b.id, b.status from job_batches b where
      (b.status = 'Succeeded') <> (not exists (select from jobs j where j.batch_id = b.id and j.status <> 'Succeeded'))
      and b.status in ('Succeeded', 'Failed')
      or not exists (select from jobs j where j.id = case b.status
        when 'Succeeded' then b.on_all_succeeded_job_id else b.on_any_failed_job_id end)`,
  "pauses left": `select id from job_pauses`,
};

/** Checks what must hold when everything has ended. */
export async function checkEnd(sql: Pool, model: Model, world: EndWorld): Promise<Violation[]> {
  const violations: Violation[] = [];
  const fail = (rule: string, what: string) => violations.push({ rule, what });
  for (const round of ["before the last fold", "after the last fold"]) {
    for (const [rule, text] of Object.entries(EMPTY)) {
      const isFolded = rule === "counters of dead letters";
      if (isFolded && round.startsWith("before")) continue;
      for (const row of await sql.unsafe(text)) fail(rule, `${round}: ${JSON.stringify(row)}`);
    }
    if (violations.length > 0) return violations;
    while (!await foldCounts(sql, { always: true }));
  }
  for (const id of world.acknowledged) {
    if (!model.jobs.has(id)) fail("nothing lost", `${model.alias(id)} was acknowledged and does not exist`);
  }
  for (const [key, outcome] of world.settled) {
    const [jobId = "", attempt] = key.split(" ");
    const job = model.jobs.get(jobId);
    if (outcome === "succeeded" && (job?.status !== "Succeeded" || job.attempts !== Number(attempt))) {
      fail(
        "nothing lost",
        `${model.alias(jobId)}: the confirmed success of attempt ${attempt} was not stored`,
      );
    }
  }
  for (const { host } of model.workers.values()) {
    if (STOPPED.has(host)) fail("leases", `${host} stopped and kept its lease`);
  }
  for (const job of model.jobs.values()) {
    if (job.status === "AwaitingParent") fail("continuations", `${model.alias(job.id)} still waits`);
  }
  return violations;
}
