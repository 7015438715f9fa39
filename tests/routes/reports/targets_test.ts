import assert from "node:assert/strict";
import { Webhook } from "standardwebhooks";
import { has, invalid, pluck, refused } from "../../support/answers.ts";
import { accepted } from "../../support/outcomes.ts";
import type { Actor } from "../../support/setup.ts";
import { until } from "../../support/until.ts";
import {
  createSchedule,
  CSV,
  delivered,
  EMAIL,
  execution,
  generateLater,
  hurry,
  reached,
  REPORTS,
  SCHEDULES,
  setupSharedReports,
  sizeAt,
  startHook,
  STATUS,
  STORAGE,
  WEBHOOK,
} from "./support.ts";
import { createTarget, MANAGER, startOtherStore, startSlack, TARGETS } from "./target_support.ts";

const other = await startOtherStore();
const t = await setupSharedReports();
Deno.test.afterAll(async () => {
  await t.stop();
  await other.stop();
});
const { platform, sql } = t;
const manager = () => t.actor({ permissions: MANAGER });
const actor = await manager();
const generate = async (actor: Actor, delivery: unknown): Promise<string> =>
  (await generateLater(actor, { delivery })).id;
const sent = async (actor: Actor, delivery: unknown) =>
  await delivered(actor, await generate(actor, delivery));
const redeliver = (actor: Actor, id: string, body?: unknown) =>
  actor.post(`${REPORTS}/${id}/redeliver`, body);

const tried = (actor: Actor, id: string) =>
  execution(actor, id, ({ deliveries }) => deliveries[0]?.attempts > 0);

Deno.test("a document is stored in a bucket of somebody else; wrong credentials fail with the store's code, and can be repeated", async () => {
  const { secretAccessKey, accessKeyId, bucket } = other.target;
  const targetId = await createTarget(actor, { ...other.target, secretAccessKey: "wrong" });
  const targetPath = "me\u0301s/{templateId}-{executionId}.csv";
  const id = await generate(actor, { method: STORAGE, targetId, targetPath });
  const failed = await delivered(actor, id);
  has(failed, { status: STATUS.Completed, deliveryStatus: "Failed" });
  assert.match(failed.deliveries[0].errorMessage, /answered 403 SignatureDoesNotMatch/);
  assert.equal((await actor.put(`${TARGETS}/${targetId}`, { secretAccessKey })).status, 200);
  assert.equal((await redeliver(actor, id)).status, 202);
  const recipient = `m\u00e9s/cells-${id}.csv`;
  const detail = await delivered(actor, id);
  const deliveries = [{ method: STORAGE, targetId, recipient }];
  has(detail, { status: STATUS.Delivered, deliveryStatus: "Delivered", deliveries });
  const stored = await other.objects.read(`from/steward/${recipient}`);
  assert.equal((await new Response(stored).bytes()).length, detail.fileSizeBytes);

  const jobs = await sql`select j::text as row from jobs j where j.tenant_id = ${actor.tenantId}`;
  const told = [...pluck(jobs, "row"), ...t.logs].join("\n");
  for (const secret of [bucket, secretAccessKey, accessKeyId, "from/steward"]) {
    assert.ok(!told.includes(secret), `no job and no log line has ${secret}`);
  }
});

Deno.test("a store that is away is tried again until it is back", async () => {
  const targetId = await createTarget(actor, other.target);
  await other.proxy.refuse();
  const id = await generate(actor, { method: STORAGE, targetId, targetPath: "{executionId}.csv" });
  const away = await tried(actor, id);
  has(away, { deliveryStatus: "Pending", deliveries: [{ status: "Owed" }] });
  assert.match(away.deliveries[0].errorMessage, /connection was refused/);
  await other.proxy.pass();
  assert.equal((await hurry(t, actor, id)).deliveryStatus, "Delivered");
});

