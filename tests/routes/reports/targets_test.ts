import assert from "node:assert/strict";
import { setupSharedReports } from "./support.ts";
import { createTarget, MANAGER, startOtherStore, startSlack, TARGETS } from "./target_support.ts";

const other = await startOtherStore();
const t = await setupSharedReports({ OUTBOUND_ALLOW: "127.0.0.1" });
Deno.test.afterAll(async () => {
  await t.stop();
  await other.stop();
});
const { sql } = t.steward.platform;
const SECRET = other.target.secretAccessKey;
const slackUrl = "https://hooks.slack.example/services/T0/B0/x7secretx7";

Deno.test("a target is created, listed, changed and deleted; its secret is never shown and stored encrypted", async () => {
  const actor = await t.actor({ permissions: MANAGER });
  const created = await actor.post(TARGETS, { name: "Partner", ...other.target });
  assert.equal(created.status, 201, JSON.stringify(created.body));
  const { id, createdAt, updatedAt, createdBy, ...rest } = created.body;
  assert.ok(createdAt === updatedAt && createdBy === actor.userId);
  assert.deepEqual(rest, {
    ...other.target,
    name: "Partner",
    pathStyle: true,
    secretAccessKey: "***",
    webhookUrl: null,
  });
  const slack = await createTarget(actor, { name: "chat", kind: "slack", webhookUrl: slackUrl });
  const colleague = await t.actor({ tenantId: actor.tenantId ?? "" });
  const { body: { items } } = await colleague.get(TARGETS);
  assert.deepEqual(
    items.map(({ name }: { name: string }) => name),
    ["chat", "Partner"],
    "all may choose one",
  );
  assert.equal(items[0].webhookUrl, "***");
  assert.deepEqual((await colleague.get(`${TARGETS}?kind=s3`)).body.items.length, 1);

  const path = `${TARGETS}/${id}`;
  const read = await actor.get(path);
  const etag = read.headers.get("etag") ?? "";
  const put = (body: unknown, ifMatch = etag) => actor.put(path, body, { "if-match": ifMatch });
  const unchanged = await put(read.body);
  assert.deepEqual(
    [unchanged.status, unchanged.headers.get("etag")],
    [200, etag],
    "its own answer changes nothing",
  );
  const renamed = await put({ name: "Partner 2", prefix: "/in/2026/" });
  assert.deepEqual([renamed.status, renamed.body.name, renamed.body.prefix], [200, "Partner 2", "in/2026"]);
  const stale = await put({ name: "Partner 3" });
  assert.deepEqual([stale.status, stale.body.code], [412, "PRECONDITION_FAILED"]);
  const before = await sql<{ secret: string }[]>`select secret from report_targets where id = ${id}`;
  assert.equal((await actor.put(path, { secretAccessKey: "another-secret" })).status, 200);
  const after = await sql<{ secret: string }[]>`select secret from report_targets where id = ${id}`;
  assert.notEqual(after[0]?.secret, before[0]?.secret);

  const stored = await sql`select t::text as row from report_targets t`;
  const audits = await sql`select a::text as row from audit_log a where action like 'reportTarget.%'`;
  assert.ok(audits.length >= 4);
  for (const secret of [SECRET, "another-secret", "x7secretx7"]) {
    assert.ok(!JSON.stringify([...stored, ...audits]).includes(secret), secret);
    assert.ok(!t.logs.some((line) => line.includes(secret)), `no log line has ${secret}`);
  }
  assert.equal((await actor.delete(path)).status, 204);
  assert.deepEqual((await actor.get(path)).body.code, "REPORT_TARGET_NOT_FOUND");
  assert.equal((await actor.delete(`${TARGETS}/${slack}`)).status, 204);
});

