import assert from "node:assert/strict";
import { join } from "node:path";
import { fireDueSchedules } from "../../../domain/reports/schedule_runs.ts";
import type { Actor } from "../../support/setup.ts";
import { CSV, fetchDocument, reached, setupReports, STATUS } from "./support.ts";
import { until } from "../../support/until.ts";

const t = await setupReports({ REPORT_SCHEDULE_FAILURES: "2", OUTBOUND_ALLOW: "127.0.0.1" });
Deno.test.afterAll(() => t.stop());
const { platform } = t.steward;
const { sql } = platform;
const SCHEDULES = "/api/v1/reports/schedules";

const item = (value: unknown, ...recipients: string[]) => ({ value, recipients });
const burstOf = (...items: unknown[]) => ({ parameter: "region", items });
const schedule = (more: Record<string, unknown> = {}) => ({
  templateId: "regional",
  name: "By region",
  cronExpression: "0 6 * * 1",
  format: CSV,
  burst: burstOf(item("Norte"), item("Sul")),
  ...more,
});
const create = async (by: Actor, more: Record<string, unknown> = {}) => {
  const answer = await by.post(SCHEDULES, schedule(more));
  assert.equal(answer.status, 201, JSON.stringify(answer.body));
  return answer.body;
};
const ENDED = [STATUS.Completed, STATUS.Failed, STATUS.Delivered, STATUS.Cancelled];
// deno-lint-ignore no-explicit-any -- answers of every shape
type Detail = any;
/** The executions of a burst by value, once all of them have ended (or have one of `statuses`). */
async function endedBurst(
  by: Actor,
  burstId: string,
  ...statuses: number[]
): Promise<Record<string, Detail>> {
  const { body } = await by.get(`/api/v1/reports/history?burstId=${burstId}&pageSize=100`);
  const details: Detail[] = [];
  for (const { id } of body.items) {
    details.push(await reached(by, id, ...(statuses.length ? statuses : ENDED)));
  }
  return Object.fromEntries(details.map((detail) => [detail.burstValue, detail]));
}
const textOf = async (by: Actor, id: string) => new TextDecoder().decode((await fetchDocument(by, id)).bytes);
const burstOfExecution = async (by: Actor, id: string) =>
  (await by.get(`/api/v1/reports/${id}`)).body.burstId as string;

Deno.test("a burst creates one document per value, and mails each only to its value's recipients", async () => {
  const actor = await t.actor();
  const { status, body } = await actor.post("/api/v1/reports/generate-async", {
    templateId: "regional",
    format: CSV,
    parameters: { top: 2 },
    delivery: { method: 2, emailSubject: "Your region" },
    burst: burstOf(
      item("Νότος", "n1@example.test", "n2@example.test", "N1@example.test"),
      item("北", "k@example.test"),
    ),
  });
  assert.equal(status, 202, JSON.stringify(body));
  assert.deepEqual(body, {
    id: body.id,
    trackingId: body.id,
    status: STATUS.Queued,
    statusUrl: `/api/v1/reports/${body.id}`,
    burstId: body.burstId,
    burstUrl: `/api/v1/reports/history?burstId=${body.burstId}`,
  });
  const made = await endedBurst(actor, body.burstId, STATUS.Delivered, STATUS.Failed);
  assert.deepEqual(Object.keys(made).sort(), ["Νότος", "北"]);
  const [south, north] = [made["Νότος"], made["北"]];
  assert.equal(south?.id, body.id, "the tracking id is that of the first value");
  assert.equal(south?.reportName, "Regional: Νότος");
  assert.equal(south?.parametersJson, '{"region":"Νότος","top":2,"includeChildTenants":false}');
  assert.match(await textOf(actor, north?.id ?? ""), /^Region,N\r\n北,/);
  const sent = (await platform.outbox?.list() ?? []).filter(({ subject }) => subject === "Your region");
  assert.deepEqual(
    Object.fromEntries(
      sent.map((
        { to, attachments },
      ) => [to[0], attachments.map(({ sizeBytes }: { sizeBytes: number }) => sizeBytes)]),
    ),
    {
      "N1@example.test": [south?.fileSizeBytes],
      "n2@example.test": [south?.fileSizeBytes],
      "k@example.test": [north?.fileSizeBytes],
    },
  );
});

Deno.test("a burst copied to storage has one path per value", async () => {
  const actor = await t.actor();
  const { body } = await actor.post("/api/v1/reports/generate-async", {
    templateId: "regional",
    format: CSV,
    delivery: { method: 3, targetPath: "regions/{date}/{value}.csv" },
    burst: burstOf(item("Norte / Minho"), item("../Açores")),
  });
  const made = await endedBurst(actor, body.burstId, STATUS.Delivered);
  const paths: string[] = Object.values(made).map(({ deliveries }) => deliveries[0].recipient);
  const day = new Date().toISOString().slice(0, 10);
  assert.deepEqual(paths.sort(), [`regions/${day}/Açores.csv`, `regions/${day}/Norte-Minho.csv`]);
  for (const path of paths) {
    const copy = await platform.objects.read(`deliveries/${actor.tenantId}/${path}`);
    assert.match(await new Response(copy).text(), /^Region,N/);
  }
});

