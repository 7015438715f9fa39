import assert from "node:assert/strict";
import { setupShared } from "../../support/setup.ts";
import { ALL, Uploading } from "./uploading.ts";

const t = await setupShared({ JOB_CONCURRENCY: "0" });
Deno.test.afterAll(() => t.stop());
const files = new Uploading(t);
const actor = await t.actor({ permissions: ALL });
const tenantId = actor.tenantId ?? "";
const admin = await t.actor({ permissions: [...ALL, "admin:system"], tenantId });
const { sql } = t.steward.platform;
const inDays = (days: number) => new Date(Math.floor(Date.now() / 1000) * 1000 + days * 86_400_000);
const iso = (days: number) => inDays(days).toISOString();

interface Case {
  name: string;
  from: { retentionClass?: string; retainUntil?: Date; legalHold?: boolean };
  body: Record<string, unknown>;
  status: number;
  code?: string;
  becomes?: Record<string, unknown>;
}
const SHORTENED = { status: 422, code: "FILE_RETENTION_SHORTENED_UNPROCESSABLE" };
const INCOHERENT = { status: 400 };
const CASES: Case[] = [
  { name: "an empty change", from: {}, body: {}, status: 200, becomes: { retentionClass: "Standard" } },
  {
    name: "a first date",
    from: {},
    body: { retainUntil: iso(9) },
    status: 200,
    becomes: { retainUntil: iso(9), retentionClass: "Standard" },
  },
  {
    name: "a later date",
    from: { retainUntil: inDays(5) },
    body: { retainUntil: iso(9) },
    status: 200,
    becomes: { retainUntil: iso(9) },
  },
  {
    name: "the same date",
    from: { retainUntil: inDays(5) },
    body: { retainUntil: iso(5) },
    status: 200,
    becomes: { retainUntil: iso(5) },
  },
  { name: "an earlier date", from: { retainUntil: inDays(5) }, body: { retainUntil: iso(3) }, ...SHORTENED },
  {
    name: "an omitted date",
    from: { retainUntil: inDays(5) },
    body: { retentionClass: null, legalHold: true },
    status: 200,
    becomes: { retainUntil: iso(5), retentionClass: "Standard", legalHold: true },
  },
  {
    name: "null for a date",
    from: { retainUntil: inDays(5) },
    body: { retainUntil: null },
    ...SHORTENED,
  },
  {
    name: "null for a past date",
    from: { retainUntil: inDays(-5) },
    body: { retainUntil: null, legalHold: null },
    status: 200,
    becomes: { retainUntil: null, retentionClass: "Standard", legalHold: false },
  },
  {
    name: "Permanent without a date in place of one",
    from: { retainUntil: inDays(5) },
    body: { retentionClass: "Permanent", retainUntil: null },
    status: 200,
    becomes: { retentionClass: "Permanent", retainUntil: null },
  },
  {
    name: "null for a Temporary file",
    from: { retentionClass: "Temporary", retainUntil: inDays(5) },
    body: { retainUntil: null },
    ...INCOHERENT,
  },
  { name: "a past date", from: {}, body: { retainUntil: iso(-1) }, ...INCOHERENT },
  { name: "Temporary without a date", from: {}, body: { retentionClass: "Temporary" }, ...INCOHERENT },
  {
    name: "Temporary for Standard",
    from: {},
    body: { retentionClass: "Temporary", retainUntil: iso(5) },
    ...SHORTENED,
  },
  {
    name: "Permanent with a date",
    from: {},
    body: { retentionClass: "Permanent", retainUntil: iso(5) },
    ...INCOHERENT,
  },
  {
    name: "Permanent for Standard with a date",
    from: { retainUntil: inDays(5) },
    body: { retentionClass: "permanent" },
    status: 200,
    becomes: { retentionClass: "Permanent", retainUntil: null },
  },
  {
    name: "a date for Permanent",
    from: { retentionClass: "Permanent" },
    body: { retainUntil: iso(5) },
    ...INCOHERENT,
  },
  {
    name: "Standard for Permanent",
    from: { retentionClass: "Permanent" },
    body: { retentionClass: "Standard" },
    ...SHORTENED,
  },
  {
    name: "Standard for Temporary",
    from: { retentionClass: "Temporary", retainUntil: inDays(5) },
    body: { retentionClass: "Standard" },
    status: 200,
    becomes: { retentionClass: "Standard", retainUntil: iso(5) },
  },
  {
    name: "Standard for Temporary, but earlier",
    from: { retentionClass: "Temporary", retainUntil: inDays(5) },
    body: { retentionClass: "Standard", retainUntil: iso(4) },
    ...SHORTENED,
  },
  { name: "a hold", from: {}, body: { legalHold: true }, status: 200, becomes: { legalHold: true } },
  {
    name: "a hold's release without admin:system",
    from: { legalHold: true },
    body: { legalHold: false },
    status: 403,
    code: "MISSING_PERMISSION",
  },
  {
    name: "an incoherent release",
    from: { legalHold: true },
    body: { legalHold: false, retainUntil: iso(-1) },
    ...INCOHERENT,
  },
  {
    name: "a release that shortens",
    from: { legalHold: true, retainUntil: inDays(5) },
    body: { legalHold: false, retainUntil: iso(1) },
    status: 403,
    code: "MISSING_PERMISSION",
  },
  {
    name: "an unknown class",
    from: {},
    body: { retentionClass: "x" },
    status: 400,
    code: "VALIDATION_ERROR",
  },
  {
    name: "an invalid date",
    from: {},
    body: { retainUntil: "soon" },
    status: 400,
    code: "VALIDATION_ERROR",
  },
  { name: "a hold as text", from: {}, body: { legalHold: "true" }, status: 400, code: "VALIDATION_ERROR" },
];

