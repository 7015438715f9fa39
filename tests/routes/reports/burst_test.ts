import assert from "node:assert/strict";
import { join } from "node:path";
import { fireDueSchedules } from "../../../domain/reports/schedules/schedule_runs.ts";
import { has, invalid, pluck, refused } from "../../support/answers.ts";
import type { Actor } from "../../support/setup.ts";
import {
  createSchedule,
  CSV,
  EMAIL,
  fetchDocument,
  generateLater,
  messagesOf,
  reached,
  REPORTS,
  SCHEDULES,
  setupSharedReports,
  startHook,
  STATUS,
  STORAGE,
  WEBHOOK,
} from "./support.ts";

const t = await setupSharedReports();
const actor = await t.actor();
const { platform, sql } = t;
const { Completed, Failed, Delivered, Cancelled, Generating } = STATUS;

const item = (value: unknown, ...recipients: string[]) => ({ value, recipients });
const burstOf = (...items: unknown[]) => ({ parameter: "region", items });
const byRegion = { templateId: "regional", name: "By region", burst: burstOf(item("Norte"), item("Sul")) };
const create = (by: Actor, more: Record<string, unknown> = {}) =>
  createSchedule(by, { ...byRegion, ...more });
const generate = (by: Actor, more: Record<string, unknown> = {}) =>
  generateLater(by, { templateId: "regional", ...more });
const read = async (by: Actor, id: string) => (await by.get(`${SCHEDULES}/${id}`)).body;
// deno-lint-ignore no-explicit-any -- answers of every shape
type Detail = any;
/** The executions of a burst by value, once all of them have ended (or have one of `statuses`). */
async function endedBurst(
  by: Actor,
  burstId: string,
  ...statuses: number[]
): Promise<Record<string, Detail>> {
  const ended = statuses.length ? statuses : [Completed, Failed, Delivered, Cancelled];
  const { body } = await by.get(`${REPORTS}/history?burstId=${burstId}&pageSize=100`);
  const details = [];
  for (const { id } of body.items) details.push(await reached(by, id, ...ended));
  return Object.fromEntries(details.map((detail) => [detail.burstValue, detail]));
}
/** Runs a schedule at once; the executions by value, and the id of the burst. */
async function trigger(by: Actor, id: string) {
  const { burstId } = (await by.post(`${SCHEDULES}/${id}/trigger`)).body;
  return { burstId, made: await endedBurst(by, burstId) };
}
/** Makes a value of a schedule one that is no longer valid, as after a new version of the template. */
const invalidate = (id: string, value: string) =>
  sql`update report_schedules set burst_json = replace(burst_json, ${`"${value}"`}, '""') where id = ${id}`;

Deno.test("a burst creates one document per value, and mails each only to its value's recipients", async () => {
  const body = await generate(actor, {
    parameters: { top: 2 },
    delivery: { method: EMAIL, emailSubject: "Your region" },
    burst: burstOf(item("Νότος", "n1@x.test", "n2@x.test", "N1@x.test"), item("北", "k@x.test")),
  });
  const { id, burstId } = body;
  const urls = { statusUrl: `${REPORTS}/${id}`, burstUrl: `${REPORTS}/history?burstId=${burstId}` };
  assert.deepEqual(body, { id, trackingId: id, status: STATUS.Queued, burstId, ...urls });
  const made = await endedBurst(actor, burstId, Delivered, Failed);
  assert.deepEqual(Object.keys(made).sort(), ["Νότος", "北"]);
  const [south, north] = [made["Νότος"], made["北"]];
  const parametersJson = '{"region":"Νότος","top":2,"includeChildTenants":false}';
  has(south, { id, reportName: "Regional: Νότος", parametersJson }); // the tracking id is that of the first value
  const { bytes } = await fetchDocument(actor, north.id);
  assert.match(new TextDecoder().decode(bytes), /^Region,N\r\n北,/);
  const sent = (await platform.outbox?.list() ?? []).filter(({ subject }) => subject === "Your region");
  const sizes = sent.map(({ to, attachments }) => [to[0], pluck(attachments, "sizeBytes")]);
  assert.deepEqual(Object.fromEntries(sizes), {
    "N1@x.test": [south.fileSizeBytes],
    "n2@x.test": [south.fileSizeBytes],
    "k@x.test": [north.fileSizeBytes],
  });
});

