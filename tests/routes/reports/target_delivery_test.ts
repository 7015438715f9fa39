import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { Webhook } from "standardwebhooks";
import type { Actor } from "../../support/setup.ts";
import { until } from "../../support/until.ts";
import { fetchDocument, reached, setupSharedReports, STATUS } from "./support.ts";
import {
  createTarget,
  delivered,
  generate,
  MANAGER,
  startOtherStore,
  startSlack,
  TARGETS,
} from "./target_support.ts";

const other = await startOtherStore();
const t = await setupSharedReports({ OUTBOUND_ALLOW: "127.0.0.1" });
Deno.test.afterAll(async () => {
  await t.stop();
  await other.stop();
});
const { platform } = t.steward;
const { sql } = platform;
const manager = () => t.actor({ permissions: MANAGER });

const STORAGE = 3;
const WEBHOOK = 4;

const sha256 = async (content: ReadableStream<Uint8Array> | Uint8Array) => {
  const hash = createHash("sha256");
  for await (const chunk of content instanceof Uint8Array ? [content] : content) hash.update(chunk);
  return hash.digest("hex");
};

/** Runs the delivery job of an execution at once, again and again, until the delivery has ended. */
async function hurry(actor: Actor, id: string) {
  const [row] = await sql<
    { jobId: string }[]
  >`select delivery_job_id as job_id from report_executions where id = ${id}`;
  return (await until(async () => {
    await actor.post(`/api/v1/jobs/${row?.jobId}/retry-now`);
    return await actor.get(`/api/v1/reports/${id}`);
  }, ({ body }) => body.deliveryStatus !== "Pending")).body;
}

Deno.test("a document of several parts is streamed into the bucket of somebody else", async () => {
  const actor = await manager();
  const targetId = await createTarget(actor, other.target);
  const id = await generate(
    actor,
    { method: STORAGE, targetId, targetPath: "monthly/{templateId}-{executionId}.csv" },
    { templateId: "lines", parameters: { rows: 2_000, width: 10_000 } },
  );
  const detail = await delivered(actor, id);
  assert.deepEqual(
    [detail.status, detail.deliveryStatus],
    [STATUS.Delivered, "Delivered"],
    detail.errorMessage,
  );
  assert.ok(detail.fileSizeBytes > 16 * 1024 * 1024);
  const [delivery] = detail.deliveries;
  assert.deepEqual([delivery.method, delivery.targetId, delivery.recipient], [
    3,
    targetId,
    `monthly/lines-${id}.csv`,
  ]);
  const stored = await other.objects.read(`from/steward/monthly/lines-${id}.csv`);
  assert.equal(await sha256(stored), await sha256((await fetchDocument(actor, id)).bytes));

  const jobs = await sql`select j::text as row from jobs j where j.tenant_id = ${actor.tenantId}`;
  const told = [...jobs.map(({ row }) => row), ...t.logs].join("\n");
  for (
    const secret of [
      other.target.bucket,
      other.target.secretAccessKey,
      other.target.accessKeyId,
      "from/steward",
    ]
  ) {
    assert.ok(!told.includes(secret), `no job and no log line has ${secret}`);
  }
});

Deno.test("wrong credentials fail at once with the store's code, and the delivery can be repeated", async () => {
  const actor = await manager();
  const targetId = await createTarget(actor, { ...other.target, secretAccessKey: "wrong" });
  const id = await generate(actor, { method: STORAGE, targetId, targetPath: "{executionId}.csv" });
  const failed = await delivered(actor, id);
  assert.deepEqual([failed.status, failed.deliveryStatus], [STATUS.Completed, "Failed"]);
  assert.match(failed.deliveries[0].errorMessage, /answered 403 SignatureDoesNotMatch/);
  const { secretAccessKey } = other.target;
  assert.equal((await actor.put(`${TARGETS}/${targetId}`, { secretAccessKey })).status, 200);
  assert.equal((await actor.post(`/api/v1/reports/${id}/redeliver`)).status, 202);
  assert.equal((await delivered(actor, id)).deliveryStatus, "Delivered");
  assert.ok(await other.objects.head(`from/steward/${id}.csv`));
});

