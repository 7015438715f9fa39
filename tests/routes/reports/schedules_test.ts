import assert from "node:assert/strict";
import { fireDueSchedules } from "../../../domain/reports/schedule_runs.ts";
import type { Actor } from "../../support/setup.ts";
import { CSV, reached, setupReports, STATUS } from "./support.ts";
import { until } from "../../support/until.ts";

// The tests run due schedules themselves. So the service does not look for due ones between their steps.
const t = await setupReports({ REPORT_SCHEDULE_FAILURES: "2", JOB_POLL_MS: "3600000" });
Deno.test.afterAll(() => t.stop());
const { platform } = t.steward;
const { sql } = platform;
const BASE = "/api/v1/reports/schedules";
const body = (more = {}) => ({
  templateId: "cells",
  name: "Nightly cells",
  cronExpression: "30 2 * * *",
  format: CSV,
  ...more,
});
const create = async (by: Actor, more = {}) => {
  const answer = await by.post(BASE, body(more));
  assert.equal(answer.status, 201, JSON.stringify(answer.body));
  return answer.body;
};
/** Makes a schedule due now. */
const makeDue = (id: string) =>
  sql`update report_schedules set next_run_at = now() - interval '1 day' where id = ${id}`;

Deno.test("a schedule is created, read, listed, changed and deleted", async () => {
  const actor = await t.actor();
  const answer = await actor.post(
    BASE,
    body({
      description: "Every night",
      timeZoneId: "Europe/Lisbon",
      parameters: { level: "high" },
      delivery: { method: 2, recipients: ["a@example.test"] },
    }),
  );
  assert.equal(answer.status, 201);
  const { id } = answer.body;
  assert.equal(answer.headers.get("location"), `${BASE}/${id}`);
  assert.equal(answer.body.parametersJson, '{"content":"plain","level":"high","includeChildTenants":false}');
  assert.equal(JSON.parse(answer.body.deliveryOptionsJson).method, 2);
  assert.equal(answer.body.isActive, true);
  assert.ok(Date.parse(answer.body.nextRunAt) > Date.now());
  assert.equal(answer.body.createdBy, actor.userId);

  const read = await actor.get(`${BASE}/${id}`);
  assert.deepEqual(read.body, answer.body);
  const change = { name: "Morning cells", cronExpression: "0 7 * * 1-5", parametersJson: '{"level":"low"}' };
  const stale = await actor.put(`${BASE}/${id}`, change, { "if-match": '"7"' });
  assert.deepEqual([stale.status, stale.body.code], [412, "PRECONDITION_FAILED"]);
  const changed = await actor.put(`${BASE}/${id}`, change, { "if-match": read.headers.get("etag") ?? "" });
  assert.equal(changed.status, 204);
  const after = (await actor.get(`${BASE}/${id}`)).body;
  assert.equal(after.name, "Morning cells");
  assert.equal(after.description, "Every night", "what was left out stays");
  assert.equal(after.timeZoneId, "Europe/Lisbon");
  assert.equal(JSON.parse(after.parametersJson).level, "low");
  assert.equal((await actor.put(`${BASE}/${id}`, { deliveryOptionsJson: '{"method":1}' })).status, 204);

  assert.equal((await actor.delete(`${BASE}/${id}`)).status, 204);
  assert.equal((await actor.get(`${BASE}/${id}`)).body.code, "REPORT_SCHEDULE_NOT_FOUND");
  const audited = await sql`select action from audit_log where target_id = ${id} order by id`;
  assert.deepEqual(audited.map((row) => row.action), [
    ...["reportSchedule.create", "reportSchedule.update", "reportSchedule.update", "reportSchedule.delete"],
  ]);
});