Deno.test("a Slack target gets the name, the rows and a link; its refusals are final, outages are not", async () => {
  await using slack = startSlack([200, "ok"], [404, "no_service"], [503, "busy"]);
  const targetId = await createTarget(actor, { kind: "slack", name: "Team chat", webhookUrl: slack.url });
  const toChat = { method: WEBHOOK, targetId };
  const ok = await sent(actor, toChat);
  has(ok, { deliveryStatus: "Delivered", deliveries: [{ recipient: "Team chat" }] });
  const said = /^\*(.*)\*: (\d+) rows\n<(.*)\|.*> \(until .* UTC\)$/.exec(slack.texts[0] ?? "");
  assert.deepEqual(said?.slice(1, 3), [ok.reportName, String(ok.rowCount)]);
  assert.equal(await sizeAt(said?.[3] ?? ""), ok.fileSizeBytes);

  const gone = await sent(actor, toChat);
  has(gone, { deliveryStatus: "Failed", deliveries: [{ attempts: 1 }] });
  assert.match(gone.deliveries[0].errorMessage, /answered 404 no_service, expected 200 ok/);
  const id = await generate(actor, toChat);
  await tried(actor, id);
  assert.equal((await hurry(t, actor, id)).deliveryStatus, "Delivered");
  assert.equal(slack.texts.length, 4);
  assert.ok(!t.logs.some((line) => line.includes("x7secretx7")), "no log line has the URL");
});

Deno.test("delivery options with a target are checked, and a deleted target fails the delivery", async () => {
  const bucket = await createTarget(actor, other.target);
  const chat = await createTarget(actor, { kind: "slack", webhookUrl: "https://hooks.example/x" });
  const foreign = await createTarget(await manager(), { kind: "slack", webhookUrl: slackUrl });
  const cases: [Record<string, unknown>, string][] = [
    [{ method: STORAGE, targetPath: "a", targetId: chat }, "targetId"],
    [{ method: WEBHOOK, targetId: bucket }, "targetId"],
    [{ method: WEBHOOK, targetId: foreign }, "targetId"],
    [{ method: EMAIL, recipients: ["a@b.test"], targetId: chat }, "targetId"],
    [{ method: 1, webhookFormat: "slack" }, "webhookFormat"],
    [{ method: WEBHOOK, targetId: chat, webhookUrl: "https://a.example" }, "webhookUrl"],
    [{ method: STORAGE, targetId: bucket }, "targetPath"],
  ];
  for (const [delivery, member] of cases) {
    const request = { templateId: "cells", format: CSV, delivery };
    invalid(await actor.post(`${REPORTS}/generate-async`, request), `delivery.${member}`);
  }
  const delivery = { method: STORAGE, targetId: bucket, targetPath: "{executionId}.csv" };
  const schedule = await createSchedule(actor, { delivery });
  assert.equal((await actor.delete(`${TARGETS}/${bucket}`)).status, 204);
  refused(await actor.get(`${TARGETS}/${bucket}`), 404, "REPORT_TARGET_NOT_FOUND");
  const { body } = await actor.post(`${SCHEDULES}/${schedule.id}/trigger`);
  has(await delivered(actor, body.id), { deliveries: [{ errorMessage: "The report target was deleted." }] });
  invalid(await actor.put(`${SCHEDULES}/${schedule.id}`, { name: "Later" }), "delivery.targetId");
});

