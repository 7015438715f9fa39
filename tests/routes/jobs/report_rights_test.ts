// A job that generates a report acts with the permissions of its creator. No route may give these to another user.
import assert from "node:assert/strict";
import { retryDeadLetter } from "../../../domain/jobs/dead_letters.ts";
import { JobTypes } from "../../../domain/jobs/job_type.ts";
import { type JobActor, operator } from "../../../domain/jobs/reach.ts";
import { updateRecurringJob } from "../../../domain/jobs/recurring.ts";
import { triggerRecurringJob } from "../../../domain/jobs/recurring_control.ts";
import { Problem } from "../../../domain/problems/problem.ts";
import { HttpClient } from "../../support/http.ts";
import { type Actor, setupShared } from "../../support/setup.ts";

const t = await setupShared();
Deno.test.afterAll(() => t.stop());
const { sql } = t.steward.platform;

const CSV = 3;
const USERS = JSON.stringify({ templateId: "users", format: CSV });
const MATRIX = JSON.stringify({ templateId: "access-matrix", format: CSV });
const reportJob = (serializedArgs = USERS) => ({
  jobTypeName: "steward.report",
  argsTypeName: "Report",
  priority: "Normal",
  queue: "default",
  serializedArgs,
  maxRetries: 0,
});
const everyMinute = (jobId: string, serializedArgs = USERS) => ({
  jobId,
  jobTypeName: "steward.report",
  cronExpression: "* * * * *",
  timeZoneId: "UTC",
  queue: "default",
  serializedArgs,
});

/** A user who may read the users report, and a user of the same tenant without permissions. */
async function people(): Promise<{ seeing: Actor; blind: Actor }> {
  const seeing = await t.actor({ permissions: ["read:users", "read:roles", "manage:api-keys"] });
  const blind = await t.actor({ permissions: [], tenantId: seeing.tenantId ?? "" });
  return { seeing, blind };
}

const executions = async (jobId: string): Promise<number> =>
  (await sql`select from report_executions where id = ${jobId}`).count;

Deno.test("an API key cannot have a job generate a report, which would use all its creator's permissions", async () => {
  const { seeing } = await people();
  const made = await seeing.post("/api/v1/api-keys", { name: "Sync", permissions: ["read:roles"] });
  const key = new HttpClient(t.url, made.body.key);
  for (
    const answer of [
      await key.post("/api/v1/jobs", reportJob()),
      await key.post("/api/v1/jobs/bulk", { items: [reportJob()] }),
      await key.post("/api/v1/recurring-jobs", everyMinute("by-key")),
    ]
  ) assert.deepEqual([answer.status, answer.body.code], [403, "FORBIDDEN"]);
  await seeing.post("/api/v1/recurring-jobs", everyMinute("by-person"));
  const changed = await key.put("/api/v1/recurring-jobs/by-person", { serializedArgs: MATRIX });
  assert.deepEqual([changed.status, changed.body.code], [403, "FORBIDDEN"]);
  const { status } = await key.put("/api/v1/recurring-jobs/by-person", { cronExpression: "0 5 * * *" });
  assert.equal(status, 200, "when it runs is no question of rights");
  const echo = { ...reportJob("{}"), jobTypeName: "steward.echo" };
  assert.equal((await key.post("/api/v1/jobs", echo)).status, 201, "other types take nobody's rights");
});

Deno.test("a user who changes a recurring report runs it with their own permissions from then on", async () => {
  const { seeing, blind } = await people();
  await seeing.post("/api/v1/recurring-jobs", everyMinute("report"));
  const { status } = await blind.put("/api/v1/recurring-jobs/report", { serializedArgs: MATRIX });
  assert.equal(status, 200);
  const { body: job } = await seeing.post("/api/v1/recurring-jobs/report/trigger");
  assert.equal(job.createdBy, blind.userId);
  assert.equal(await t.settled(job.id), "DeadLettered");
  assert.equal(await executions(job.id), 0);
});

Deno.test("a triggered or retried report runs with the permissions of its creator, not of the user who triggered it", async () => {
  const { seeing, blind } = await people();
  await blind.post("/api/v1/recurring-jobs", everyMinute("trap"));
  const { body: triggered } = await seeing.post("/api/v1/recurring-jobs/trap/trigger");
  assert.equal(triggered.createdBy, blind.userId);
  assert.equal(await t.settled(triggered.id), "DeadLettered");
  const { body: letters } = await seeing.get("/api/v1/dead-letter-jobs");
  const { id } = letters.items.find((letter: { jobId: string }) => letter.jobId === triggered.id);
  const { body: retried } = await seeing.post(`/api/v1/dead-letter-jobs/${id}/retry`);
  assert.equal(retried.createdBy, blind.userId);
  assert.equal(await t.settled(retried.id), "DeadLettered");
  assert.equal(await executions(retried.id), 0);
});

Deno.test("code that does not know the report job type, such as the command line, cannot lend permissions either", async () => {
  const { seeing, blind } = await people();
  const unknowing = { ...t.steward.platform, jobTypes: new JobTypes() };
  await blind.post("/api/v1/recurring-jobs", everyMinute("unknown"));
  const { job: triggered } = await triggerRecurringJob(unknowing, operator(), "unknown");
  assert.equal(triggered.createdBy, blind.userId);
  assert.equal(await t.settled(triggered.id), "DeadLettered");
  const { body: letters } = await blind.get("/api/v1/dead-letter-jobs");
  const retried = await retryDeadLetter(unknowing, operator(), letters.items[0].id);
  assert.equal(retried.createdBy, blind.userId);
  await seeing.post("/api/v1/recurring-jobs", everyMinute("lent"));
  const by = (more: Partial<JobActor>): JobActor => ({
    ...operator(seeing.tenantId),
    permissions: new Set(),
    ...more,
  });
  const change = { serializedArgs: MATRIX };
  const byKey = by({ userId: seeing.userId, apiKeyId: crypto.randomUUID() });
  await assert.rejects(
    updateRecurringJob(unknowing, byKey, "lent", change, null),
    (refusal) => refusal instanceof Problem && refusal.code === "FORBIDDEN",
  );
  await updateRecurringJob(unknowing, by({ userId: blind.userId }), "lent", change, null);
  const { body: run } = await seeing.post("/api/v1/recurring-jobs/lent/trigger");
  assert.equal(run.createdBy, blind.userId, "who changed what it does is its maker now");
});