Deno.test("a store that is away is tried again until it is back", async () => {
  const actor = await manager();
  const targetId = await createTarget(actor, other.target);
  await other.proxy.refuse();
  const id = await generate(actor, { method: STORAGE, targetId, targetPath: "{executionId}.csv" });
  const away = await until(
    () => actor.get(`/api/v1/reports/${id}`),
    ({ body }) => body.deliveries[0]?.attempts > 0,
  );
  assert.deepEqual([away.body.deliveryStatus, away.body.deliveries[0].status], ["Pending", "Owed"]);
  assert.match(away.body.deliveries[0].errorMessage, /connection was refused/);
  await other.proxy.pass();
  assert.equal((await hurry(actor, id)).deliveryStatus, "Delivered");
});

Deno.test("a target whose name resolves to a private address that is not allowed gets nothing", async () => {
  const actor = await manager();
  const targetId = await createTarget(actor, { ...other.target, endpoint: "https://store.example" });
  await sql`update report_targets set endpoint = 'http://127.0.0.2:9' where id = ${targetId}`;
  const failed = await delivered(
    actor,
    await generate(actor, { method: STORAGE, targetId, targetPath: "a.csv" }),
  );
  assert.equal(failed.deliveryStatus, "Failed");
  assert.match(failed.deliveries[0].errorMessage, /address of the object store is private/);
});

Deno.test("a Slack target gets the name, the rows and a link; its refusals are final, outages are not", async () => {
  const actor = await manager();
  const slack = startSlack([200, "ok"], [404, "no_service"], [503, "busy"]);
  const targetId = await createTarget(actor, { kind: "slack", name: "Team chat", webhookUrl: slack.url });
  const ok = await delivered(actor, await generate(actor, { method: WEBHOOK, targetId }));
  assert.deepEqual([ok.deliveryStatus, ok.deliveries[0].recipient], ["Delivered", "Team chat"]);
  const [, name, rows, link = ""] =
    /^\*(.*)\*: (\d+) rows\n<(.*)\|.*> \(until .* UTC\)$/.exec(slack.texts[0] ?? "") ?? [];
  assert.deepEqual([name, Number(rows)], [ok.reportName, ok.rowCount]);
  const document = await fetch(link);
  assert.equal((await document.arrayBuffer()).byteLength, ok.fileSizeBytes);

  const gone = await delivered(actor, await generate(actor, { method: WEBHOOK, targetId }));
  assert.deepEqual([gone.deliveryStatus, gone.deliveries[0].attempts], ["Failed", 1]);
  assert.match(gone.deliveries[0].errorMessage, /answered 404 no_service, expected 200 ok/);
  const id = await generate(actor, { method: WEBHOOK, targetId });
  await until(() => actor.get(`/api/v1/reports/${id}`), ({ body }) => body.deliveries[0]?.attempts > 0);
  const back = await hurry(actor, id);
  assert.deepEqual([back.deliveryStatus, slack.texts.length], ["Delivered", 4]);
  await slack.stop();
  assert.ok(!t.logs.some((line) => line.includes("x7secretx7")), "no log line has the URL");
});

Deno.test("a webhook URL can get Slack messages without a target", async () => {
  const actor = await t.actor();
  const slack = startSlack();
  const delivery = { method: WEBHOOK, webhookUrl: slack.url, webhookFormat: "slack" };
  assert.equal((await delivered(actor, await generate(actor, delivery))).deliveryStatus, "Delivered");
  await slack.stop();
  assert.match(slack.texts[0] ?? "", /^\*Cells\*: \d+ rows\n</);
});

