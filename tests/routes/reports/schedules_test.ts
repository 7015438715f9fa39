import assert from "node:assert/strict";
import { fireDueSchedules } from "../../../domain/reports/schedules/schedule_runs.ts";
import { has, invalid, pluck, refused } from "../../support/answers.ts";
import { HttpClient } from "../../support/http.ts";
import type { Actor } from "../../support/setup.ts";
import { until } from "../../support/until.ts";
import {
  createSchedule as create,
  CSV,
  messagesOf,
  reached,
  REPORTS,
  SCHEDULES,
  setupSharedReports,
  STATUS,
} from "./support.ts";

const t = await setupSharedReports();
const actor = await t.actor();
const { platform, sql } = t;
const { Completed, Failed } = STATUS;
const one = (id: string) => `${SCHEDULES}/${id}`;
const read = async (by: Actor, id: string) => (await by.get(one(id))).body;
const put = (by: HttpClient, id: string, change: unknown) => by.put(one(id), change);
const runsOf = async (by: Actor, id: string) =>
  (await by.get(`${REPORTS}/history?scheduleId=${id}`)).body.items;
async function fire(id: string) {
  await sql`update report_schedules set next_run_at = now() - interval '1 day' where id = ${id}`;
  await fireDueSchedules(platform);
  // the service may fire it at the same time; its next run is stored with the run
  await until(async () =>
    (await sql`select from report_schedules where id = ${id} and next_run_at < now()`).length === 0
  );
}
async function trigger(by: Actor, id: string) {
  const { body } = await by.post(`${one(id)}/trigger`);
  return await reached(by, body.id, Completed, Failed);
}
const mail = { method: 2, recipients: ["a@example.test"] };

Deno.test("null removes optional members or restores their default; omitted members stay", async () => {
  const optional = { description: "Every night", timeZoneId: "Europe/Lisbon", parameters: { level: "high" } };
  const { id, updatedAt: _, ...made } = await create(actor, { ...optional, delivery: mail });
  assert.equal(made.parametersJson, '{"content":"plain","level":"high","includeChildTenants":false}');
  assert.equal(JSON.parse(made.deliveryOptionsJson).method, 2);
  assert.equal((await put(actor, id, {})).status, 204);
  has(await read(actor, id), made);
  const members =
    "description timeZoneId parametersJson deliveryOptionsJson burstJson name cronExpression format";
  const nothing = Object.fromEntries(members.split(" ").map((name) => [name, null]));
  assert.equal((await put(actor, id, nothing)).status, 204);
  const cleared = await read(actor, id);
  has(cleared, { description: null, timeZoneId: "UTC", deliveryOptionsJson: null });
  assert.equal(JSON.parse(cleared.parametersJson).level, "low", "the template's default");
  const { name, cronExpression, format } = made;
  has(cleared, { name, cronExpression, format }); // what a schedule needs stays
});

Deno.test("values of parameters and formats of webhooks are accepted in any case", async () => {
  const delivery = { method: 4, webhookUrl: "https://hooks.example.test/", webhookFormat: "SLACK" };
  const made = await create(actor, { parameters: { level: "High" }, delivery });
  assert.equal(JSON.parse(made.parametersJson).level, "high");
  assert.equal(JSON.parse(made.deliveryOptionsJson).webhookFormat, "slack");
});

Deno.test("a schedule that could not run is rejected field by field", async () => {
  const schedule = { templateId: "cells", name: "Nightly", cronExpression: "30 2 * * *", format: CSV };
  const creating = (more: Record<string, unknown>) => actor.post(SCHEDULES, { ...schedule, ...more });
  refused(await creating({ templateId: "none" }), 404, "REPORT_TEMPLATE_NOT_FOUND");
  refused(await creating({ templateId: "users" }), 403, "MISSING_PERMISSION");
  const creations: [Record<string, unknown>, string][] = [
    [{ cronExpression: "* * * * * *" }, "cronExpression"],
    [{ timeZoneId: "Mars/Base" }, "timeZoneId"],
    [{ parameters: { level: "x" } }, "parameters.level"],
    [{ delivery: { method: 2 } }, "delivery.recipients"],
  ];
  for (const [more, member] of creations) invalid(await creating(more), member);
  const { id } = await create(actor);
  const lone = JSON.stringify({ method: 1, emailSubject: "\ud800" });
  const changes: [Record<string, unknown>, string][] = [
    [{ parametersJson: "{" }, "parametersJson"],
    [{ parametersJson: '{"level":1}' }, "parameters.level"],
    [{ cronExpression: "never" }, "cronExpression"],
    [{ parametersJson: '{"level":0.1234567890123456789}' }, "parametersJson.level"],
    [{ deliveryOptionsJson: lone }, "deliveryOptionsJson.emailSubject"],
    [{ parametersJson: `{"a":${"[".repeat(300)}${"]".repeat(300)}}` }, "parametersJson"],
  ];
  for (const [change, member] of changes) invalid(await put(actor, id, change), member);
});

