import assert from "node:assert/strict";
import { has } from "../../support/answers.ts";
import { accepted, refused } from "../../support/outcomes.ts";
import { setupShared } from "../../support/setup.ts";
import { ALL, Uploading } from "./uploading.ts";

const t = await setupShared({ JOB_CONCURRENCY: "0" }, { inThisProcess: true });
Deno.test.afterAll(() => t.stop());
const files = new Uploading(t);
const actor = await t.actor({ permissions: ALL });
const tenantId = actor.tenantId ?? "";
const admin = await t.actor({ permissions: [...ALL, "admin:system"], tenantId });
const { sql } = t.steward.platform;
const now = Math.floor(Date.now() / 1000) * 1000;
const inDays = (days: number) => new Date(now + days * 86_400_000);
const iso = (days: number) => inDays(days).toISOString();

type From = { retentionClass?: string; retainUntil?: Date; legalHold?: boolean };
const SHORTENED = "422 FILE_RETENTION_SHORTENED_UNPROCESSABLE";
const INCOHERENT = "400";
const DENIED = "403 MISSING_PERMISSION";
const DATED: From = { retainUntil: inDays(5) };
const TEMPORARY: From = { retentionClass: "Temporary", retainUntil: inDays(5) };
const PERMANENT: From = { retentionClass: "Permanent" };
const HELD: From = { legalHold: true };
/** A case is what is sent and either the refusal or members of the new record. */
const CHANGES: [name: string, from: From, body: Record<string, unknown>, Record<string, unknown> | string][] =
  [
    ["an empty change", {}, {}, { retentionClass: "Standard" }],
    ["a first date", {}, { retainUntil: iso(9) }, { retainUntil: iso(9), retentionClass: "Standard" }],
    ["a later date", DATED, { retainUntil: iso(9) }, { retainUntil: iso(9) }],
    ["the same date", DATED, { retainUntil: iso(5) }, { retainUntil: iso(5) }],
    ["an earlier date", DATED, { retainUntil: iso(3) }, SHORTENED],
    ["an omitted date", DATED, { retentionClass: null, legalHold: true }, {
      retainUntil: iso(5),
      retentionClass: "Standard",
      legalHold: true,
    }],
    ["null for a date", DATED, { retainUntil: null }, SHORTENED],
    ["null for a past date", { retainUntil: inDays(-5) }, { retainUntil: null, legalHold: null }, {
      retainUntil: null,
      retentionClass: "Standard",
      legalHold: false,
    }],
    ["Permanent without a date in place of one", DATED, { retentionClass: "Permanent", retainUntil: null }, {
      retentionClass: "Permanent",
      retainUntil: null,
    }],
    ["null for a Temporary file", TEMPORARY, { retainUntil: null }, INCOHERENT],
    ["a past date", {}, { retainUntil: iso(-1) }, INCOHERENT],
    ["Temporary without a date", {}, { retentionClass: "Temporary" }, INCOHERENT],
    ["Temporary for Standard", {}, { retentionClass: "Temporary", retainUntil: iso(5) }, SHORTENED],
    ["Permanent with a date", {}, { retentionClass: "Permanent", retainUntil: iso(5) }, INCOHERENT],
    ["Permanent for Standard with a date", DATED, { retentionClass: "permanent" }, {
      retentionClass: "Permanent",
      retainUntil: null,
    }],
    ["a date for Permanent", PERMANENT, { retainUntil: iso(5) }, INCOHERENT],
    ["Standard for Permanent", PERMANENT, { retentionClass: "Standard" }, SHORTENED],
    ["Standard for Temporary", TEMPORARY, { retentionClass: "Standard" }, {
      retentionClass: "Standard",
      retainUntil: iso(5),
    }],
    ["Standard for Temporary, but earlier", TEMPORARY, {
      retentionClass: "Standard",
      retainUntil: iso(4),
    }, SHORTENED],
    ["a hold", {}, { legalHold: true }, { legalHold: true }],
    ["a hold's release without admin:system", HELD, { legalHold: false }, DENIED],
    ["an incoherent release", HELD, { legalHold: false, retainUntil: iso(-1) }, INCOHERENT],
    ["a release that shortens", { ...DATED, ...HELD }, { legalHold: false, retainUntil: iso(1) }, DENIED],
  ];