Deno.test("null removes optional members or restores their default; omitted members stay", async () => {
  const actor = await t.actor();
  const made = await create(actor, {
    description: "Every night",
    timeZoneId: "Europe/Lisbon",
    parameters: { level: "high" },
    delivery: { method: 2, recipients: ["a@example.test"] },
  });
  const path = `${BASE}/${made.id}`;
  const changed = async (change: Record<string, unknown>) => {
    assert.equal((await actor.put(path, change)).status, 204);
    return (await actor.get(path)).body;
  };
  const untouched = ({ updatedAt: _, ...rest }: Record<string, unknown>) => rest;
  assert.deepEqual(untouched(await changed({})), untouched(made));
  const cleared = await changed({
    description: null,
    timeZoneId: null,
    parametersJson: null,
    deliveryOptionsJson: null,
    burstJson: null,
    name: null,
    cronExpression: null,
    format: null,
  });
  assert.equal(cleared.description, null);
  assert.equal(cleared.timeZoneId, "UTC");
  assert.equal(JSON.parse(cleared.parametersJson).level, "low", "the template's default");
  assert.equal(cleared.deliveryOptionsJson, null);
  const { name, cronExpression, format } = made;
  assert.deepEqual(
    [cleared.name, cleared.cronExpression, cleared.format],
    [name, cronExpression, format],
    "what a schedule needs stays",
  );
});

Deno.test("a schedule that could not run is rejected field by field", async () => {
  const actor = await t.actor();
  const refusal = async (more: Record<string, unknown>) => {
    const answer = await actor.post(BASE, body(more));
    return [answer.status, answer.body.code, ...Object.keys(answer.body.errors ?? {}).sort()];
  };
  assert.deepEqual(await refusal({ templateId: "none" }), [404, "REPORT_TEMPLATE_NOT_FOUND"]);
  assert.deepEqual(await refusal({ templateId: "users" }), [403, "MISSING_PERMISSION"]);
  assert.deepEqual(await refusal({ cronExpression: "* * * * * *" }), [
    400,
    "VALIDATION_ERROR",
    "cronExpression",
  ]);
  assert.deepEqual(await refusal({ timeZoneId: "Mars/Base" }), [400, "VALIDATION_ERROR", "timeZoneId"]);
  assert.deepEqual(await refusal({ name: " " }), [400, "VALIDATION_ERROR", "name"]);
  assert.deepEqual(await refusal({ parameters: { level: "x" } }), [
    400,
    "VALIDATION_ERROR",
    "parameters.level",
  ]);
  assert.deepEqual(await refusal({ delivery: { method: 2 } }), [
    400,
    "VALIDATION_ERROR",
    "delivery.recipients",
  ]);
  const { id } = await create(actor);
  const changing = async (change: Record<string, unknown>) => {
    const answer = await actor.put(`${BASE}/${id}`, change);
    return [answer.status, ...Object.keys(answer.body.errors ?? {})];
  };
  assert.deepEqual(await changing({ parametersJson: "{" }), [400, "parametersJson"]);
  assert.deepEqual(await changing({ parametersJson: "[]" }), [400, "parametersJson"]);
  assert.deepEqual(await changing({ parametersJson: '{"level":1}' }), [400, "parameters.level"]);
  assert.deepEqual(await changing({ deliveryOptionsJson: '{"method":9}' }), [400, "deliveryOptionsJson"]);
  assert.deepEqual(await changing({ cronExpression: "never" }), [400, "cronExpression"]);
  const written = (value: unknown) => JSON.stringify(value);
  assert.deepEqual(await changing({ parametersJson: written({ level: "\0" }) }), [
    400,
    "parametersJson.level",
  ]);
  assert.deepEqual(
    await changing({ deliveryOptionsJson: written({ method: 1, emailSubject: "\ud800" }) }),
    [400, "deliveryOptionsJson.emailSubject"],
  );
  assert.deepEqual(await changing({ parametersJson: `{"a":${"[".repeat(300)}${"]".repeat(300)}}` }), [
    ...[400, "parametersJson"],
  ]);
  assert.deepEqual(await changing({}), [204]);
});

Deno.test("the list is paged and filtered, and has only the tenant's schedules", async () => {
  const [actor, other] = [await t.actor(), await t.actor()];
  const first = await create(actor);
  const second = await create(actor, { templateId: "lines", parameters: { rows: 1 } });
  await actor.post(`${BASE}/${first.id}/pause`);
  const ids = async (query = "") =>
    (await actor.get(`${BASE}${query}`)).body.items.map((item: { id: string }) => item.id);
  assert.deepEqual(await ids(), [second.id, first.id]);
  assert.deepEqual(await ids("?isActive=false"), [first.id]);
  assert.deepEqual(await ids("?isActive=true&templateId=lines"), [second.id]);
  assert.deepEqual(await ids("?pageSize=1&pageNumber=2"), [first.id]);
  assert.equal((await other.get(BASE)).body.totalCount, 0);
  for (
    const [method, path] of [["GET", ""], ["PUT", ""], ["DELETE", ""], ["POST", "/trigger"], [
      "POST",
      "/pause",
    ]]
  ) {
    const answer = await other.send(
      method ?? "",
      `${BASE}/${first.id}${path}`,
      method === "PUT" ? {} : undefined,
    );
    assert.deepEqual(
      [answer.status, answer.body.code],
      [404, "REPORT_SCHEDULE_NOT_FOUND"],
      `${method} ${path}`,
    );
  }
});