Deno.test("a colleague without the permission for its rows can neither see, redirect nor run a schedule", async () => {
  const tenantId = await t.tenant();
  const analyst = await t.actor({ tenantId, permissions: ["read:users"] });
  const visitor = await t.actor({ tenantId });
  const { id } = await create(analyst, { templateId: "users" });
  assert.equal((await visitor.get(SCHEDULES)).body.totalCount, 0);
  const answers = [
    await visitor.get(one(id)),
    await put(visitor, id, { deliveryOptionsJson: JSON.stringify(mail) }),
    await visitor.post(`${one(id)}/trigger`),
    await visitor.delete(one(id)),
  ];
  for (const answer of answers) refused(answer, 403, "MISSING_PERMISSION");
});

Deno.test("a user who changes content or recipients of a schedule becomes its creator; other changes keep the creator", async () => {
  const tenantId = await t.tenant();
  const analyst = await t.actor({ tenantId, permissions: ["read:users"] });
  const colleague = await t.actor({ tenantId, permissions: ["read:users"] });
  const { id, parametersJson } = await create(analyst, { templateId: "users" });
  const creatorAfter = async (change: Record<string, unknown>, by = colleague) => {
    assert.equal((await put(by, id, change)).status, 204);
    return (await read(by, id)).createdBy;
  };
  const harmless = { name: "Renamed", cronExpression: "0 4 * * *", format: CSV, parametersJson };
  assert.equal(await creatorAfter(harmless), analyst.userId);
  const redirect = { deliveryOptionsJson: JSON.stringify(mail) };
  assert.equal(await creatorAfter(redirect), colleague.userId);
  assert.equal(await creatorAfter(redirect, analyst), colleague.userId, "nothing was changed");

  await sql`update users set is_active = false where id = ${colleague.userId}`;
  const { status, errorMessage } = await trigger(analyst, id);
  assert.equal(status, Failed);
  assert.match(errorMessage, /no longer an active user.*changes the schedule becomes its creator/);
  assert.equal(await creatorAfter({ name: "Adopted" }, analyst), analyst.userId);
  assert.equal((await trigger(analyst, id)).status, Completed);
  const [adopted] = await sql`select before, after from audit_log
    where target_id = ${id} and action = 'reportSchedule.update' order by id desc limit 1`;
  has(adopted, { before: { createdBy: colleague.userId }, after: { createdBy: analyst.userId } });
});

Deno.test("a change that keeps the times skips no due tick", async () => {
  const { id } = await create(actor);
  const due = "2026-01-31T02:30:00.000Z";
  await sql`update report_schedules set next_run_at = ${due} where id = ${id}`;
  await put(actor, id, { name: "Renamed" });
  assert.equal((await read(actor, id)).nextRunAt, due);
  await put(actor, id, { cronExpression: "0 4 * * *" });
  assert.ok(Date.parse((await read(actor, id)).nextRunAt) > Date.now());
});

Deno.test("pausing and resuming work once each", async () => {
  const { id } = await create(actor);
  const twice = async (verb: string, code: string) => {
    assert.equal((await actor.post(`${one(id)}/${verb}`)).status, 204);
    refused(await actor.post(`${one(id)}/${verb}`), 400, code);
    return (await read(actor, id)).nextRunAt;
  };
  assert.equal(await twice("pause", "REPORT_SCHEDULE_ALREADY_PAUSED"), null);
  assert.ok(await twice("resume", "REPORT_SCHEDULE_NOT_PAUSED"));
  assert.equal((await actor.delete(one(id))).status, 204);
  refused(await actor.post(`${one(id)}/pause`), 404, "REPORT_SCHEDULE_NOT_FOUND");
});

Deno.test("a schedule triggered by hand runs at once, paused or not, and its history is kept", async () => {
  const { id } = await create(actor);
  await actor.post(`${one(id)}/pause`);
  const { status, body: { trackingId }, headers } = await actor.post(`${one(id)}/trigger`);
  assert.equal(status, 202);
  assert.equal(headers.get("location"), `${REPORTS}/${trackingId}`);
  has(await reached(actor, trackingId, Completed), { scheduleId: id, requestedBy: actor.email });
  has(await read(actor, id), { lastExecutionId: trackingId, lastStatus: Completed });
  assert.deepEqual(pluck(await runsOf(actor, id), "id"), [trackingId]);
});