Deno.test("delivery options with a target are checked, and a deleted target fails the delivery", async () => {
  const actor = await manager();
  const bucket = await createTarget(actor, other.target);
  const chat = await createTarget(actor, { kind: "slack", webhookUrl: "https://hooks.example/x" });
  const refused = async (delivery: unknown) => {
    const { status, body } = await actor.post("/api/v1/reports/generate-async", {
      templateId: "cells",
      format: 3,
      delivery,
    });
    assert.equal(status, 400, JSON.stringify(body));
    return Object.keys(body.errors);
  };
  assert.deepEqual(await refused({ method: STORAGE, targetPath: "a", targetId: chat }), [
    "delivery.targetId",
  ]);
  assert.deepEqual(await refused({ method: WEBHOOK, targetId: bucket }), ["delivery.targetId"]);
  assert.deepEqual(await refused({ method: WEBHOOK, targetId: crypto.randomUUID() }), ["delivery.targetId"]);
  assert.deepEqual(await refused({ method: 2, recipients: ["a@b.test"], targetId: chat }), [
    "delivery.targetId",
  ]);
  assert.deepEqual(await refused({ method: 1, webhookFormat: "slack" }), ["delivery.webhookFormat"]);
  assert.deepEqual(
    await refused({ method: WEBHOOK, targetId: chat, webhookUrl: "https://a.example" }),
    ["delivery.webhookUrl"],
  );
  assert.deepEqual(await refused({ method: STORAGE, targetId: bucket }), ["delivery.targetPath"]);

  const { status, body: schedule } = await actor.post("/api/v1/reports/schedules", {
    templateId: "cells",
    name: "To the partner",
    cronExpression: "0 6 * * 1",
    format: 3,
    delivery: { method: STORAGE, targetId: bucket, targetPath: "{executionId}.csv" },
  });
  assert.equal(status, 201);
  assert.equal((await actor.delete(`${TARGETS}/${bucket}`)).status, 204);
  const { body } = await actor.post(`/api/v1/reports/schedules/${schedule.id}/trigger`);
  const failed = await delivered(actor, body.id);
  assert.equal(failed.deliveries[0].errorMessage, "The report target was deleted.");
  const renewed = await actor.put(`/api/v1/reports/schedules/${schedule.id}`, { name: "Later" });
  assert.deepEqual([renewed.status, Object.keys(renewed.body.errors)], [400, ["delivery.targetId"]]);
});