Deno.test("a colleague without the permission for its rows can neither see, redirect nor run a schedule", async () => {
  const tenantId = await t.tenant();
  const analyst = await t.actor({ tenantId, permissions: ["read:users"] });
  const visitor = await t.actor({ tenantId, permissions: [] });
  const { id } = await create(analyst, { templateId: "users" });
  assert.equal((await visitor.get(BASE)).body.totalCount, 0);
  const redirect = { deliveryOptionsJson: '{"method":2,"recipients":["me@example.test"]}' };
  for (
    const answer of [
      await visitor.get(`${BASE}/${id}`),
      await visitor.put(`${BASE}/${id}`, redirect),
      await visitor.post(`${BASE}/${id}/trigger`),
      await visitor.delete(`${BASE}/${id}`),
    ]
  ) assert.deepEqual([answer.status, answer.body.code], [403, "MISSING_PERMISSION"]);
});

Deno.test("a user who changes content or recipients of a schedule becomes its creator; other changes keep the creator", async () => {
  const tenantId = await t.tenant();
  const analyst = await t.actor({ tenantId, permissions: ["read:users"] });
  const colleague = await t.actor({ tenantId, permissions: ["read:users"] });
  const { id, parametersJson } = await create(analyst, { templateId: "users" });
  const creatorAfter = async (change: Record<string, unknown>, by = colleague) => {
    assert.equal((await by.put(`${BASE}/${id}`, change)).status, 204);
    return (await by.get(`${BASE}/${id}`)).body.createdBy;
  };
  const harmless = { name: "Renamed", cronExpression: "0 4 * * *", format: CSV, parametersJson };
  assert.equal(await creatorAfter(harmless), analyst.userId);
  const redirect = { deliveryOptionsJson: '{"method":2,"recipients":["me@example.test"]}' };
  assert.equal(await creatorAfter(redirect), colleague.userId);
  assert.equal(await creatorAfter(redirect, analyst), colleague.userId, "nothing was changed");

  await sql`update users set is_active = false where id = ${colleague.userId}`;
  const { body: tracking } = await analyst.post(`${BASE}/${id}/trigger`);
  const failed = await reached(analyst, tracking.id, STATUS.Failed);
  assert.match(failed.errorMessage, /no longer an active user.*changes the schedule becomes its creator/);
  assert.equal(await creatorAfter({ name: "Adopted" }, analyst), analyst.userId);
  const { body: again } = await analyst.post(`${BASE}/${id}/trigger`);
  await reached(analyst, again.id, STATUS.Completed, STATUS.Delivered);
  const [adopted] = await sql<{ before: Record<string, unknown>; after: Record<string, unknown> }[]>`
    select before, after from audit_log where target_id = ${id} and action = 'reportSchedule.update'
    order by id desc limit 1`;
  assert.deepEqual([adopted?.before.createdBy, adopted?.after.createdBy], [
    colleague.userId,
    analyst.userId,
  ]);
});

Deno.test("a change that keeps the times skips no due tick", async () => {
  const actor = await t.actor();
  const { id } = await create(actor);
  await sql`update report_schedules set next_run_at = '2026-01-31T02:30:00Z' where id = ${id}`;
  const nextAfter = async (change: Record<string, unknown>) => {
    assert.equal((await actor.put(`${BASE}/${id}`, change)).status, 204);
    return (await actor.get(`${BASE}/${id}`)).body.nextRunAt;
  };
  assert.equal(await nextAfter({ name: "Renamed" }), "2026-01-31T02:30:00.000Z");
  assert.ok(Date.parse(await nextAfter({ cronExpression: "0 4 * * *" })) > Date.now());
});