for (const { name, from, body, status, code, becomes } of CASES) {
  Deno.test(`retention: ${name} → ${status} ${code ?? ""}`, async () => {
    const id = await files.fileIn("Available", { tenantId, ...from });
    const answer = await actor.put(`/api/v1/files/${id}/retention`, { reason: "policy", ...body });
    assert.deepEqual([answer.status, answer.body.code], [status, code], JSON.stringify(answer.body));
    if (status === 400 && !code) {
      assert.equal(answer.body.type, "about:blank");
      assert.ok(!("code" in answer.body));
    }
    const audit =
      await sql`select after from audit_log where target_id = ${id} and action = 'file.retention'`;
    const changed = status === 200 && name !== "an empty change" && name !== "the same date";
    assert.equal(audit.length, changed ? 1 : 0);
    for (const [field, value] of Object.entries(becomes ?? {})) {
      assert.equal(answer.body[field], value, field);
    }
  });
}

Deno.test("a system administrator releases a hold, and the audit log records it", async () => {
  const id = await files.fileIn("Available", { tenantId, legalHold: true });
  const { status, body } = await admin.put(`/api/v1/files/${id}/retention`, {
    legalHold: false,
    reason: "over",
  });
  assert.deepEqual([status, body.legalHold], [200, false]);
  const [row] = await sql`select actor_id, before, after from audit_log where target_id = ${id}`;
  assert.equal(row?.actorId, admin.userId);
  assert.equal(row?.before.legalHold, true);
  assert.deepEqual(row?.after, {
    retentionClass: "Standard",
    retainUntil: null,
    legalHold: false,
    reason: "over",
  });
});

Deno.test("admin:system without retain:files or purge:files changes and purges nothing", async () => {
  const other = await t.actor({ permissions: ["admin:system", "read:files"], tenantId: t.platformTenantId });
  const id = await files.fileIn("Available", { tenantId: null });
  assert.equal((await other.put(`/api/v1/files/${id}/retention`, {})).body.code, "MISSING_PERMISSION");
  assert.equal(
    (await other.post(`/api/v1/files/${id}/purge`, { reason: "x" })).body.code,
    "MISSING_PERMISSION",
  );
});

Deno.test("retention and purge of a product file also need admin:system", async () => {
  const id = await files.fileIn("Available", { tenantId: null });
  const path = `/api/v1/files/${id}`;
  assert.equal((await actor.put(`${path}/retention`, { legalHold: true })).body.code, "MISSING_PERMISSION");
  assert.equal((await actor.put(`${path}/retention`, { retainUntil: iso(-1) })).status, 400);
  assert.equal((await actor.post(`${path}/purge`, { reason: "x" })).body.code, "MISSING_PERMISSION");
  assert.equal((await admin.put(`${path}/retention`, { retainUntil: iso(1) })).status, 200);
  assert.equal((await admin.post(`${path}/purge`, { reason: "x" })).status, 200);
  assert.equal((await actor.put(`${path}/retention`, { legalHold: true })).body.code, "FILE_PURGED_CONFLICT");
  assert.equal((await actor.post(`${path}/purge`, { reason: "x" })).body.code, "MISSING_PERMISSION");
});

