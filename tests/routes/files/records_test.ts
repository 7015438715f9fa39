import assert from "node:assert/strict";
import { has, nulls, pluck } from "../../support/answers.ts";
import { accepted, refused } from "../../support/outcomes.ts";
import { Actor, setupShared } from "../../support/setup.ts";
import { ALL, Uploading } from "./uploading.ts";
import { HttpClient } from "../../support/http.ts";

const t = await setupShared({ JOB_CONCURRENCY: "0" }, { inThisProcess: true });
const files = new Uploading(t);
const actor = await t.actor({ permissions: ALL });
const tenantId = actor.tenantId ?? "";
const admin = await t.actor({ permissions: [...ALL, "admin:system"], tenantId });
const { sql } = t;
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
const PAST: From = { retainUntil: inDays(-5) };
const HELD: From = { legalHold: true };
const STANDARD = { retentionClass: "Standard" };
const NOTHING = { retentionClass: null, legalHold: null };
const DEFAULTS = { ...STANDARD, legalHold: false };
const ENDLESS = { retentionClass: "Permanent", retainUntil: null };
/** A case is what is sent and either the refusal or members of the new record. */
const CHANGES: [name: string, from: From, body: Record<string, unknown>, Record<string, unknown> | string][] =
  [
    ["an empty change", {}, {}, { retentionClass: "Standard" }],
    ["a first date", {}, { retainUntil: iso(9) }, { retainUntil: iso(9), retentionClass: "Standard" }],
    ["a later date", DATED, { retainUntil: iso(9) }, { retainUntil: iso(9) }],
    ["the same date", DATED, { retainUntil: iso(5) }, { retainUntil: iso(5) }],
    ["an earlier date", DATED, { retainUntil: iso(3) }, SHORTENED],
    ["an omitted date", DATED, { legalHold: true }, { retainUntil: iso(5), legalHold: true }],
    ["null for a date", DATED, { retainUntil: null }, SHORTENED],
    ["null for a past date", PAST, { ...NOTHING, retainUntil: null }, { ...DEFAULTS, retainUntil: null }],
    ["Permanent without a date in place of one", DATED, { ...ENDLESS, retainUntil: null }, ENDLESS],
    ["null for a Temporary file", TEMPORARY, { retainUntil: null }, INCOHERENT],
    ["a past date", {}, { retainUntil: iso(-1) }, INCOHERENT],
    ["Temporary without a date", {}, { retentionClass: "Temporary" }, INCOHERENT],
    ["Temporary for Standard", {}, { retentionClass: "Temporary", retainUntil: iso(5) }, SHORTENED],
    ["Permanent with a date", {}, { retentionClass: "Permanent", retainUntil: iso(5) }, INCOHERENT],
    ["Permanent for Standard with a date", DATED, { retentionClass: "permanent" }, ENDLESS],
    ["a date for Permanent", PERMANENT, { retainUntil: iso(5) }, INCOHERENT],
    ["Standard for Permanent", PERMANENT, { retentionClass: "Standard" }, SHORTENED],
    ["Standard for Temporary", TEMPORARY, STANDARD, { ...STANDARD, retainUntil: iso(5) }],
    ["Standard for Temporary, but earlier", TEMPORARY, { ...STANDARD, retainUntil: iso(4) }, SHORTENED],
    ["a hold", {}, { legalHold: true }, { legalHold: true }],
    ["a hold's release without admin:system", HELD, { legalHold: false }, DENIED],
    ["an incoherent release", HELD, { legalHold: false, retainUntil: iso(-1) }, INCOHERENT],
    ["a release that shortens", { ...DATED, ...HELD }, { legalHold: false, retainUntil: iso(1) }, DENIED],
  ];