Deno.test("instances that fire at the same time run a due schedule once, and several missed ticks lead to one run", async () => {
  const { id } = await create(actor, { cronExpression: "0 * * * *" });
  const others = [1, 2, 3].map(() => fireDueSchedules(platform));
  await Promise.all([fire(id), ...others, t.steward.fireReportSchedules()]);
  const [run, ...more] = await runsOf(actor, id);
  assert.equal(more.length, 0);
  assert.ok(Date.parse((await read(actor, id)).nextRunAt) > Date.now());
  await reached(actor, run.id, Completed);
});

Deno.test("a tick is skipped while the previous execution is unfinished", async () => {
  const { id } = await create(actor, { templateId: "slow", parameters: { rows: 5_000 } });
  const { body: tracking } = await actor.post(`${one(id)}/trigger`);
  await fire(id);
  assert.equal((await runsOf(actor, id)).length, 1);
  await actor.delete(`${REPORTS}/${tracking.id}`);
});

Deno.test("a schedule runs with its creator's present permissions; without them the run fails and the creator is notified", async () => {
  const tenantId = await t.tenant();
  const analyst = await t.actor({ tenantId, permissions: ["read:users"] });
  const boss = await t.actor({ tenantId, permissions: ["read:users"] });
  const { id } = await create(analyst, { templateId: "users" });
  await sql`delete from role_permissions where role_id = ${analyst.roleId}`;
  await fire(id);
  const [run] = await runsOf(boss, id);
  const first = (await boss.get(`${REPORTS}/${run.id}`)).body;
  assert.equal(first.status, Failed);
  assert.match(first.errorMessage, /needs read:users, which the caller does not hold/);
  has(await messagesOf(t, analyst, 1), [{ title: 'The scheduled report "Nightly" failed' }]);
});

Deno.test("a schedule that cannot be started fails alone and blocks no other", async () => {
  const broken = await create(actor, { templateId: "moody", parameters: { mood: "good" } });
  const sound = await create(actor);
  await sql`update report_schedules set parameters_json = '{"mood":"bad"}' where id = ${broken.id}`;
  await sql`update report_schedules set next_run_at = now() - interval '1 hour' where id = ${sound.id}`;
  await fire(broken.id);
  const [made] = await runsOf(actor, sound.id);
  await reached(actor, made.id, Completed);
  const [failed] = await runsOf(actor, broken.id);
  const { body: detail } = await actor.get(`${REPORTS}/${failed.id}`);
  assert.equal(detail.status, Failed);
  assert.match(detail.errorMessage, /could not be started; the service's log/);
  const after = { lastExecutionId: failed.id, failuresInARow: 1, isActive: true };
  has(await read(actor, broken.id), after);
  assert.ok(t.logs.some((line) => line.includes(broken.id) && line.includes("in a bad mood")));
});

Deno.test("failed runs are counted and notified at the pause; a successful run resets the count", async () => {
  const actor = await t.actor();
  const { id } = await create(actor, { templateId: "regional", parameters: { region: "zero" } });
  const runOf = async (region: string) => {
    const parameters = JSON.stringify({ region, top: 1 });
    await sql`update report_schedules set parameters_json = ${parameters} where id = ${id}`;
    await trigger(actor, id);
    const { failuresInARow, isActive } = await read(actor, id);
    return [failuresInARow, isActive];
  };
  assert.deepEqual(await runOf("zero"), [1, true]);
  assert.deepEqual(await runOf("zero"), [2, false]);
  const messages = pluck(await messagesOf(t, actor, 2), "body");
  assert.ok(messages.some((body) => body.includes("2 times in a row and is now paused")));
  await actor.post(`${one(id)}/resume`);
  assert.equal((await read(actor, id)).failuresInARow, 0);
  await sql`update report_schedules set failures_in_a_row = 1 where id = ${id}`;
  assert.deepEqual(await runOf("Norte"), [0, true]);
});

Deno.test("a report can be enqueued as a job", async () => {
  const serializedArgs = JSON.stringify({ templateId: "cells", format: CSV });
  const job = await actor.post("/api/v1/jobs", { jobTypeName: "steward.report", serializedArgs });
  assert.equal(job.status, 201, JSON.stringify(job.body));
  await reached(actor, job.body.id, Completed);
});