Deno.test("purge checks in this order: body, permission, state, hold, references", async () => {
  const id = await files.fileIn("Available", { tenantId, retentionClass: "Permanent" });
  const path = `/api/v1/files/${id}`;
  for (const scope of ["reports", "invoices", "invoices"]) {
    const owner = crypto.randomUUID();
    assert.equal((await actor.post(`${path}/references`, { scope, ownerId: owner })).status, 201);
  }
  assert.equal((await actor.put(`${path}/retention`, { legalHold: true })).status, 200);
  const purge = async (who = actor, body: unknown = { reason: "cleanup" }) =>
    (await who.post(`${path}/purge`, body)).body;
  const ofJobs = ["job:x", " JOB:cleanup", "\u200bjob:x", "job\u00a0: x", "ｊｏｂ：x"];
  for (const reason of [undefined, null, "", "  ", 7, ...ofJobs, "x".repeat(1001)]) {
    assert.equal((await purge(actor, { reason })).code, "VALIDATION_ERROR", String(reason));
  }
  assert.equal((await purge()).code, "MISSING_PERMISSION");
  assert.equal((await purge(admin)).code, "FILE_LEGAL_HOLD_CONFLICT");
  assert.equal((await admin.put(`${path}/retention`, { legalHold: false })).status, 200);
  const held = await purge(admin);
  assert.equal(held.code, "FILE_STILL_REFERENCED_CONFLICT");
  assert.deepEqual(held.errors, ["invoices", "reports"]);
  await sql`update file_references set released_at = now() where file_id = ${id}`;
  await sql`update files set reference_count = 0 where id = ${id}`;
  const tombstone = await purge(admin);
  assert.deepEqual([tombstone.status, tombstone.purgeReason, tombstone.purgedBy], [
    "Purged",
    "cleanup",
    admin.userId,
  ]);
  assert.equal(tombstone.sha256, "abc");
  const again = await purge(admin);
  assert.equal(again.code, "FILE_PURGED_CONFLICT");
  assert.match(again.detail, /cleanup/);
  const [row] =
    await sql`select actor_id, after from audit_log where target_id = ${id} and action = 'file.purge'`;
  assert.equal(row?.actorId, admin.userId);
  assert.deepEqual(row?.after, { status: "Purged", reason: "cleanup" });
});

Deno.test("purging destroys the content, and old download URLs stop working", async () => {
  const { objects } = t.steward.platform;
  const id = await files.fileIn("Available", { tenantId });
  await sql`insert into file_objects (key, file_id) values (${`files/${id}`}, ${id})`;
  await objects.write(`files/${id}`, new Blob(["abc"]).stream(), { contentType: "text/plain" });
  const { body } = await actor.get(`/api/v1/files/${id}/download-url`);
  assert.equal(await (await fetch(body.url)).text(), "abc");
  assert.equal((await actor.post(`/api/v1/files/${id}/purge`, { reason: "x" })).status, 200);
  const gone = await fetch(body.url);
  await gone.body?.cancel();
  assert.equal(gone.status, 404);
  assert.equal((await sql`select from file_objects where file_id = ${id}`).length, 0);
});

Deno.test("a reference pair exists once; releasing it twice is the same as once; then it can be added again", async () => {
  const id = await files.fileIn("Available", { tenantId });
  const path = `/api/v1/files/${id}/references`;
  const pair = { scope: "orders", ownerId: "42" };
  const answers = await Promise.all(Array.from({ length: 8 }, () => actor.post(path, pair)));
  assert.deepEqual(new Set(answers.map((answer) => answer.status)), new Set([201]));
  assert.equal(new Set(answers.map((answer) => answer.body.referenceId)).size, 1);
  const { referenceId } = answers[0]?.body ?? {};
  assert.equal((await actor.get(`/api/v1/files/${id}`)).body.referenceCount, 1);
  const releases = await Promise.all([1, 2, 3].map(() => actor.delete(`${path}/${referenceId}`)));
  assert.deepEqual(releases.map((answer) => answer.status), [204, 204, 204]);
  assert.equal((await actor.get(`/api/v1/files/${id}`)).body.referenceCount, 0);
  const anew = await actor.post(path, pair);
  assert.notEqual(anew.body.referenceId, referenceId);
  assert.equal((await actor.delete(`${path}/${referenceId}`)).status, 204);
  assert.equal((await actor.get(`/api/v1/files/${id}`)).body.referenceCount, 1);
});