Deno.test("a webhook is sent for each document of a burst, with its value", async () => {
  const actor = await t.actor();
  const heard: { burstId: string; burstValue: string }[] = [];
  const server = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen: () => {} }, async (request) => {
    heard.push((await request.json()).data);
    return new Response();
  });
  const { body } = await actor.post("/api/v1/reports/generate-async", {
    templateId: "regional",
    format: CSV,
    delivery: { method: 4, webhookUrl: `http://127.0.0.1:${server.addr.port}/` },
    burst: burstOf(item("Norte"), item("Sul")),
  });
  await endedBurst(actor, body.burstId, STATUS.Delivered);
  await server.shutdown();
  assert.deepEqual(heard.map(({ burstId, burstValue }) => [burstId, burstValue]).sort(), [
    ...[[body.burstId, "Norte"], [body.burstId, "Sul"]],
  ]);
});

Deno.test("the example of the README runs unchanged", async () => {
  const readme = await Deno.readTextFile(
    join(import.meta.dirname ?? ".", "../../../domain/reports/README.md"),
  );
  const example = JSON.parse(/```json\n([\s\S]*?)```/.exec(readme)?.[1] ?? "");
  const actor = await t.actor({ permissions: ["read:users"] });
  const { status, body } = await actor.post("/api/v1/reports/generate-async", example);
  assert.equal(status, 202, JSON.stringify(body));
  const made = await endedBurst(actor, body.burstId, STATUS.Delivered);
  assert.deepEqual(Object.keys(made).sort(), ["Editor", "Reviewer"]);
});

Deno.test("an invalid parameter, value, recipient or path is named", async () => {
  const actor = await t.actor();
  const fields = async (burst: unknown, more: Record<string, unknown> = {}) => {
    const answer = await actor.post(SCHEDULES, schedule({ burst, ...more }));
    assert.equal(answer.status, 400, JSON.stringify(answer.body));
    return Object.keys(answer.body.errors).sort();
  };
  const mail = { delivery: { method: 2 } };
  assert.deepEqual(await fields({ parameter: "county", items: [item("x")] }), ["burst.parameter"]);
  assert.deepEqual(await fields({ parameter: "__proto__", items: [item("x")] }), ["burst.parameter"]);
  assert.deepEqual(await fields({ parameter: "region", items: [] }), ["burst.items"]);
  assert.deepEqual(
    await fields(burstOf(...Array.from({ length: 101 }, (_, n) => item(`r${n}`)))),
    ["burst.items"],
  );
  assert.deepEqual(await fields(burstOf(item(""), item("fits"), item(7))), [
    ...["burst.items.0.value", "burst.items.2.value"],
  ]);
  assert.deepEqual(await fields(burstOf(item({}), item(null))), [
    "burst.items.0.value",
    "burst.items.1.value",
  ]);
  assert.deepEqual(await fields(burstOf(item("a"), item("b"), item("a"))), ["burst.items.2.value"]);
  assert.deepEqual(await fields(burstOf(item("a"), item("b")), { parameters: { top: 99 } }), [
    "parameters.top",
  ]);
  assert.deepEqual(await fields(burstOf(item("a", "x@y.test"), item("b")), mail), [
    "burst.items.1.recipients",
  ]);
  assert.deepEqual(await fields(burstOf(item("a", "x@y.test", "nobody")), mail), [
    "burst.items.0.recipients.1",
  ]);
  assert.deepEqual(await fields(burstOf(item("a", "x@y.test"))), ["burst.items.0.recipients"]);
  assert.deepEqual(
    await fields(burstOf(item("a", "x@y.test")), { delivery: { method: 2, recipients: ["z@y.test"] } }),
    ["delivery.recipients"],
  );
  const copied = (targetPath: string) => ({ delivery: { method: 3, targetPath } });
  assert.deepEqual(await fields(burstOf(item("a"), item("b")), copied("all.csv")), ["delivery.targetPath"]);
  assert.deepEqual(await fields(burstOf(item("a b"), item("a/b")), copied("{value}.csv")), [
    "delivery.targetPath",
  ]);
  await create(actor, { burst: burstOf(item("a b"), item("a/b")), ...copied("{executionId}.csv") });
  const alone = await actor.post(SCHEDULES, {
    ...schedule({ parameters: { region: "a" } }),
    burst: null,
    ...copied("{value}.csv"),
  });
  assert.deepEqual(Object.keys(alone.body.errors), ["delivery.targetPath"], "one document has no {value}");
  const hidden = await actor.post(SCHEDULES, schedule({ templateId: "users", burst: burstOf(item("a")) }));
  assert.equal(hidden.body.code, "MISSING_PERMISSION", "permission comes before the parameter's name");
});

