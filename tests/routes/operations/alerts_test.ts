import assert from "node:assert/strict";
import { checkAlerts } from "../../../domain/operations/alerts.ts";
import { newId } from "../../../domain/shared/ids.ts";
import { pluck } from "../../support/answers.ts";
import { type Actor, setupShared } from "../../support/setup.ts";
import { racingFor } from "../auth/people.ts";
import { addDeadLetters } from "../jobs/job_calls.ts";

const t = await setupShared();
const { platform } = t.steward;
const { sql } = platform;

const twoDeadLetters = ({ tenantId }: Actor) => addDeadLetters(sql, tenantId, ["one", "two"]);
const mailsTo = async (address: string): Promise<number> =>
  (await sql`select from notification_recipients where address = ${address}`).count;
const manager = () => t.actor({ permissions: ["manage:webhooks", "read:events"] });
const rule = async (by: Actor, more: object = {}) =>
  (await by.post("/api/v1/alert-rules", { name: newId(), metric: "DeadLetters", threshold: 1, ...more }))
    .body;
const stateOf = async (by: Actor, id: string) => (await by.get(`/api/v1/alert-rules/${id}`)).body;

Deno.test("each change of state is told once, also if two instances check at once", async () => {
  const by = await manager();
  const address = `${newId()}@example.test`;
  const { id } = await rule(by, { mailTo: address });
  const check = () => Promise.all([checkAlerts(platform), checkAlerts(platform), checkAlerts(platform)]);
  await check();
  assert.deepEqual([(await stateOf(by, id)).state, await mailsTo(address)], ["Ok", 0]);
  await twoDeadLetters(by);
  await check();
  await check();
  const firing = await stateOf(by, id);
  assert.deepEqual([firing.state, firing.value, await mailsTo(address)], ["Firing", 2, 1]);
  await sql`delete from dead_letter_jobs where tenant_id = ${by.tenantId}`;
  await check();
  assert.deepEqual([(await stateOf(by, id)).state, await mailsTo(address)], ["Ok", 2]);
  const history = await sql`
    select action from audit_log where target_id = ${id} and action in ('alertRule.fire', 'alertRule.resolve') order by id`;
  assert.deepEqual(pluck([...history], "action"), ["alertRule.fire", "alertRule.resolve"]);
  const events = await sql`
    select data->>'state' as state from events where tenant_id = ${by.tenantId} and type = 'alert.changed' order by id`;
  assert.deepEqual(pluck([...events], "state"), ["Firing", "Ok"]);
});

Deno.test("a check that waits for a change of a rule does not compare the value with the former threshold", async () => {
  const by = await manager();
  const address = `${newId()}@example.test`;
  const { id } = await rule(by, { mailTo: address });
  await checkAlerts(platform);
  await twoDeadLetters(by);
  const path = `/api/v1/alert-rules/${id}`;
  await racingFor(
    t,
    (tx) => tx`select from alert_rules where id = ${id} for update`,
    () => by.put(path, { threshold: 5 }),
    () => checkAlerts(platform).then(() => by.get(path)),
  );
  assert.deepEqual([(await stateOf(by, id)).state, await mailsTo(address)], ["Ok", 0]);
  await by.put(path, { threshold: 1 });
  await checkAlerts(platform);
  assert.deepEqual([(await stateOf(by, id)).state, await mailsTo(address)], ["Firing", 1]);
});

Deno.test("a silent rule is told about when its silence ends, and a missing Slack target is named", async () => {
  const by = await manager();
  const address = `${newId()}@example.test`;
  const silencedUntil = new Date(Date.now() + 3_600_000).toISOString();
  const { id } = await rule(by, { mailTo: address, slackTarget: "none", silencedUntil });
  await twoDeadLetters(by);
  await checkAlerts(platform);
  assert.deepEqual([(await stateOf(by, id)).state, await mailsTo(address)], ["Firing", 0]);
  await by.put(`/api/v1/alert-rules/${id}`, { silencedUntil: null });
  await checkAlerts(platform);
  assert.equal(await mailsTo(address), 1);
  const [job] = await sql<{ id: string }[]>`
    select id from jobs where job_type_name = 'operations.tell-slack' and tenant_id = ${by.tenantId}`;
  await t.settled(job?.id ?? "");
  assert.equal((await stateOf(by, id)).lastError, "The tenant has no Slack target none.");
});

Deno.test("a tenant's rule measures the tenant alone, that of the platform the whole service", async () => {
  const by = await manager();
  const other = await t.actor();
  await twoDeadLetters(other);
  const own = await rule(by);
  const disk = await rule(by, { metric: "DatabaseGigabytes", threshold: 0 });
  const whole = await rule(t.systemAdmin);
  await checkAlerts(platform);
  assert.deepEqual((await stateOf(by, own.id)).value, 0);
  assert.deepEqual((await stateOf(by, disk.id)).state, "Unknown");
  assert.ok((await stateOf(t.systemAdmin, whole.id)).value >= 2);
  assert.equal((await by.get(`/api/v1/alert-rules/${whole.id}`)).status, 404);
});