Deno.test("a burst copied to storage has one path per value", async () => {
  const delivery = { method: STORAGE, targetPath: "regions/{date}/{value}.csv" };
  const burst = burstOf(item("Norte / Minho"), item("../Açores"));
  const { burstId } = await generate(actor, { delivery, burst });
  const made = Object.values(await endedBurst(actor, burstId, Delivered));
  const names = ["../Açores", "Norte / Minho"];
  for (const [at, name] of ["Açores", "Norte-Minho"].entries()) {
    const { completedAt, deliveries } = made.find(({ burstValue }) => burstValue === names[at]);
    const path = `regions/${completedAt.slice(0, 10)}/${name}.csv`;
    const outcome = { status: "Delivered", errorMessage: null, attempts: 1, targetId: null };
    has(deliveries, [{ method: STORAGE, recipient: path, ...outcome }]);
    const copy = await platform.objects.read(`deliveries/${actor.tenantId}/${path}`);
    assert.match(await new Response(copy).text(), /^Region,N/);
  }
});

Deno.test("a webhook is sent for each document of a burst, with its value", async () => {
  await using hook = startHook();
  const delivery = { method: WEBHOOK, webhookUrl: hook.url };
  const { burstId } = await generate(actor, { delivery, burst: byRegion.burst });
  await endedBurst(actor, burstId, Delivered);
  const heard = hook.received.map(({ body }) => JSON.parse(body).data);
  assert.deepEqual(pluck(heard, "burstId", "burstValue").sort(), [[burstId, "Norte"], [burstId, "Sul"]]);
});

Deno.test("the example of the README runs unchanged", async () => {
  const path = join(import.meta.dirname ?? ".", "../../../domain/reports/README.md");
  const example = JSON.parse(/```json\n([\s\S]*?)```/.exec(await Deno.readTextFile(path))?.[1] ?? "");
  const actor = await t.actor({ permissions: ["read:users"] });
  const { burstId } = await generateLater(actor, example);
  assert.deepEqual(Object.keys(await endedBurst(actor, burstId, Delivered)).sort(), ["Editor", "Reviewer"]);
});

Deno.test("an invalid parameter, value, recipient or path is named", async () => {
  const schedule = (more: Record<string, unknown>) =>
    actor.post(SCHEDULES, { ...byRegion, format: CSV, cronExpression: "0 6 * * 1", ...more });
  const mail = { delivery: { method: EMAIL } };
  const copied = (targetPath: string) => ({ delivery: { method: STORAGE, targetPath } });
  const named = { delivery: { method: EMAIL, recipients: ["z@y.test"] } };
  const cases: [burst: unknown, more: Record<string, unknown>, ...members: string[]][] = [
    [{ parameter: "county", items: [item("x")] }, {}, "burst.parameter"],
    [burstOf(item(""), item("fits"), item(7)), {}, "burst.items.0.value", "burst.items.2.value"],
    [burstOf(item("a"), item("b"), item("a")), {}, "burst.items.2.value"],
    [burstOf(item("a"), item("b")), { parameters: { top: 99 } }, "parameters.top"],
    [burstOf(item("a", "x@y.test"), item("b")), mail, "burst.items.1.recipients"],
    [burstOf(item("a", "x@y.test", "nobody")), mail, "burst.items.0.recipients.1"],
    [burstOf(item("a", "x@y.test")), {}, "burst.items.0.recipients"],
    [burstOf(item("a", "x@y.test")), named, "delivery.recipients"],
    [burstOf(item("a b"), item("a/b")), copied("{value}.csv"), "delivery.targetPath"],
    [null, { parameters: { region: "a" }, ...copied("{value}.csv") }, "delivery.targetPath"],
  ];
  for (const [burst, more, ...members] of cases) invalid(await schedule({ burst, ...more }), ...members);
  await create(actor, { burst: burstOf(item("a b"), item("a/b")), ...copied("{executionId}.csv") });
  const hidden = await schedule({ templateId: "users" });
  refused(hidden, 403, "MISSING_PERMISSION"); // permission comes before the parameter's name
});