Deno.test("an update of a schedule keeps, changes or removes its burst", async () => {
  const actor = await t.actor();
  const { id, burstJson, parametersJson } = await create(actor, {
    parameters: { region: "ignored", top: 5 },
  });
  assert.deepEqual(JSON.parse(burstJson), burstOf(item("Norte"), item("Sul")));
  assert.equal(
    parametersJson,
    '{"top":5,"includeChildTenants":false}',
    "the burst's parameter is the burst's",
  );
  const put = async (change: Record<string, unknown>) => {
    const { status, body } = await actor.put(`${SCHEDULES}/${id}`, change);
    return [status, ...Object.keys(body?.errors ?? {})];
  };
  assert.deepEqual(await put({ name: "Renamed" }), [204]);
  assert.deepEqual(await put({ burstJson: "{" }), [400, "burstJson"]);
  assert.deepEqual(await put({ burstJson: '{"parameter":"region"}' }), [400, "burstJson"]);
  assert.deepEqual(await put({ burstJson: JSON.stringify(burstOf(item(""))) }), [400, "burst.items.0.value"]);
  assert.deepEqual(await put({ burstJson: JSON.stringify(burstOf(item("Centro"))) }), [204]);
  const { body } = await actor.get(`${SCHEDULES}/${id}`);
  assert.deepEqual([body.name, JSON.parse(body.burstJson).items.length], ["Renamed", 1]);
  assert.deepEqual(await put({ burstJson: "null" }), [400, "parameters.region"]);
  assert.deepEqual(await put({ burstJson: "null", parametersJson: '{"region":"Centro"}' }), [204]);
  assert.equal((await actor.get(`${SCHEDULES}/${id}`)).body.burstJson, null);
});

Deno.test("one failing value stops no other, is notified once, and does not count as a failed run", async () => {
  const actor = await t.actor();
  const { id } = await create(actor, { burst: burstOf(item("Norte"), item("zero"), item("Sul")) });
  const { body: tracking } = await actor.post(`${SCHEDULES}/${id}/trigger`);
  const made = await endedBurst(actor, tracking.burstId);
  assert.deepEqual(
    Object.entries(made).map(([value, { status }]) => [value, status]).sort(),
    [["Norte", STATUS.Completed], ["Sul", STATUS.Completed], ["zero", STATUS.Failed]],
  );
  const { body: after } = await actor.get(`${SCHEDULES}/${id}`);
  assert.deepEqual([after.lastStatus, after.failuresInARow, after.isActive], [STATUS.Failed, 0, true]);
  const messages = await until(() => messagesOf(actor), (rows) => rows.length > 0);
  assert.deepEqual(messages, [{
    title: 'The scheduled report "By region" failed for 1 of 3 values',
    body: "zero: The query failed (SQLSTATE 22012).",
    actionUrl: `/api/v1/reports/history?burstId=${tracking.burstId}`,
  }]);
});

Deno.test("a value that cannot be generated at all sends its event too, once", async () => {
  const actor = await t.actor({ permissions: ["read:events"] });
  const { id } = await create(actor, { burst: burstOf(item("Norte"), item("Sul")) });
  await sql`update report_schedules set burst_json = replace(burst_json, '"Sul"', '""') where id = ${id}`;
  const { body: tracking } = await actor.post(`${SCHEDULES}/${id}/trigger`);
  const made = await endedBurst(actor, tracking.burstId);
  const { body } = await actor.get("/api/v1/events?types=report.failed");
  assert.deepEqual(body.items.map(({ data }: Detail) => data.executionId), [made[""].id]);
  await until(() => messagesOf(actor), ({ length }) => length === 1);
});

Deno.test("a run in which every value fails counts as one failure, and the second in a row pauses the schedule", async () => {
  const actor = await t.actor();
  const { id } = await create(actor, { burst: burstOf(item("zero"), item("Sul")) });
  // The other value is no longer valid, as after a new version of the template.
  await sql`update report_schedules set burst_json = replace(burst_json, '"Sul"', '""') where id = ${id}`;
  const run = async () => {
    const { body } = await actor.post(`${SCHEDULES}/${id}/trigger`);
    const made = await endedBurst(actor, body.burstId);
    assert.deepEqual(Object.values(made).map(({ status }) => status), [STATUS.Failed, STATUS.Failed]);
    return (await actor.get(`${SCHEDULES}/${id}`)).body;
  };
  const first = await run();
  assert.deepEqual([first.failuresInARow, first.isActive], [1, true]);
  const second = await run();
  assert.deepEqual([second.failuresInARow, second.isActive], [2, false]);
  const messages = await until(() => messagesOf(actor), (rows) => rows.length === 2);
  assert.ok(
    messages.some(({ body }) => body.includes("2 times in a row and is now paused")),
    JSON.stringify(messages),
  );
});