Deno.test("a retention is only extended, and fits its class; each change is audited", async () => {
  for (const [name, from, body, expected] of CHANGES) {
    const id = await files.fileIn("Available", { tenantId, ...from });
    const answer = await actor.put(`/api/v1/files/${id}/retention`, { reason: "policy", ...body });
    if (typeof expected === "string") await refused(expected, answer);
    else has(await accepted(answer), expected, name);
    if (expected === INCOHERENT) {
      assert.equal(answer.body.type, "about:blank");
      assert.ok(!("code" in answer.body));
    }
    const audit =
      await sql`select after from audit_log where target_id = ${id} and action = 'file.retention'`;
    const changes = typeof expected !== "string" && name !== "an empty change" && name !== "the same date";
    assert.equal(audit.length, Number(changes), name);
  }
});

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
  const longer = await put(admin, { legalHold: true, retainUntil: iso(9), reason: "longer" });
  has(longer, { legalHoldBy, legalHoldReason, legalHoldSince });
  const released = await put(admin, { legalHold: false, reason: "over" });
  has(released, { ...nulls("legalHoldBy legalHoldReason legalHoldSince"), purgesAt: iso(9) });
  const [row] =
    await sql`select actor_id, before, after from audit_log where target_id = ${id} order by id desc`;
  assert.deepEqual([row?.actorId, row?.before.legalHold], [admin.userId, true]);
  const after = { retentionClass: "Temporary", retainUntil: iso(9), legalHold: false, reason: "over" };
  assert.deepEqual(row?.after, after);
});

interface Rule {
  isProduct?: boolean;
  isPermanent?: boolean;
  legalHold?: boolean;
  isReferenced?: boolean;
  isAdmin?: boolean;
}

async function tryRule(rule: Rule, expected: string): Promise<void> {
  const id = await files.fileIn("Available", {
    tenantId: rule.isProduct ? null : tenantId,
    legalHold: rule.legalHold ?? false,
    ...rule.isPermanent ? PERMANENT : TEMPORARY,
  });
  for (const scope of rule.isReferenced ? ["orders", "invoices"] : []) {
    await accepted(actor.post(`/api/v1/files/${id}/references`, { scope, ownerId: "7" }));
  }
  const { body } = await (rule.isAdmin ? admin : actor).post(`/api/v1/files/${id}/purge`, { reason: "rule" });
  assert.equal(body.code ?? body.status, expected, JSON.stringify(rule));
  if (expected === "FILE_STILL_REFERENCED_CONFLICT") assert.deepEqual(body.errors, ["invoices", "orders"]);
  const [row] = await sql<{ status: string }[]>`select status from files where id = ${id}`;
  assert.equal(row?.status, expected === "Purged" ? "Purged" : "Available");
  if (expected !== "Purged") return;
  const problem = (await actor.get(`/api/v1/files/${id}/download-url`)).body;
  assert.equal(problem.code, "FILE_PURGED_CONFLICT");
  assert.deepEqual(problem.errors, { purgedAt: [body.purgedAt], purgeReason: ["rule"] });
}

Deno.test("product, class, legal hold and references decide a purge, in this order; a future date does not", async () => {
  const all = { isProduct: true, isPermanent: true, legalHold: true, isReferenced: true };
  const cases: [Rule, expected: string][] = [
    [all, "FORBIDDEN"],
    [{ ...all, isAdmin: true }, "FILE_LEGAL_HOLD_CONFLICT"],
    [{ ...all, isProduct: false }, "MISSING_PERMISSION"],
    [{ legalHold: true, isReferenced: true }, "FILE_LEGAL_HOLD_CONFLICT"],
    [{ isReferenced: true }, "FILE_STILL_REFERENCED_CONFLICT"],
    [{ ...all, legalHold: false, isAdmin: true }, "FILE_STILL_REFERENCED_CONFLICT"],
    [{}, "Purged"],
    [{ isProduct: true, isPermanent: true, isAdmin: true }, "Purged"],
  ];
  for (const [rule, expected] of cases) await tryRule(rule, expected);
});

Deno.test("a purge needs a reason that is not of a job, and is recorded with it", async () => {
  const id = await files.fileIn("Available", { tenantId });
  const purge = (reason: unknown) => actor.post(`/api/v1/files/${id}/purge`, { reason });
  for (const reason of ["\u200b", "\u3164 \u2060", " JOB:cleanup", "\u200bjob:x", "ｊｏｂ：x"]) {
    await refused("400 VALIDATION_ERROR", purge(reason));
  }
  const tombstone = { status: "Purged", purgeReason: "cleanup", purgedBy: actor.userId, sha256: "abc" };
  has(await accepted(purge("cleanup")), tombstone);
  const again = await purge("again");
  await refused("409 FILE_PURGED_CONFLICT", again);
  assert.match(again.body.detail, /cleanup/);
  const [row] =
    await sql`select actor_id, after from audit_log where target_id = ${id} and action = 'file.purge'`;
  assert.deepEqual({ ...row }, { actorId: actor.userId, after: { status: "Purged", reason: "cleanup" } });
});

