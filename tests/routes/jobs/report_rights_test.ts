// A job that generates a report acts with the permissions of its creator. No route may give these to another user.
import assert from "node:assert/strict";
import { retryDeadLetter } from "../../../domain/jobs/control/dead_letters.ts";
import { JobTypes } from "../../../domain/jobs/job_type.ts";
import { type JobActor, operator } from "../../../domain/jobs/reach.ts";
import { triggerRecurringJob, updateRecurringJob } from "../../../domain/jobs/recurring/recurring.ts";
import { HttpClient } from "../../support/http.ts";
import { type Actor, setupShared } from "../../support/setup.ts";
import { DEAD_LETTERS, deadLetterOf, jobOf, JOBS, RECURRING, refusal } from "./job_calls.ts";

const t = await setupShared();
const { sql } = t.steward.platform;

const USERS = jobOf("steward.report", { templateId: "users", format: 3 }, { maxRetries: 0 });
const MATRIX = { serializedArgs: JSON.stringify({ templateId: "access-matrix", format: 3 }) };
const MINUTELY = { ...USERS, maxRetries: undefined, cronExpression: "* * * * *" };
const everyMinute = (jobId: string) => ({ ...MINUTELY, jobId });
const trigger = async (by: Actor, jobId: string) => (await by.post(`${RECURRING}/${jobId}/trigger`)).body;

/** A user who may read the users report, and a user of the same tenant without permissions. */
async function people(): Promise<{ seeing: Actor; blind: Actor }> {
  const seeing = await t.actor({ permissions: ["read:users", "read:roles", "manage:api-keys"] });
  return { seeing, blind: await t.actor({ tenantId: seeing.tenantId ?? "" }) };
}
/** The job belongs to the user, fails, and makes no report. */
async function assertFailsAs(user: Actor, job: { id: string; createdBy: string }): Promise<void> {
  assert.equal(job.createdBy, user.userId);
  assert.equal(await t.settled(job.id), "DeadLettered");
  assert.equal((await sql`select from report_executions where id = ${job.id}`).count, 0);
}

Deno.test("an API key cannot have a job generate a report, which would use all its creator's permissions", async () => {
  const { seeing } = await people();
  const made = await seeing.post("/api/v1/api-keys", { name: "Sync", permissions: ["read:roles"] });
  const key = new HttpClient(t.url, made.body.key);
  await seeing.post(RECURRING, everyMinute("by-person"));
  const change = (body: unknown) => key.put(`${RECURRING}/by-person`, body);
  const answers = [
    await key.post(JOBS, USERS),
    await key.post(`${JOBS}/bulk`, { items: [USERS] }),
    await key.post(RECURRING, everyMinute("by-key")),
    await change(MATRIX),
  ];
  for (const answer of answers) assert.equal(refusal(answer), "403 FORBIDDEN");
  const { status } = await change({ cronExpression: "0 5 * * *" });
  assert.equal(status, 200, "when it runs is no question of rights");
  assert.equal((await key.post(JOBS, jobOf("steward.echo"))).status, 201, "other types take nobody's rights");
});

Deno.test("a user who changes a recurring report runs it with their own permissions from then on", async () => {
  const { seeing, blind } = await people();
  await seeing.post(RECURRING, everyMinute("report"));
  assert.equal((await blind.put(`${RECURRING}/report`, MATRIX)).status, 200);
  await assertFailsAs(blind, await trigger(seeing, "report"));
});

Deno.test("a triggered or retried report runs with the permissions of its creator, not of the user who triggered it", async () => {
  const { seeing, blind } = await people();
  await blind.post(RECURRING, everyMinute("trap"));
  const triggered = await trigger(seeing, "trap");
  await assertFailsAs(blind, triggered);
  const { id } = await deadLetterOf(seeing, triggered.id);
  await assertFailsAs(blind, (await seeing.post(`${DEAD_LETTERS}/${id}/retry`)).body);
});

Deno.test("code that does not know the report job type, such as the command line, cannot lend permissions either", async () => {
  const { seeing, blind } = await people();
  const unknowing = { ...t.steward.platform, jobTypes: new JobTypes() };
  await blind.post(RECURRING, everyMinute("unknown"));
  const { job } = await triggerRecurringJob(unknowing, operator(), { id: "unknown" });
  assert.equal(job.createdBy, blind.userId);
  assert.equal(await t.settled(job.id), "DeadLettered");
  const letter = await deadLetterOf(blind, job.id);
  assert.equal((await retryDeadLetter(unknowing, operator(), letter.id)).createdBy, blind.userId);
  await seeing.post(RECURRING, everyMinute("lent"));
  const change = (by: Partial<JobActor>) => {
    const caller = { ...operator(seeing.tenantId), permissions: new Set<string>(), ...by };
    return updateRecurringJob(unknowing, caller, { id: "lent" }, MATRIX, null);
  };
  const byKey = { userId: seeing.userId, apiKeyId: crypto.randomUUID() };
  await assert.rejects(change(byKey), { name: "Problem", code: "FORBIDDEN" });
  await change({ userId: blind.userId });
  const run = await trigger(seeing, "lent");
  assert.equal(run.createdBy, blind.userId, "who changed what it does is its maker now");
});