Deno.test("an update of a schedule keeps, changes or removes its burst", async () => {
  const { id, burstJson, parametersJson } = await create(actor, {
    parameters: { region: "ignored", top: 5 },
  });
  assert.deepEqual(JSON.parse(burstJson), byRegion.burst);
  assert.equal(parametersJson, '{"top":5,"includeChildTenants":false}', "without the burst's parameter");
  const put = (change: Record<string, unknown>) => actor.put(`${SCHEDULES}/${id}`, change);
  const accepted = async (change: Record<string, unknown>) => assert.equal((await put(change)).status, 204);
  await accepted({ name: "Renamed" });
  for (const wrong of ["{", '{"parameter":"region"}']) invalid(await put({ burstJson: wrong }), "burstJson");
  invalid(await put({ burstJson: JSON.stringify(burstOf(item(""))) }), "burst.items.0.value");
  await accepted({ burstJson: JSON.stringify(burstOf(item("Centro"))) });
  const changed = await read(actor, id);
  assert.deepEqual([changed.name, JSON.parse(changed.burstJson).items.length], ["Renamed", 1]);
  invalid(await put({ burstJson: "null" }), "parameters.region");
  await accepted({ burstJson: "null", parametersJson: '{"region":"Centro"}' });
  assert.equal((await read(actor, id)).burstJson, null);
});

Deno.test("one failing value stops no other, is notified once, and does not count as a failed run", async () => {
  const actor = await t.actor();
  const { id } = await create(actor, { burst: burstOf(item("Norte"), item("zero"), item("Sul")) });
  const { burstId, made } = await trigger(actor, id);
  const statuses = Object.entries(made).map(([value, { status }]) => [value, status]).sort();
  assert.deepEqual(statuses, [["Norte", Completed], ["Sul", Completed], ["zero", Failed]]);
  has(await read(actor, id), { lastStatus: Failed, failuresInARow: 0, isActive: true });
  has(await messagesOf(t, actor, 1), [{
    title: 'The scheduled report "By region" failed for 1 of 3 values',
    body: "zero: The query failed (SQLSTATE 22012).",
    actionUrl: `${REPORTS}/history?burstId=${burstId}`,
  }]);
});

Deno.test("a run in which every value fails counts as one failure, and the second in a row pauses the schedule", async () => {
  const actor = await t.actor({ permissions: ["read:events"] });
  const { id } = await create(actor, { burst: burstOf(item("zero"), item("Sul")) });
  await invalidate(id, "Sul");
  const failed: string[] = [];
  for (const [failuresInARow, isActive] of [[1, true], [2, false]]) {
    const { made } = await trigger(actor, id);
    assert.deepEqual(pluck(Object.values(made), "status"), [Failed, Failed]);
    failed.push(...pluck(Object.values(made), "id"));
    has(await read(actor, id), { failuresInARow, isActive });
  }
  const messages = pluck(await messagesOf(t, actor, 2), "body");
  const isPaused = messages.some((body) => body.includes("2 times in a row and is now paused"));
  assert.ok(isPaused, JSON.stringify(messages));
  const { items } = (await actor.get("/api/v1/events?types=report.failed")).body;
  assert.deepEqual(pluck(pluck(items, "data"), "executionId").sort(), failed.sort());
});

Deno.test("cancelled executions do not count for the run, and the next tick waits for all others", async () => {
  const burst = { parameter: "rows", items: [item(1), item(10_000)] };
  const { id } = await create(actor, { templateId: "slow", burst });
  const { body: tracking } = await actor.post(`${SCHEDULES}/${id}/trigger`);
  await reached(actor, tracking.id, Completed);
  assert.equal((await read(actor, id)).lastStatus, Generating);
  await sql`update report_schedules set next_run_at = now() - interval '1 hour', failures_in_a_row = 1
    where id = ${id}`;
  await fireDueSchedules(platform);
  const { items } = (await actor.get(`${REPORTS}/history?scheduleId=${id}`)).body;
  assert.equal(items.length, 2, "it was not fired");
  const long = items.find((item: { id: string }) => item.id !== tracking.id);
  assert.equal((await actor.delete(`${REPORTS}/${long.id}`)).status, 204);
  has(await read(actor, id), { lastStatus: Completed, failuresInARow: 0 }); // its one result was good
});

Deno.test("if the creator lost the permission, the run fails once, not once per value", async () => {
  const tenantId = await t.tenant();
  const analyst = await t.actor({ tenantId, permissions: ["read:users"] });
  const boss = await t.actor({ tenantId, permissions: ["read:users"] });
  const burst = { parameter: "roleName", items: [item("Admin"), item("Visitor")] };
  const { id } = await create(analyst, { templateId: "users", burst });
  await sql`delete from role_permissions where role_id = ${analyst.roleId}`;
  const { body: tracking } = await boss.post(`${SCHEDULES}/${id}/trigger`);
  assert.equal(tracking.burstId, undefined);
  const { body: history } = await boss.get(`${REPORTS}/history?scheduleId=${id}`);
  assert.deepEqual(pluck(history.items, "status"), [Failed]);
  assert.equal((await read(boss, id)).failuresInARow, 1);
});