Deno.test("cancelled executions do not count for the run, and the next tick waits for all others", async () => {
  const actor = await t.actor();
  const { id } = await create(actor, {
    templateId: "slow",
    burst: { parameter: "rows", items: [item(1), item(10_000)] },
  });
  const { body: tracking } = await actor.post(`${SCHEDULES}/${id}/trigger`);
  await reached(actor, tracking.id, STATUS.Completed);
  assert.equal((await actor.get(`${SCHEDULES}/${id}`)).body.lastStatus, STATUS.Generating);
  await sql`update report_schedules set next_run_at = now() - interval '1 hour', failures_in_a_row = 1
    where id = ${id}`;
  assert.equal((await fireDueSchedules(platform)).fired, 0);
  const { body: history } = await actor.get(`/api/v1/reports/history?scheduleId=${id}`);
  assert.equal(history.totalCount, 2);
  const long = history.items.find((item: { id: string }) => item.id !== tracking.id);
  assert.equal((await actor.delete(`/api/v1/reports/${long.id}`)).status, 204);
  const { body: after } = await actor.get(`${SCHEDULES}/${id}`);
  assert.deepEqual(
    [after.lastStatus, after.failuresInARow],
    [STATUS.Completed, 0],
    "its one result was good",
  );
});

Deno.test("executions that end at the same moment settle their run exactly once", async () => {
  const actor = await t.actor();
  const { id } = await create(actor, {
    burst: burstOf(
      ...Array.from({ length: 12 }, (_, n) => item(n % 3 ? `r${n}` : `zero`.padEnd(4 + n, " "))),
    ),
  });
  await sql`update report_schedules set burst_json = regexp_replace(burst_json, '"zero *"', '"zero"', 'g')
    where id = ${id}`;
  const { body: tracking } = await actor.post(`${SCHEDULES}/${id}/trigger`);
  await endedBurst(actor, tracking.burstId);
  const messages = await until(() => messagesOf(actor), (rows) => rows.length > 0);
  assert.deepEqual(messages.map(({ title }) => title), [
    'The scheduled report "By region" failed for 4 of 12 values',
  ]);
});

Deno.test("if the creator lost the permission, the run fails once, not once per value", async () => {
  const tenantId = await t.tenant();
  const analyst = await t.actor({ tenantId, permissions: ["read:users"] });
  const boss = await t.actor({ tenantId, permissions: ["read:users"] });
  const { id } = await create(analyst, {
    templateId: "users",
    burst: { parameter: "roleName", items: [item("Admin"), item("Visitor")] },
  });
  await sql`delete from role_permissions where role_id = ${analyst.roleId}`;
  const { body: tracking } = await boss.post(`${SCHEDULES}/${id}/trigger`);
  assert.equal(tracking.burstId, undefined);
  const { body: history } = await boss.get(`/api/v1/reports/history?scheduleId=${id}`);
  assert.deepEqual(history.items.map((one: { status: number }) => one.status), [STATUS.Failed]);
  assert.equal((await boss.get(`${SCHEDULES}/${id}`)).body.failuresInARow, 1);
});

Deno.test("nobody sees a burst of another tenant, or of rows they may not read", async () => {
  const tenantId = await t.tenant();
  const analyst = await t.actor({ tenantId, permissions: ["read:users"] });
  const visitor = await t.actor({ tenantId, permissions: [] });
  const stranger = await t.actor({ permissions: ["read:users"] });
  const { body } = await analyst.post("/api/v1/reports/generate-async", {
    templateId: "users",
    format: CSV,
    burst: { parameter: "isActive", items: [item(true), item(false)] },
  });
  const count = async (by: Actor) =>
    (await by.get(`/api/v1/reports/history?burstId=${body.burstId}`)).body.totalCount;
  assert.deepEqual([await count(analyst), await count(visitor), await count(stranger)], [2, 0, 0]);
  assert.equal(await burstOfExecution(analyst, body.id), body.burstId);
  assert.equal((await analyst.get("/api/v1/reports/history?burstId=x")).status, 400);
});

const messagesOf = (by: Actor) =>
  sql<{ title: string; body: string; actionUrl: string }[]>`
    select title, body, action_url from user_notifications where user_id = ${by.userId} order by id`
    .then((rows) => rows.map((row) => ({ ...row })));