Deno.test("purging destroys the content, and old download URLs stop working", async () => {
  const { objects } = t.platform;
  const id = await files.fileIn("Available", { tenantId });
  await sql`insert into file_objects (key, file_id) values (${`files/${id}`}, ${id})`;
  await objects.write(`files/${id}`, new Blob(["abc"]).stream(), { contentType: "text/plain" });
  const { url } = await accepted(actor.get(`/api/v1/files/${id}/download-url`));
  assert.equal(await (await fetch(url)).text(), "abc");
  await accepted(actor.post(`/api/v1/files/${id}/purge`, { reason: "x" }));
  const gone = await fetch(url);
  await gone.body?.cancel();
  assert.equal(gone.status, 404);
  assert.equal((await sql`select from file_objects where file_id = ${id}`).length, 0);
});

Deno.test("the purpose of a download is stored", async () => {
  const id = await files.fileIn("Available", { tenantId });
  for (const query of ["", "?purpose=preview", "?purpose=PROCESSING"]) {
    await accepted(actor.get(`/api/v1/files/${id}/download-url${query}`));
  }
  const rows = await sql<{ after: { purpose: string } }[]>`
    select after from audit_log where target_id = ${id} and action = 'file.download-url' order by id`;
  assert.deepEqual(rows.map((row) => row.after.purpose), ["download", "preview", "processing"]);
});

Deno.test("files are found by the kind of their purge, and by name in any case and accents", async () => {
  const actor = await t.actor({ permissions: ALL });
  const { tenantId } = actor;
  const purged = await files.fileIn("Purged", { tenantId });
  const image = { bytes: new Uint8Array(3), profile: "image", contentType: "image/png" };
  const fileName = "Relatório_100%.png".normalize("NFD");
  const { fileId: own } = await files.reserve(actor, { ...image, fileName });
  const found = async (query: string, expected: string[], why?: string) => {
    const { items, totalCount } = await accepted(actor.get(`/api/v1/files?${query}`));
    assert.equal(totalCount, items.length);
    assert.deepEqual(pluck(items, "id").sort(), expected.sort(), why ?? query);
  };
  const kinds = { Purged: "old", Rejected: "job:size-mismatch", Expired: "job:upload-expired" };
  for (const [kind, reason] of Object.entries(kinds)) {
    await sql`update files set purge_reason = ${reason} where id = ${purged}`;
    for (const each of Object.keys(kinds)) await found(`purgeKind=${each}`, each === kind ? [purged] : []);
    has(await accepted(actor.get(`/api/v1/files/${purged}`)), { purgeKind: kind });
  }
  await found("search=RELATORIO_100%25", [own], "wildcards are letters like any");
  await found("search=relatorio%25png", []);
  has(await accepted(actor.get(`/api/v1/files/${own}`)), { fileName: "Relatório_100%.png" });
  await found("status=&search=", [purged, own], "empty is absent");
});

Deno.test("product files have their own list, for callers with the permission in any tenant", async () => {
  const [product, search] = [await files.fileIn("Available", { tenantId: null }), crypto.randomUUID()];
  await sql`update files set file_name = ${search} where id = ${product}`;
  const reader = await t.actor({ permissions: ["read:files"] });
  const found = async (query: string) =>
    pluck((await accepted(reader.get(`/api/v1/files?${query}`))).items, "id");
  assert.deepEqual(await found(`isProduct=true&search=${search}`), [product]);
  for (const query of ["", "isProduct=false"]) assert.deepEqual(await found(query), []);
});

Deno.test("profiles open to callers are listed with their limits, the service's own are not", async () => {
  const actor = await t.actor({ permissions: ["upload:files"] });
  const profiles = await accepted(actor.get("/api/v1/files/profiles"));
  assert.deepEqual(pluck(profiles, "name"), ["document", "image", "archive"]);
  const contentTypes = ["image/png", "image/jpeg", "image/webp", "image/gif"];
  has(profiles[1], { maxBytes: 20 * 1024 * 1024, contentTypes });
});

Deno.test("with many holding scopes the detail names ten of them, the errors all", async () => {
  const id = await files.fileIn("Available", { tenantId });
  const scopes = Array.from({ length: 12 }, (_, n) => `scope-${String(n).padStart(3, "0")}`);
  for (const scope of scopes) {
    await accepted(actor.post(`/api/v1/files/${id}/references`, { scope, ownerId: "1" }));
  }
  const { detail, errors } = (await actor.post(`/api/v1/files/${id}/purge`, { reason: "rule" })).body;
  assert.match(detail, /has 12 reference\(s\) in scope-000, .*, scope-009 and others;/);
  assert.doesNotMatch(detail, /scope-010/);
  assert.deepEqual(errors, scopes);
});