for (const [name, from, body, expected] of CHANGES) {
  Deno.test(`retention: ${name} → ${typeof expected === "string" ? expected : "200"}`, async () => {
    const id = await files.fileIn("Available", { tenantId, ...from });
    const answer = await actor.put(`/api/v1/files/${id}/retention`, { reason: "policy", ...body });
    if (typeof expected === "string") await refused(expected, answer);
    else has(await accepted(answer), expected);
    if (expected === INCOHERENT) {
      assert.equal(answer.body.type, "about:blank");
      assert.ok(!("code" in answer.body));
    }
    const audit =
      await sql`select after from audit_log where target_id = ${id} and action = 'file.retention'`;
    const changes = typeof expected !== "string" && name !== "an empty change" && name !== "the same date";
    assert.equal(audit.length, Number(changes));
  });
}

Deno.test("a legal hold names who set it, when and why, until a system administrator releases it", async () => {
  const id = await files.fileIn("Available", { tenantId, ...TEMPORARY });
  const path = `/api/v1/files/${id}`;
  const put = (by: typeof actor, body: Record<string, unknown>) =>
    accepted(by.put(`${path}/retention`, body));
  assert.equal((await actor.get(path)).body.purgesAt, iso(5));
  const held = await put(actor, { legalHold: true, reason: "court 42" });
  has(held, { legalHoldBy: actor.userId, legalHoldReason: "court 42", purgesAt: null });
  assert.ok(Date.parse(held.legalHoldSince) > 0);
  const { legalHoldBy, legalHoldReason, legalHoldSince } = held;
  has(await put(admin, { legalHold: true, retainUntil: iso(9), reason: "longer" }), {
    legalHoldBy,
    legalHoldReason,
    legalHoldSince,
  });
  has(await put(admin, { legalHold: false, reason: "over" }), {
    legalHoldBy: null,
    legalHoldReason: null,
    legalHoldSince: null,
    purgesAt: iso(9),
  });
  const [row] =
    await sql`select actor_id, before, after from audit_log where target_id = ${id} order by id desc`;
  assert.deepEqual([row?.actorId, row?.before.legalHold], [admin.userId, true]);
  const after = { retentionClass: "Temporary", retainUntil: iso(9), legalHold: false, reason: "over" };
  assert.deepEqual(row?.after, after);
});

Deno.test("retention and purge of a product file also need admin:system", async () => {
  const path = `/api/v1/files/${await files.fileIn("Available", { tenantId: null })}`;
  const hold = () => actor.put(`${path}/retention`, { legalHold: true });
  const purge = (by = actor) => by.post(`${path}/purge`, { reason: "x" });
  await refused(DENIED, hold(), purge());
  await refused(INCOHERENT, actor.put(`${path}/retention`, { retainUntil: iso(-1) }));
  await accepted(admin.put(`${path}/retention`, { retainUntil: iso(1) }));
  await accepted(purge(admin));
  await refused("409 FILE_PURGED_CONFLICT", hold());
  await refused(DENIED, purge());
});

Deno.test("If-Match binds a retention change to the version the caller read, and is checked last", async () => {
  const path = `/api/v1/files/${await files.fileIn("Available", { tenantId })}`;
  const etag = (await actor.get(path)).headers.get("etag") ?? "";
  const put = (days: number) =>
    actor.put(`${path}/retention`, { retainUntil: iso(days) }, { "if-match": etag });
  assert.notEqual((await put(5)).headers.get("etag"), etag);
  await refused("412 PRECONDITION_FAILED", put(6));
  await refused(SHORTENED, put(1));
});