Deno.test("a reference on another file is not found, even if the caller can use both files", async () => {
  const [one, two] = [
    await files.fileIn("Available", { tenantId }),
    await files.fileIn("Available", { tenantId }),
  ];
  const { body } = await actor.post(`/api/v1/files/${one}/references`, { scope: "a", ownerId: "b" });
  const { status, body: refused } = await actor.delete(`/api/v1/files/${two}/references/${body.referenceId}`);
  assert.deepEqual([status, refused.code], [404, "FILE_NOT_FOUND"]);
});

Deno.test("of a simultaneous purge and new reference, one succeeds and the other gets an error", async () => {
  for (let round = 0; round < 8; round++) {
    const id = await files.fileIn("Available", { tenantId });
    const [purge, reference] = await Promise.all([
      actor.post(`/api/v1/files/${id}/purge`, { reason: "race" }),
      actor.post(`/api/v1/files/${id}/references`, { scope: "a", ownerId: "b" }),
    ]);
    const outcome = [purge.status, reference.status];
    assert.ok(
      purge.status === 200 && reference.body.code === "FILE_PURGED_CONFLICT" ||
        reference.status === 201 && purge.body.code === "FILE_STILL_REFERENCED_CONFLICT",
      JSON.stringify(outcome),
    );
  }
});

Deno.test("If-Match binds a retention change to the version the caller read, and is checked last", async () => {
  const id = await files.fileIn("Available", { tenantId });
  const path = `/api/v1/files/${id}/retention`;
  const etag = (await actor.get(`/api/v1/files/${id}`)).headers.get("etag") ?? "";
  const first = await actor.put(path, { retainUntil: iso(5) }, { "if-match": etag });
  assert.equal(first.status, 200);
  assert.notEqual(first.headers.get("etag"), etag);
  const stale = await actor.put(path, { retainUntil: iso(6) }, { "if-match": etag });
  assert.deepEqual([stale.status, stale.body.code], [412, "PRECONDITION_FAILED"]);
  const shorter = await actor.put(path, { retainUntil: iso(1) }, { "if-match": etag });
  assert.equal(shorter.body.code, "FILE_RETENTION_SHORTENED_UNPROCESSABLE");
});

Deno.test("the purpose of a download is stored", async () => {
  const id = await files.fileIn("Available", { tenantId });
  for (const query of ["", "?purpose=preview", "?purpose=PROCESSING"]) {
    assert.equal((await actor.get(`/api/v1/files/${id}/download-url${query}`)).status, 200);
  }
  const rows = await sql<{ after: { purpose: string } }[]>`
    select after from audit_log where target_id = ${id} and action = 'file.download-url' order by id`;
  assert.deepEqual(rows.map((row) => row.after.purpose), ["download", "preview", "processing"]);
});

Deno.test("a legal hold names who set it, when and why, until it is released", async () => {
  const id = await files.fileIn("Available", {
    tenantId,
    retentionClass: "Temporary",
    retainUntil: inDays(5),
  });
  const put = async (by: typeof actor, body: Record<string, unknown>) =>
    (await by.put(`/api/v1/files/${id}/retention`, body)).body;
  const holdOf = (file: Record<string, unknown>) => [file.legalHoldBy, file.legalHoldReason];
  assert.equal((await actor.get(`/api/v1/files/${id}`)).body.purgesAt, iso(5));
  const held = await put(actor, { legalHold: true, reason: "court 42" });
  assert.deepEqual(holdOf(held), [actor.userId, "court 42"]);
  assert.ok(Date.parse(held.legalHoldSince) > 0);
  assert.equal(held.purgesAt, null);
  const kept = await put(admin, { legalHold: true, retainUntil: iso(9), reason: "longer" });
  assert.deepEqual(holdOf(kept), [actor.userId, "court 42"]);
  assert.equal(kept.legalHoldSince, held.legalHoldSince);
  const released = await put(admin, { legalHold: false });
  assert.deepEqual([...holdOf(released), released.legalHoldSince], [null, null, null]);
  assert.equal(released.purgesAt, iso(9));
});