Deno.test("targets are refused without permission, with a taken name, or with fields that do not fit their kind", async () => {
  const actor = await t.actor({ permissions: MANAGER });
  const visitor = await t.actor({ tenantId: actor.tenantId ?? "" });
  const refused = await visitor.post(TARGETS, { name: "Mine", ...other.target });
  assert.deepEqual([refused.status, refused.body.code], [403, "MISSING_PERMISSION"]);
  const id = await createTarget(actor, { ...other.target, name: "Taken" });
  const again = await actor.post(TARGETS, { ...other.target, name: "TAKEN" });
  assert.deepEqual([again.status, again.body.code], [409, "REPORT_TARGET_ALREADY_EXISTS"]);

  const mistakes = async (body: Record<string, unknown>) => {
    const { status, body: { code, errors } } = await actor.post(TARGETS, {
      name: crypto.randomUUID(),
      ...body,
    });
    assert.deepEqual([status, code], [400, "VALIDATION_ERROR"]);
    return Object.keys(errors);
  };
  assert.deepEqual(await mistakes({ kind: "s3" }), ["endpoint", "bucket", "accessKeyId", "secretAccessKey"]);
  assert.deepEqual(await mistakes({ kind: "ftp" }), ["kind"]);
  assert.deepEqual(await mistakes({ kind: "slack" }), ["webhookUrl"]);
  assert.deepEqual(await mistakes({ kind: "slack", webhookUrl: "***" }), ["webhookUrl"]);
  assert.deepEqual(await mistakes({ kind: "slack", webhookUrl: "http://10.0.0.1/x" }), ["webhookUrl"]);
  assert.deepEqual(await mistakes({ kind: "slack", webhookUrl: slackUrl, bucket: "partner" }), ["bucket"]);
  for (
    const endpoint of [
      "http://169.254.169.254",
      "http://10.1.2.3:9000",
      "ftp://store.example",
      "https://s.example/?a=b",
    ]
  ) {
    assert.deepEqual(await mistakes({ ...other.target, endpoint }), ["endpoint"], endpoint);
  }
  for (const bucket of ["a", "a/b", "a..b", "-abc", "x".repeat(64)]) {
    assert.deepEqual(await mistakes({ ...other.target, bucket }), ["bucket"], bucket);
  }
  for (const prefix of ["../other", "a//b", "a/./b"]) {
    assert.deepEqual(await mistakes({ ...other.target, prefix }), ["prefix"], prefix);
  }
  for (const field of ["accessKeyId", "region"]) {
    for (const word of ["a\r\nX: y", "clé", "a b"]) {
      assert.deepEqual(await mistakes({ ...other.target, [field]: word }), [field], word);
    }
  }
  const kind = await actor.put(`${TARGETS}/${id}`, { kind: "slack" });
  assert.deepEqual([kind.status, Object.keys(kind.body.errors)], [400, ["kind"]]);
  const cleared = await actor.put(`${TARGETS}/${id}`, { secretAccessKey: null });
  assert.deepEqual([cleared.status, Object.keys(cleared.body.errors)], [400, ["secretAccessKey"]]);
});

Deno.test("a target belongs to its tenant", async () => {
  const id = await createTarget(await t.actor({ permissions: MANAGER }), other.target);
  const outsider = await t.actor({ permissions: MANAGER });
  for (const [method, path] of [["get", ""], ["put", ""], ["delete", ""], ["post", "/test"]] as const) {
    const answer = await outsider[method](
      `${TARGETS}/${id}${path}`,
      method === "put" ? { name: "Mine" } : undefined,
    );
    assert.deepEqual([answer.status, answer.body.code], [404, "REPORT_TARGET_NOT_FOUND"], method);
  }
  assert.deepEqual((await outsider.get(TARGETS)).body.items, []);
  const delivery = { method: 3, targetPath: "a.csv", targetId: id };
  const used = await outsider.post("/api/v1/reports/generate-async", {
    templateId: "cells",
    format: 3,
    delivery,
  });
  assert.deepEqual([used.status, Object.keys(used.body.errors)], [400, ["delivery.targetId"]]);
});

Deno.test("a test of a target writes an object or posts a message, and says why it cannot", async () => {
  const actor = await t.actor({ permissions: MANAGER });
  const tried = async (id: string) => (await actor.post(`${TARGETS}/${id}/test`)).body;
  const id = await createTarget(actor, other.target);
  assert.deepEqual(await tried(id), { succeeded: true, reason: null });
  assert.equal(await other.objects.head("from/steward/steward-test.txt"), null, "it is deleted again");
  assert.equal((await actor.put(`${TARGETS}/${id}`, { secretAccessKey: "wrong" })).status, 200);
  const wrong = await tried(id);
  assert.equal(wrong.succeeded, false);
  assert.match(wrong.reason, /403 SignatureDoesNotMatch/);
  assert.equal(
    (await actor.put(`${TARGETS}/${id}`, { secretAccessKey: SECRET, bucket: "missing" })).status,
    200,
  );
  assert.match((await tried(id)).reason, /404 NoSuchBucket/);
  assert.equal((await actor.put(`${TARGETS}/${id}`, { endpoint: "http://127.0.0.1:9" })).status, 200);
  assert.match((await tried(id)).reason, /connection was refused/);
  await sql`update report_targets set endpoint = 'http://127.0.0.2:9' where id = ${id}`;
  assert.match((await tried(id)).reason, /private/);

  const slack = startSlack([404, "no_service"], [200, "<html>"]);
  const chat = await createTarget(actor, { kind: "slack", webhookUrl: slack.url });
  assert.match((await tried(chat)).reason, /404 no_service/);
  assert.match((await tried(chat)).reason, /answered 200, expected 200 ok/);
  assert.deepEqual(await tried(chat), { succeeded: true, reason: null });
  assert.match(slack.texts[2] ?? "", /test of this report target/);
  await slack.stop();
  assert.match((await tried(chat)).reason, /could not be reached/);
  const rows =
    await sql`select after from audit_log where action = 'reportTarget.test' and target_id = ${chat}`;
  assert.equal(rows.length, 4);
});

Deno.test("without TARGET_KEYS there are no targets", async () => {
  const actor = await t.actor({ permissions: MANAGER });
  const id = await createTarget(actor, other.target);
  const restore = t.replace(({ config }) => config, { TARGET_KEYS: null });
  try {
    for (
      const answer of [
        await actor.post(TARGETS, { name: "No", ...other.target }),
        await actor.post(`${TARGETS}/${id}/test`),
      ]
    ) {
      assert.deepEqual([answer.status, answer.body.code], [503, "REPORT_TARGET_UNAVAILABLE"]);
    }
  } finally {
    restore();
  }
});