Deno.test("a tenant signs its report webhooks with its own secret; the one before also signs for a day", async () => {
  const actor = await manager();
  const { tenantId } = actor;
  const path = "/api/v1/report-webhook-secret";
  const rotate = async (): Promise<string> => (await actor.post(`${path}/rotate`)).body.secret;
  await using hook = startHook();
  const signedBy = async (...secrets: string[]) => {
    await sent(actor, { method: WEBHOOK, webhookUrl: hook.url });
    const { body, headers } = hook.received.at(-1) ?? assert.fail("no message");
    for (const secret of secrets) new Webhook(secret).verify(body, headers);
    assert.equal(headers["webhook-signature"]?.split(" ").length, secrets.length);
  };
  const shared = platform.config.WEBHOOK_SECRET ?? "";
  assert.deepEqual((await actor.get(path)).body, { isOwn: false, createdAt: null, oldValidUntil: null });
  const { status, body: { secret: first, oldSecretHours } } = await actor.post(`${path}/rotate`);
  assert.deepEqual([status, oldSecretHours], [200, 24]);
  await signedBy(first, shared);
  await sql`update report_webhook_secrets set first_at = now() - interval '25 hours' where tenant_id = ${tenantId}`;
  await signedBy(first);
  const second = await rotate();
  await signedBy(second, first);
  await sql`update report_webhook_secrets set valid_until = now() - interval '1 second'
    where tenant_id = ${tenantId} and valid_until is not null`;
  await signedBy(second);
  const state = (await actor.get(path)).body;
  assert.equal(state.isOwn, true);
  assert.ok(!JSON.stringify(state).includes("whsec_"));
  await Promise.all([1, 2, 3].map(rotate));
  const kept = await sql`select valid_until from report_webhook_secrets where tenant_id = ${tenantId}`;
  const current = kept.filter(({ validUntil }) => validUntil === null);
  assert.deepEqual([current.length, kept.length], [1, 2], "one is current, of several at once; one is old");
  const audits = await sql`select a::text from audit_log a where action = 'reportWebhookSecret.rotate'`;
  assert.ok(audits.length >= 5 && !JSON.stringify(audits).includes("whsec_"));

  using _without = t.replace(({ config }) => config, { WEBHOOK_SECRET: null });
  const delivery = { method: WEBHOOK, webhookUrl: "https://a.example" };
  const request = { templateId: "cells", format: CSV, delivery };
  invalid(await (await t.actor()).post(`${REPORTS}/generate-async`, request), "delivery.method");
});

Deno.test("a redelivery during a delivery posts no Slack message twice", async () => {
  const held = Promise.withResolvers<void>();
  await using chat = startHook([[200, "ok"]], () => held.promise);
  const targetId = await createTarget(actor, { kind: "slack", webhookUrl: chat.url });
  const id = await generate(actor, { method: WEBHOOK, targetId });
  await until(() => chat.received.length, (count) => count === 1, { what: "the first message" });
  const delivery = { method: EMAIL, recipients: ["mail@example.test"] };
  assert.equal((await redeliver(actor, id, { delivery })).status, 202);
  const mails = () =>
    sql`select from report_deliveries where execution_id = ${id} and method = 2 and notification_id is not null`;
  await until(mails, ({ length }) => length === 1, { what: "the mail of the second job" });
  held.resolve();
  assert.equal((await delivered(actor, id)).deliveryStatus, "Delivered");
  assert.equal(chat.received.length, 1);
});

Deno.test("a document is delivered again to named recipients, or with other options", async () => {
  await using slack = startSlack();
  const chat = await createTarget(actor, { kind: "slack", webhookUrl: slack.url });
  const [one, two, three] = ["one", "two", "three"].map((name) =>
    `${name}-${crypto.randomUUID()}@example.test`
  );
  const { id } = await sent(actor, { method: EMAIL, recipients: [one, two] });
  const again = async (body: unknown) => {
    const answer = await redeliver(actor, id, body);
    assert.equal(answer.status, 202, JSON.stringify(answer.body));
    return answer;
  };
  const mailsTo = async (address = "") =>
    (await platform.outbox?.list() ?? []).filter(({ to }) => to.includes(address));
  const counts = async () => [(await mailsTo(one)).length, (await mailsTo(two)).length];
  assert.equal((await again({ recipients: [two] })).body.status, STATUS.Completed);
  await delivered(actor, id);
  assert.deepEqual(await counts(), [1, 2]);

  const delivery = { method: WEBHOOK, targetId: chat };
  await again({ delivery });
  const detail = await reached(actor, id, STATUS.Delivered);
  assert.equal(detail.deliveryStatus, "Delivered");
  assert.deepEqual(pluck(detail.deliveries, "method"), [EMAIL, EMAIL, WEBHOOK]);
  assert.equal(slack.texts.length, 1);
  await again({ delivery: { method: EMAIL, recipients: [one, three], emailSubject: "Once more" } });
  await delivered(actor, id);
  has(await mailsTo(three), [{ subject: "Once more" }]);
  assert.deepEqual(await counts(), [2, 2]);
  const read = async () => (await actor.get(`${REPORTS}/${id}`)).body;
  assert.equal((await read()).deliveries.length, 4);
  await again(undefined); // nothing has failed
  assert.equal((await read()).deliveryStatus, "Delivered");

  const cases: [Record<string, unknown>, string][] = [
    [{ recipients: [one, "who@example.test"] }, "recipients.1"],
    [{ recipients: [one], delivery }, "recipients"],
    [{ delivery: { method: 1 } }, "delivery.method"],
    [{ delivery: { method: WEBHOOK, targetId: id } }, "delivery.targetId"],
  ];
  for (const [body, member] of cases) invalid(await redeliver(actor, id, body), member);
});

