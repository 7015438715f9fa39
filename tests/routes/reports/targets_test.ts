import assert from "node:assert/strict";
import { has, invalid, pluck, refused } from "../../support/answers.ts";
import { accepted } from "../../support/outcomes.ts";
import { setupSharedReports } from "./support.ts";
import { createTarget, MANAGER, startOtherStore, startSlack, TARGETS } from "./target_support.ts";

const other = await startOtherStore();
const t = await setupSharedReports();
Deno.test.afterAll(async () => {
  await t.stop();
  await other.stop();
});
const { sql } = t.steward.platform;
const SECRET = other.target.secretAccessKey;
const slackUrl = "https://hooks.slack.example/services/T0/B0/x7secretx7";

Deno.test("a target is created, listed, changed and deleted; its secret is never shown and stored encrypted", async () => {
  const actor = await t.actor({ permissions: MANAGER });
  const created = await accepted(actor.post(TARGETS, { name: "Partner", ...other.target }), 201);
  const { id, createdAt, updatedAt, createdBy, ...rest } = created;
  assert.ok(createdAt === updatedAt && createdBy === actor.userId);
  const hidden = { secretAccessKey: "***", webhookUrl: null };
  assert.deepEqual(rest, { ...other.target, name: "Partner", pathStyle: true, ...hidden });
  const slack = await createTarget(actor, { name: "chat", kind: "slack", webhookUrl: slackUrl });
  const colleague = await t.actor({ tenantId: actor.tenantId ?? "" });
  const { items } = (await colleague.get(TARGETS)).body;
  assert.deepEqual(pluck(items, "name"), ["chat", "Partner"], "all may choose one");
  assert.equal(items[0].webhookUrl, "***");

  const path = `${TARGETS}/${id}`;
  const renamed = await actor.put(path, { name: "Partner 2", prefix: "/in/2026/" });
  has(renamed, { status: 200, body: { name: "Partner 2", prefix: "in/2026" } });
  const sealed = async () => (await sql`select secret from report_targets where id = ${id}`)[0]?.secret;
  const before = await sealed();
  assert.equal((await actor.put(path, { secretAccessKey: "another-secret" })).status, 200);
  assert.notEqual(await sealed(), before);

  const stored = await sql`select t::text as row from report_targets t`;
  const audits = await sql`select a::text as row from audit_log a where action like 'reportTarget.%'`;
  assert.ok(audits.length >= 4);
  for (const secret of [SECRET, "another-secret", "x7secretx7"]) {
    assert.ok(!JSON.stringify([...stored, ...audits]).includes(secret), secret);
    assert.ok(!t.logs.some((line) => line.includes(secret)), `no log line has ${secret}`);
  }
  for (const target of [id, slack]) assert.equal((await actor.delete(`${TARGETS}/${target}`)).status, 204);
  refused(await actor.get(path), 404, "REPORT_TARGET_NOT_FOUND");
});

Deno.test("targets are refused with a taken name, or with fields that do not fit their kind", async () => {
  const actor = await t.actor({ permissions: MANAGER });
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
  const actor = await t.actor({ permissions: MANAGER });
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
  const actor = await t.actor({ permissions: MANAGER });
  const id = await createTarget(actor, other.target);
  using _without = t.replace(({ config }) => config, { TARGET_KEYS: null });
  const made = await actor.post(TARGETS, { name: "No", ...other.target });
  for (const answer of [made, await actor.post(`${TARGETS}/${id}/test`)]) {
    refused(answer, 503, "REPORT_TARGET_UNAVAILABLE");
  }
});