/** A system administrator who is also linked to the tenant, with the manager's role, and acts in it. */
async function systemAdminIn(permissions = ["admin:system"]): Promise<Actor> {
  const admin = await t.actor({ permissions, tenantId: t.platformTenantId });
  const link = { tenantId, roleIds: [actor.roleId], isDefault: false };
  assert.equal((await t.systemAdmin.post(`/api/v1/admin/users/${admin.userId}/tenants`, link)).status, 201);
  const switched = await (await t.signedIn(admin)).post("/api/v1/auth/switch-tenant", { tenantId });
  assert.equal(switched.status, 200);
  const { accessToken, refreshToken } = switched.body;
  return new Actor(t.url, accessToken, admin.userId, tenantId, admin.email, null, refreshToken);
}

/** A service account of all tenants that acts in the tenant. */
async function accountIn(permissions: string[]): Promise<HttpClient> {
  const maker = await t.actor({ permissions: [...ALL, "admin:system"], tenantId: t.platformTenantId });
  const name = `account ${crypto.randomUUID()}`;
  const made = await maker.post("/api/v1/service-accounts", { name, permissions, tenants: "all" });
  assert.equal(made.status, 201, JSON.stringify(made.body));
  return new HttpClient(t.url, made.body.secret, { "x-tenant-id": tenantId });
}

/** The outcomes of releasing a legal hold and of purging a Permanent file of the tenant, for a caller. */
async function answersFor(caller: HttpClient): Promise<string[]> {
  const held = await files.fileIn("Available", { tenantId, legalHold: true });
  const permanent = await files.fileIn("Available", { tenantId, retentionClass: "Permanent" });
  const answers = [
    await caller.put(`/api/v1/files/${held}/retention`, { legalHold: false, reason: "settled" }),
    await caller.post(`/api/v1/files/${permanent}/purge`, { reason: "request of the owner" }),
  ];
  return answers.map(({ status, body }) => body.code ?? `${status} ${body.legalHold} ${body.status}`);
}

const ALLOWED = ["200 false Available", "200 false Purged"];
const REFUSED = ["MISSING_PERMISSION", "MISSING_PERMISSION"];

Deno.test("only callers with admin:system in the platform tenant release holds and purge Permanent files of a tenant", async () => {
  for (const caller of [await systemAdminIn(), await accountIn([...ALL, "admin:system"])]) {
    assert.deepEqual(await answersFor(caller), ALLOWED);
  }
  const reaching = await systemAdminIn(["manage:all-users", "manage:all-tenants"]);
  for (const caller of [reaching, await accountIn(ALL), actor]) {
    assert.deepEqual(await answersFor(caller), REFUSED);
  }
});

Deno.test("an API key of a system administrator in a tenant does not act as one", async () => {
  const maker = await t.actor({ permissions: [...ALL, "manage:api-keys"], tenantId });
  const { userId } = maker;
  const [role] = await t.sql<{ id: string }[]>`
    select id from roles where tenant_id = ${t.platformTenantId} and name = 'SystemAdmin' and is_system`;
  const link = { tenantId: t.platformTenantId, roleIds: [role?.id], isDefault: false };
  assert.equal((await t.systemAdmin.post(`/api/v1/admin/users/${userId}/tenants`, link)).status, 201);
  const person = await t.signedIn(maker);
  const made = await accepted(person.post("/api/v1/api-keys", { name: "key", permissions: ALL }), 201);
  assert.deepEqual(await answersFor(new HttpClient(t.url, made.key)), REFUSED);
  assert.deepEqual(await answersFor(person), ALLOWED);
});

Deno.test("a product file stays out of reach of a system administrator who acts in a tenant", async () => {
  const admin = await systemAdminIn();
  const file = { profile: "document", fileName: "a.txt", contentType: "text/plain" };
  const path = `/api/v1/files/${await files.fileIn("Available", { tenantId: null })}`;
  const product = { ...file, sizeBytes: 1, isProduct: true };
  const answers = await Promise.all([
    admin.put(`${path}/retention`, { legalHold: true }),
    admin.post(`${path}/purge`, { reason: "x" }),
    admin.post("/api/v1/files", product),
  ]);
  await refused("403 FORBIDDEN", ...answers);
  for (const { body } of answers) {
    assert.match(body.detail, /product files are managed in the platform tenant/);
  }
});
