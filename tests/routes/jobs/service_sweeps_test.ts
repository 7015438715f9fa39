import assert from "node:assert/strict";
import { until } from "../../support/until.ts";
import { reached, setupSharedReports, STATUS } from "../reports/support.ts";
import { RECURRING } from "./job_calls.ts";

const SWEEPS = ["notifications.sweep-direct", "steward.report-sweep"];

const t = await setupSharedReports();
const { sql } = t.steward.platform;

Deno.test("what a crash leaves open is swept twice a minute: a direct mail and a report end as Failed", async () => {
  const operator = await t.actor({ role: "SystemAdmin", global: true });
  await sql`update recurring_jobs set next_run_at = now() - interval '1 second' where job_id = any(${SWEEPS}::text[])`;
  await t.steward.fireRecurringJobs();
  for (const sweep of SWEEPS) {
    const isRepeat = ({ scheduledAt }: { scheduledAt: string | null }) => scheduledAt !== null;
    const runs = await until(
      async () => (await operator.get(`${RECURRING}/${sweep}/runs`)).body,
      (runs) => runs.some(isRepeat), // the check of due times may fire it instead, and end later
    );
    const repeat = runs.find(isRepeat);
    const halfMinutes = (Date.parse(repeat.scheduledAt) - Date.parse(repeat.createdAt)) / 30_000;
    assert.equal(Math.round(halfMinutes), 1, `${sweep}: ${JSON.stringify(runs)}`);
    for (const { id, scheduledAt } of runs) if (scheduledAt === null) await t.settled(id);
  }

  const actor = await t.actor({ permissions: ["send:notifications", "read:users"] });
  const mail = { to: ["cut@example.test"], subject: "S", htmlBody: "x" };
  const { notificationId } = (await actor.post("/api/v1/notifications/email", mail)).body;
  const request = { templateId: "users", format: 3, parameters: {} };
  const { id } = (await actor.post("/api/v1/reports/generate-async", request)).body;
  await reached(actor, id, STATUS.Completed);
  // the rows that two crashed processes leave
  await sql`update notifications set status = 'Sending', job_id = null, updated_at = now() - interval '21 seconds'
    where id = ${notificationId}`;
  await sql`update jobs set status = 'DeadLettered' where id = (select job_id from report_executions where id = ${id})`;
  await sql`update report_executions set status = ${STATUS.Generating} where id = ${id}`;
  await sql`update jobs set due_at = now() - interval '1 ms', status = 'Enqueued'
    where status = 'Scheduled' and job_type_name = any(${SWEEPS}::text[])`;
  await t.steward.sweep();
  await reached(actor, id, STATUS.Failed);
  await until(async () =>
    (await actor.get(`/api/v1/notifications/${notificationId}`)).body.status === "Failed"
  );
});
