import type { Sql } from "../../infra/postgres/postgres.ts";
import { jobTypeName, Plan } from "./plan.ts";

/** Reads the waiting jobs of Hangfire.PostgreSql. */
export async function readHangfire(q: Sql): Promise<Plan> {
  const plan = new Plan();
  type Row = { id: string; db: string; state: string; call: string; args: string; dueAt: Date };
  const rows = await q<Row[]>`
    select j.id::text, current_database() as db, j.statename as state, j.invocationdata::text as call, j.arguments::text as args,
      coalesce(to_timestamp(s.score), j.createdat) as due_at
    from hangfire.job j left join hangfire.set s on s.key = 'schedule' and s.value = j.id::text
    where j.statename not in ('Succeeded', 'Deleted') order by j.id`;
  plan.each<Row>("job", rows, ({ id, db, state, call, args, dueAt }) => {
    const { Type, t = Type, Method, m = Method, Arguments, a = Arguments ?? args } = JSON.parse(call); // 1.7 has short names
    const name = `${t.split(",")[0]}.${m}`;
    const texts: (string | null)[] = typeof a === "string" ? JSON.parse(a) : a; // each is JSON, and its numbers stay exact
    const serializedArgs = `{"arguments":[${texts.map((text) => text ?? "null").join(",")}]}`;
    const job = {
      uniqueKey: `hangfire:${db}:${id}`,
      jobTypeName: jobTypeName(name),
      serializedArgs,
      scheduledAt: dueAt,
    };
    if (state === "Enqueued" || state === "Scheduled") plan.jobs.push(job);
    else plan.refused.push(`job ${id} (${name}): its state is ${state}; expected Enqueued or Scheduled`);
  });
  return plan;
}