Deno.test("a tenant signs its report webhooks with its own secret; the one before also signs for a day", async () => {
  const actor = await manager();
  const path = "/api/v1/report-webhook-secret";
  const messages: { body: string; headers: Record<string, string> }[] = [];
  const server = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen: () => {} }, async (request) => {
    messages.push({ body: await request.text(), headers: Object.fromEntries(request.headers) });
    return new Response(null, { status: 204 });
  });
  const signedBy = async (...secrets: string[]) => {
    const delivery = { method: WEBHOOK, webhookUrl: `http://127.0.0.1:${server.addr.port}` };
    await delivered(actor, await generate(actor, delivery));
    const { body, headers } = messages.at(-1) ?? { body: "", headers: {} };
    for (const secret of secrets) new Webhook(secret).verify(body, headers);
    assert.equal(headers["webhook-signature"]?.split(" ").length, secrets.length);
  };
  const shared = platform.config.WEBHOOK_SECRET ?? "";
  assert.deepEqual((await actor.get(path)).body, { isOwn: false, createdAt: null, oldValidUntil: null });
  await signedBy(shared);
  const { status, body: first } = await actor.post(`${path}/rotate`);
  assert.deepEqual([status, first.oldSecretHours], [200, 24]);
  await signedBy(first.secret, shared);
  await sql`update report_webhook_secrets set first_at = now() - interval '25 hours' where tenant_id = ${actor.tenantId}`;
  await signedBy(first.secret);
  const { body: second } = await actor.post(`${path}/rotate`);
  await signedBy(second.secret, first.secret);
  await sql`update report_webhook_secrets set valid_until = now() - interval '1 second'
    where tenant_id = ${actor.tenantId} and valid_until is not null`;
  await signedBy(second.secret);
  const state = (await actor.get(path)).body;
  assert.equal(state.isOwn, true);
  assert.ok(!JSON.stringify(state).includes("whsec_"));
  await Promise.all([1, 2, 3].map(() => actor.post(`${path}/rotate`)));
  const current =
    await sql`select from report_webhook_secrets where tenant_id = ${actor.tenantId} and valid_until is null`;
  assert.equal(current.length, 1, "one of several rotations at once is current");
  const [kept] = await sql<{ n: number }[]>`
    select count(*)::int as n from report_webhook_secrets where tenant_id = ${actor.tenantId}`;
  assert.equal(kept?.n, 2, "the current secret and the previous one");

  const visitor = await t.actor({ tenantId: actor.tenantId ?? "" });
  for (const answer of [await visitor.get(path), await visitor.post(`${path}/rotate`)]) {
    assert.deepEqual([answer.status, answer.body.code], [403, "MISSING_PERMISSION"]);
  }
  const keyed = await actor.post(`${path}/rotate`, undefined, { "idempotency-key": crypto.randomUUID() });
  assert.equal(keyed.status, 400, "a secret is never stored for a repeat");
  const audits =
    await sql`select a::text as row from audit_log a where action = 'reportWebhookSecret.rotate'`;
  assert.ok(audits.length >= 5 && !JSON.stringify(audits).includes("whsec_"));

  const restore = t.replace(({ config }) => config, { WEBHOOK_SECRET: null });
  try {
    await signedBy(
      (await actor.post(`${path}/rotate`)).body.secret,
      ...await sql<{ secret: string }[]>`
      select secret from report_webhook_secrets where tenant_id = ${actor.tenantId} and valid_until > now()`
        .then((rows) => rows.map(({ secret }) => secret)),
    );
    const delivery = { method: WEBHOOK, webhookUrl: "https://a.example" };
    const body = { templateId: "cells", format: 3, delivery };
    const refused = await (await t.actor()).post("/api/v1/reports/generate-async", body);
    assert.deepEqual([refused.status, Object.keys(refused.body.errors)], [400, ["delivery.method"]]);
  } finally {
    restore();
    await server.shutdown();
  }
});

Deno.test("a redelivery during a delivery posts no Slack message twice", async () => {
  const actor = await manager();
  const held = Promise.withResolvers<void>();
  const texts: string[] = [];
  const chat = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen: () => {} }, async (request) => {
    texts.push(await request.text());
    await held.promise;
    return new Response("ok");
  });
  const webhookUrl = `http://127.0.0.1:${chat.addr.port}/services/T0/B0/held`;
  const targetId = await createTarget(actor, { kind: "slack", webhookUrl });
  const id = await generate(actor, { method: WEBHOOK, targetId });
  await until(() => Promise.resolve(texts), ({ length }) => length === 1, { what: "the first message" });
  const delivery = { method: 2, recipients: ["mail@example.test"] };
  assert.equal((await actor.post(`/api/v1/reports/${id}/redeliver`, { delivery })).status, 202);
  await until(
    () =>
      sql`select from report_deliveries where execution_id = ${id} and method = 2 and notification_id is not null`,
    ({ length }) => length === 1,
    { what: "the mail of the second job" },
  );
  assert.equal(texts.length, 1);
  held.resolve();
  assert.equal((await delivered(actor, id)).deliveryStatus, "Delivered");
  assert.equal(texts.length, 1);
  await chat.shutdown();
});

