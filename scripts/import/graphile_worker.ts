import type { Sql } from "../../infra/postgres/postgres.ts";
import { jobTypeName, Plan } from "./plan.ts";

/** Reads the waiting jobs of graphile-worker (0.14 and later, whose view `jobs` lacks the payload). */
export async function readGraphileWorker(q: Sql): Promise<Plan> {
  const plan = new Plan();
  type Row = {
    id: string;
    db: string;
    task: string;
    payload: string;
    priority: number;
    runAt: Date;
    left: number;
    isLocked: boolean;
  };
  const rows = await q<Row[]>`
    select j.id::text, t.identifier as task, j.payload::text, j.priority, j.run_at, j.max_attempts - j.attempts as "left", current_database() as db,
      j.locked_at is not null as is_locked
    from graphile_worker._private_jobs j join graphile_worker._private_tasks t on t.id = j.task_id order by j.id`;
  plan.each<Row>("job", rows, ({ id, db, task, payload, priority, runAt, left, isLocked }) => {
    if (isLocked) plan.refused.push(`job ${id} (${task}): it runs; stop the workers first`);
    else if (!Number.isFinite(+runAt)) plan.refused.push(`job ${id} (${task}): its run_at is not a time`);
    else if (left < 1) plan.refused.push(`job ${id} (${task}): it has used up its attempts`);
    else {
      const job = {
        uniqueKey: `graphile-worker:${db}:${id}`,
        jobTypeName: jobTypeName(task),
        serializedArgs: payload,
      };
      const urgency = priority < 0 ? "High" : priority > 0 ? "Low" : "Normal";
      plan.jobs.push({ ...job, scheduledAt: runAt, maxRetries: Math.min(25, left - 1), priority: urgency });
    }
  });
  return plan;
}