const SECRET = other.target.secretAccessKey;
const slackUrl = "https://hooks.slack.example/services/T0/B0/x7secretx7";

Deno.test("the secrets of a target are stored encrypted, and are in no answer, audit row or log line", async () => {
  const actor = await manager();
  const partner = { ...other.target, name: "Partner", prefix: "/in/2026/" };
  const { body: created } = await actor.post(TARGETS, partner);
  const hidden = { secretAccessKey: "***", webhookUrl: null };
  has(created, { ...partner, ...hidden, pathStyle: true, prefix: "in/2026" });
  await createTarget(actor, { name: "chat", kind: "Slack", webhookUrl: slackUrl });
  const colleague = await t.actor({ tenantId: actor.tenantId ?? "" });
  const { items } = (await colleague.get(TARGETS)).body;
  has(items, [{ name: "chat", webhookUrl: "***" }, { name: "Partner", webhookUrl: null }]);
  has((await colleague.get(`${TARGETS}?kind=SLACK`)).body.items, [{ name: "chat", kind: "slack" }]);
  const sealed = async () =>
    (await sql`select secret from report_targets where id = ${created.id}`)[0]?.secret;
  const before = await sealed();
  await accepted(actor.put(`${TARGETS}/${created.id}`, { secretAccessKey: "another-secret" }), 200);
  assert.notEqual(await sealed(), before);
  const stored = await sql`select t::text as row from report_targets t`;
  const audits = await sql`select a::text as row from audit_log a where action like 'reportTarget.%'`;
  assert.ok(audits.length >= 3);
  for (const secret of [SECRET, "another-secret", "x7secretx7"]) {
    assert.ok(!JSON.stringify([...stored, ...audits]).includes(secret), secret);
    assert.ok(!t.logs.some((line) => line.includes(secret)), `no log line has ${secret}`);
  }
});

Deno.test("targets are refused with a taken name, or with fields that do not fit their kind", async () => {
  const id = await createTarget(actor, { ...other.target, name: "Taken" });
  const again = await actor.post(TARGETS, { ...other.target, name: "TAKEN" });
  refused(again, 409, "REPORT_TARGET_ALREADY_EXISTS");
  const slack = { kind: "slack", webhookUrl: slackUrl };
  const cases: [Record<string, unknown>, ...string[]][] = [
    [{ kind: "s3" }, "endpoint", "bucket", "accessKeyId", "secretAccessKey"],
    [{ kind: "slack" }, "webhookUrl"],
    [{ ...slack, webhookUrl: "***" }, "webhookUrl"],
    [{ ...slack, webhookUrl: "http://10.0.0.1/x" }, "webhookUrl"],
    [{ ...slack, bucket: "partner" }, "bucket"],
  ];
  const wrong: Record<string, string[]> = {
    endpoint: ["http://169.254.169.254", "ftp://store.example", "https://s.example/?a=b"],
    bucket: ["a..b", "x".repeat(64)],
    prefix: ["../other", "a//b"],
    accessKeyId: ["a\r\nX: y", "clé"],
    region: ["a b"],
  };
  for (const [field, values] of Object.entries(wrong)) {
    for (const value of values) cases.push([{ ...other.target, [field]: value }, field]);
  }
  for (const [body, ...fields] of cases) {
    invalid(await actor.post(TARGETS, { name: crypto.randomUUID(), ...body }), ...fields);
  }
  invalid(await actor.put(`${TARGETS}/${id}`, { kind: "slack" }), "kind");
});