Deno.test("pausing and resuming work once each", async () => {
  const actor = await t.actor();
  const { id } = await create(actor);
  const codes = async (verb: string) => {
    const answers = [await actor.post(`${BASE}/${id}/${verb}`), await actor.post(`${BASE}/${id}/${verb}`)];
    return answers.map(({ status, body }) => body?.code ?? status);
  };
  assert.deepEqual(await codes("pause"), [204, "REPORT_SCHEDULE_ALREADY_PAUSED"]);
  assert.equal((await actor.get(`${BASE}/${id}`)).body.nextRunAt, null);
  assert.deepEqual(await codes("resume"), [204, "REPORT_SCHEDULE_NOT_PAUSED"]);
  assert.ok((await actor.get(`${BASE}/${id}`)).body.nextRunAt);
  assert.equal((await actor.post(`${BASE}/${crypto.randomUUID()}/pause`)).status, 404);
});

Deno.test("a schedule triggered by hand runs at once, paused or not, and its history is kept", async () => {
  const actor = await t.actor();
  const { id } = await create(actor);
  await actor.post(`${BASE}/${id}/pause`);
  const { status, body: tracking, headers } = await actor.post(`${BASE}/${id}/trigger`);
  assert.equal(status, 202);
  assert.equal(headers.get("location"), `/api/v1/reports/${tracking.trackingId}`);
  const detail = await reached(actor, tracking.id, STATUS.Completed);
  assert.equal(detail.scheduleId, id);
  assert.equal(detail.requestedBy, actor.email);
  const { body: schedule } = await actor.get(`${BASE}/${id}`);
  assert.deepEqual([schedule.lastExecutionId, schedule.lastStatus], [tracking.id, STATUS.Completed]);
  assert.equal((await actor.get(`/api/v1/reports/history?scheduleId=${id}`)).body.totalCount, 1);
});

Deno.test("instances that fire at the same time run a due schedule once, and several missed ticks lead to one run", async () => {
  const actor = await t.actor();
  const { id } = await create(actor, { cronExpression: "0 * * * *" });
  await makeDue(id);
  await Promise.all(Array.from({ length: 5 }, () => fireDueSchedules(platform)));
  const { body: history } = await actor.get(`/api/v1/reports/history?scheduleId=${id}`);
  assert.equal(history.totalCount, 1);
  const { body: schedule } = await actor.get(`${BASE}/${id}`);
  assert.ok(Date.parse(schedule.nextRunAt) > Date.now());
  await reached(actor, history.items[0].id, STATUS.Completed);
});

Deno.test("a tick is skipped while the previous execution is unfinished", async () => {
  const actor = await t.actor();
  const { id } = await create(actor, { templateId: "slow", parameters: { rows: 5_000 } });
  const { body: tracking } = await actor.post(`${BASE}/${id}/trigger`);
  await makeDue(id);
  await fireDueSchedules(platform);
  assert.equal((await actor.get(`/api/v1/reports/history?scheduleId=${id}`)).body.totalCount, 1);
  await actor.delete(`/api/v1/reports/${tracking.id}`);
});

Deno.test("a schedule runs with its creator's present permissions; without them the run fails and the creator is notified", async () => {
  const tenantId = await t.tenant();
  const analyst = await t.actor({ tenantId, permissions: ["read:users"] });
  const boss = await t.actor({ tenantId, permissions: ["read:users"] });
  const { id } = await create(analyst, { templateId: "users" });
  await sql`delete from role_permissions where role_id = ${analyst.roleId}`;
  await makeDue(id);
  await fireDueSchedules(platform);
  const { body: history } = await boss.get(`/api/v1/reports/history?scheduleId=${id}`);
  const { body: first } = await boss.get(`/api/v1/reports/${history.items[0].id}`);
  assert.equal(first.status, STATUS.Failed);
  assert.match(first.errorMessage, /needs read:users, which the caller does not hold/);
  const notifications = async () => (await sql<{ title: string; body: string }[]>`
      select title, body from user_notifications where user_id = ${analyst.userId} order by id`);
  const [message] = await until(notifications, (rows) => rows.length === 1);
  assert.equal(message?.title, 'The scheduled report "Nightly cells" failed');

  await sql`update users set is_active = false where id = ${analyst.userId}`;
  await makeDue(id);
  await fireDueSchedules(platform);
  const { body: schedule } = await boss.get(`${BASE}/${id}`);
  assert.deepEqual(
    [schedule.isActive, schedule.failuresInARow],
    [false, 2],
    "two failures in a row pause it",
  );
  const { body: second } = await boss.get(`/api/v1/reports/${schedule.lastExecutionId}`);
  assert.match(second.errorMessage, /no longer an active user/);
});