Deno.test("a delivery with other options is made although an attempt with the former ones still runs", async () => {
  const actor = await t.actor();
  const held = Promise.withResolvers<void>();
  const bodies: string[] = [];
  const receiver = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen: () => {} }, async (request) => {
    bodies.push(await request.text());
    if (bodies.length === 1) await held.promise;
    return new Response("ok");
  });
  const webhook = { method: WEBHOOK, webhookUrl: `http://127.0.0.1:${receiver.addr.port}/hook` };
  const id = await generate(actor, webhook);
  await until(() => bodies, ({ length }) => length === 1, { what: "the first message" });
  const delivery = { ...webhook, webhookFormat: "slack" };
  assert.equal((await actor.post(`/api/v1/reports/${id}/redeliver`, { delivery })).status, 202);
  await until(() => bodies, ({ length }) => length === 2, { what: "the Slack message", withinMs: 20_000 });
  held.resolve();
  assert.equal((await delivered(actor, id)).deliveryStatus, "Delivered");
  assert.ok("text" in JSON.parse(bodies[1] ?? ""));
  await receiver.shutdown();
});

Deno.test("a document is delivered again to named recipients, or with other options", async () => {
  const actor = await manager();
  const slack = startSlack();
  const chat = await createTarget(actor, { kind: "slack", webhookUrl: slack.url });
  const id = await generate(actor, { method: 2, recipients: ["one@example.test", "two@example.test"] });
  await delivered(actor, id);
  const again = (body: unknown, headers?: Record<string, string>) =>
    actor.post(`/api/v1/reports/${id}/redeliver`, body, headers);
  const mails = async (address: string) =>
    (await platform.outbox?.list() ?? []).filter(({ to }) => to.includes(address)).length;

  const named = await again({ recipients: ["two@example.test"] });
  assert.deepEqual([named.status, named.body.status], [202, STATUS.Completed]);
  await delivered(actor, id);
  assert.deepEqual([await mails("one@example.test"), await mails("two@example.test")], [1, 2]);

  const key = { "idempotency-key": crypto.randomUUID() };
  const delivery = { method: WEBHOOK, targetId: chat };
  assert.equal((await again({ delivery }, key)).status, 202);
  const repeated = await again({ delivery }, key);
  assert.equal(repeated.headers.get("idempotency-replayed"), "true");
  const detail = await reached(actor, id, STATUS.Delivered);
  assert.equal(detail.deliveryStatus, "Delivered");
  assert.deepEqual(detail.deliveries.map(({ method }: { method: number }) => method), [2, 2, WEBHOOK]);
  assert.equal(slack.texts.length, 1);
  const elsewhere = {
    method: 2,
    recipients: ["one@example.test", "three@example.test"],
    emailSubject: "Once more",
  };
  assert.equal((await again({ delivery: elsewhere })).status, 202);
  await delivered(actor, id);
  const last = (await platform.outbox?.list() ?? []).find(({ to }) => to.includes("three@example.test"));
  assert.equal(last?.subject, "Once more");
  assert.deepEqual([await mails("one@example.test"), await mails("two@example.test")], [2, 2]);
  assert.equal((await actor.get(`/api/v1/reports/${id}`)).body.deliveries.length, 4);
  assert.equal((await again(undefined)).status, 202, "nothing has failed");
  assert.equal((await actor.get(`/api/v1/reports/${id}`)).body.deliveryStatus, "Delivered");

  const errors = async (body: unknown) => {
    const answer = await again(body);
    assert.equal(answer.status, 400, JSON.stringify(answer.body));
    return Object.keys(answer.body.errors);
  };
  assert.deepEqual(await errors({ recipients: ["one@example.test", "who@example.test"] }), ["recipients.1"]);
  assert.deepEqual(await errors({ recipients: ["one@example.test"], delivery }), ["recipients"]);
  assert.deepEqual(await errors({ delivery: { method: 1 } }), ["delivery.method"]);
  assert.deepEqual(await errors({ delivery: { method: WEBHOOK, targetId: id } }), ["delivery.targetId"]);
  const audits = await sql<{ after: string }[]>`select after::text from audit_log
    where action = 'report.redeliver' and target_id = ${id}`;
  assert.equal(audits.length, 3);
  await slack.stop();
});