Deno.test("a test of a target writes an object or posts a message, and says why it cannot", async () => {
  const tried = async (id: string) => (await actor.post(`${TARGETS}/${id}/test`)).body;
  const works = { succeeded: true, reason: null };
  const id = await createTarget(actor, other.target);
  assert.deepEqual(await tried(id), works);
  assert.equal(await other.objects.head("from/steward/steward-test.txt"), null, "it is deleted again");
  const changes: [Record<string, unknown>, RegExp][] = [
    [{ secretAccessKey: "wrong" }, /403 SignatureDoesNotMatch/],
    [{ secretAccessKey: SECRET, bucket: "missing" }, /404 NoSuchBucket/],
    [{ endpoint: "http://127.0.0.1:9" }, /connection was refused/],
  ];
  for (const [change, reason] of changes) {
    assert.equal((await actor.put(`${TARGETS}/${id}`, change)).status, 200);
    const { succeeded, reason: given } = await tried(id);
    assert.equal(succeeded, false);
    assert.match(given, reason);
  }
  await sql`update report_targets set endpoint = 'http://127.0.0.2:9' where id = ${id}`;
  assert.match((await tried(id)).reason, /private/);

  const slack = startSlack([404, "no_service"], [200, "<html>"]);
  const chat = await createTarget(actor, { kind: "slack", webhookUrl: slack.url });
  assert.match((await tried(chat)).reason, /404 no_service/);
  assert.match((await tried(chat)).reason, /answered 200, expected 200 ok/);
  assert.deepEqual(await tried(chat), works);
  assert.match(slack.texts[2] ?? "", /test of this report target/);
  await slack.stop();
  assert.match((await tried(chat)).reason, /could not be reached/);
});

Deno.test("without TARGET_KEYS there are no targets", async () => {
  const id = await createTarget(actor, other.target);
  using _without = t.replace(({ config }) => config, { TARGET_KEYS: null });
  const made = await actor.post(TARGETS, { name: "No", ...other.target });
  for (const answer of [made, await actor.post(`${TARGETS}/${id}/test`)]) {
    refused(answer, 503, "REPORT_TARGET_UNAVAILABLE");
  }
});

Deno.test("a target whose name resolves to a private address that is not allowed gets nothing", async () => {
  const targetId = await createTarget(actor, { ...other.target, endpoint: "https://store.example" });
  await sql`update report_targets set endpoint = 'http://127.0.0.2:9' where id = ${targetId}`;
  const failed = await sent(actor, { method: STORAGE, targetId, targetPath: "a.csv" });
  assert.equal(failed.deliveryStatus, "Failed");
  assert.match(failed.deliveries[0].errorMessage, /address of the object store is private/);
});

Deno.test("a delivery with other options is made although an attempt with the former ones still runs", async () => {
  const held = Promise.withResolvers<void>();
  const ok: [number, string] = [200, "ok"];
  await using hook = startHook([ok, ok, ok], (count) => count === 1 ? held.promise : Promise.resolve());
  const webhook = { method: WEBHOOK, webhookUrl: hook.url };
  const id = await generate(actor, webhook);
  await until(() => hook.received.length, (count) => count === 1, { what: "the first message" });
  const delivery = { ...webhook, webhookFormat: "slack" };
  assert.equal((await redeliver(actor, id, { delivery })).status, 202);
  await until(() => hook.received.length, (count) => count === 2, { what: "the Slack message" });
  held.resolve();
  assert.equal((await delivered(actor, id)).deliveryStatus, "Delivered");
  assert.ok("text" in JSON.parse(hook.received[1]?.body ?? ""));
});