Deno.test("a schedule that cannot be started fails alone and blocks no other", async () => {
  const actor = await t.actor();
  const broken = await create(actor, { templateId: "moody", parameters: { mood: "good" } });
  const sound = await create(actor);
  await sql`update report_schedules set parameters_json = '{"mood":"bad"}' where id = ${broken.id}`;
  await makeDue(broken.id);
  await sql`update report_schedules set next_run_at = now() - interval '1 hour' where id = ${sound.id}`;
  await fireDueSchedules(platform);
  const runsOf = async ({ id }: { id: string }) =>
    (await actor.get(`/api/v1/reports/history?scheduleId=${id}`)).body.items;
  const [made] = await runsOf(sound);
  await reached(actor, made.id, STATUS.Completed);
  const [failed] = await runsOf(broken);
  const { body: detail } = await actor.get(`/api/v1/reports/${failed.id}`);
  assert.equal(detail.status, STATUS.Failed);
  assert.match(detail.errorMessage, /could not be started; the service's log/);
  const { body: after } = await actor.get(`${BASE}/${broken.id}`);
  assert.deepEqual([after.lastExecutionId, after.failuresInARow, after.isActive], [failed.id, 1, true]);
  assert.ok(t.logs.some((line) => line.includes(broken.id) && line.includes("in a bad mood")));
});

Deno.test("failed runs are counted and notified at the pause; a successful run resets the count", async () => {
  const actor = await t.actor();
  const { id } = await create(actor, { templateId: "failing" });
  const run = async () => {
    const { body } = await actor.post(`${BASE}/${id}/trigger`);
    await reached(actor, body.id, STATUS.Failed, STATUS.Completed);
    return (await actor.get(`${BASE}/${id}`)).body;
  };
  assert.deepEqual([(await run()).failuresInARow, (await run()).isActive], [1, false]);
  const messages = await until(
    () =>
      sql<
        { body: string }[]
      >`select body from user_notifications where user_id = ${actor.userId} order by id`,
    (rows) => rows.length === 2,
  );
  assert.ok(messages.some(({ body }) => body.includes("2 times in a row and is now paused")));
  const paused = await sql`select tenant_id, actor_id, after from audit_log
    where target_id = ${id} and action = 'reportSchedule.pause'`;
  assert.deepEqual(paused.map((row) => ({ ...row })), [
    { tenantId: actor.tenantId, actorId: null, after: { isActive: false, failuresInARow: 2 } },
  ]);
  await actor.post(`${BASE}/${id}/resume`);
  assert.equal((await actor.get(`${BASE}/${id}`)).body.failuresInARow, 0);
});

Deno.test("the service fires a due schedule once, also without a job that triggers it", async () => {
  const actor = await t.actor();
  const { id } = await create(actor, { cronExpression: "0 0 1 1 *" });
  await makeDue(id);
  await Promise.all(Array.from({ length: 3 }, () => t.steward.fireReportSchedules()));
  const { body: history } = await actor.get(`/api/v1/reports/history?scheduleId=${id}`);
  assert.equal(history.totalCount, 1);
});

Deno.test("a report can be enqueued as a job, and is generated once whatever the number of attempts", async () => {
  const actor = await t.actor();
  const job = await actor.post("/api/v1/jobs", {
    jobTypeName: "steward.report",
    argsTypeName: "Report",
    priority: "Normal",
    queue: "default",
    serializedArgs: JSON.stringify({ templateId: "cells", format: CSV }),
  });
  assert.equal(job.status, 201, JSON.stringify(job.body));
  await reached(actor, job.body.id, STATUS.Completed);
  const type = platform.jobTypes.get("steward.report");
  assert.equal(type?.exposed, true);
});
