import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { type Actor, setup } from "../../support/setup.ts";
import { until } from "../../support/until.ts";
import { CLERK, columnsWith, done, ended, signIn } from "./support.ts";
import { unzipped } from "./zip.ts";

const t = await setup();
Deno.test.afterAll(() => t.stop());
const { sql } = t.steward.platform;
const admin = t.systemAdmin;
const PASSWORD = "violet harbour 91 lantern";
const CLEAN = new TextEncoder().encode("Twelve plain words in a document that no signature knows at all.\n");

/** A tenant with a clerk, and users and messages that occur nowhere else. */
async function company() {
  const mark = crypto.randomUUID().slice(0, 8);
  const name = `Narwhal${mark}`;
  const tenantId = await t.tenant({ name });
  const clerk = await t.actor({ tenantId, permissions: CLERK });
  const users = await Promise.all([1, 2].map(async (n) => {
    const email = `member${n}.${mark}@personal.example`;
    const { body } = await clerk.post("/api/v1/users", {
      email,
      password: PASSWORD,
      firstName: `Otterly${mark}`,
    });
    return { id: body.id as string, email };
  }));
  await clerk.post("/api/v1/notifications/send", {
    channel: "Email",
    recipients: users.map(({ email }) => ({ address: email })),
    subject: `Subject ${mark}`,
    textBody: `Message ${mark}`,
  });
  const job = await clerk.post("/api/v1/jobs", {
    jobTypeName: "steward.echo",
    serializedArgs: JSON.stringify([mark]),
  });
  await t.settled(job.body.id);
  return { name, mark, tenantId, clerk, users };
}

const erase = (by: Actor, tenantId: string, body: unknown) =>
  by.post(`/api/v1/admin/tenants/${tenantId}/erase`, body);
const deactivate = (tenantId: string) => admin.put(`/api/v1/tenants/${tenantId}`, { isActive: false });

Deno.test("the export of a tenant has its rows, and none of another", async () => {
  const [mine, other] = [await company(), await company()];
  const { fileId, kind, tenantId } = await done(admin, `/api/v1/admin/tenants/${mine.tenantId}/export`);
  assert.deepEqual([kind, tenantId], ["TenantExport", mine.tenantId]);
  const reader = await t.actor({
    tenantId: t.platformTenantId,
    permissions: ["manage:all-tenants", "read:files"],
  });
  const { fileId: readable } = await done(reader, `/api/v1/admin/tenants/${mine.tenantId}/export`);
  assert.equal(
    (await reader.get(`/api/v1/files/${fileId}`)).body.code,
    "FILE_NOT_FOUND",
    "another asked for it",
  );
  const { body } = await until(
    () => reader.get(`/api/v1/files/${readable}/download-url`),
    ({ status }) => status === 200,
  );
  const files = unzipped(Buffer.from(await (await fetch(body.url)).arrayBuffer()));
  const text = Object.values(files).join("\n");
  assert.ok(files["access/users.jsonl"]?.includes(mine.users[0]?.email ?? "?"));
  assert.ok(files["notifications/messages.jsonl"]?.includes(`Message ${mine.mark}`));
  assert.ok(files["jobs/jobs.jsonl"]?.includes("steward.echo"));
  assert.ok(files["audit/audit-log.jsonl"]?.includes("user.create"));
  assert.ok(!text.includes(other.mark) && !text.includes(other.tenantId));
  const [{ passwordHash } = { passwordHash: "" }] = await sql`
    select password_hash from users where id = ${mine.users[0]?.id ?? null}`;
  assert.ok(!text.includes(passwordHash));
});

Deno.test("who may export and erase a tenant", async () => {
  const { tenantId, clerk } = await company();
  assert.equal(
    (await clerk.post(`/api/v1/admin/tenants/${tenantId}/export`)).body.code,
    "MISSING_PERMISSION",
  );
  const body = { reason: "r", name: "n" };
  assert.equal((await erase(clerk, tenantId, body)).body.code, "MISSING_PERMISSION");
  const unknown = crypto.randomUUID();
  assert.equal((await admin.post(`/api/v1/admin/tenants/${unknown}/export`)).body.code, "TENANT_NOT_FOUND");
  assert.equal((await erase(admin, unknown, body)).body.code, "TENANT_NOT_FOUND");
  assert.equal((await erase(admin, t.platformTenantId, body)).body.code, "TENANT_PLATFORM_CONFLICT");
  assert.equal(
    (await admin.get(`/api/v1/admin/tenants/${tenantId}/data-requests/${unknown}`)).body.code,
    "DATA_REQUEST_NOT_FOUND",
  );
});

Deno.test("a tenant is erased with its users, unless they belong to another tenant too", async () => {
  const { name, mark, tenantId, clerk, users: [only, shared] } = await company();
  const other = await company();
  const linked = await admin.post(`/api/v1/admin/users/${shared?.id}/tenants`, {
    tenantId: other.tenantId,
    roleIds: [other.clerk.roleId],
  });
  assert.equal(linked.status, 201, JSON.stringify(linked.body));
  const body = { reason: "contract ended", name };
  assert.equal((await erase(admin, tenantId, body)).body.code, "TENANT_ACTIVE_CONFLICT");
  assert.equal((await deactivate(tenantId)).status, 200);
  const wrong = await erase(admin, tenantId, { ...body, name: name.toLowerCase() });
  assert.deepEqual([wrong.status, wrong.body.code], [400, "VALIDATION_ERROR"]);
  assert.equal((await clerk.get("/api/v1/users")).status, 401);

  const answers = await Promise.all([erase(admin, tenantId, body), erase(admin, tenantId, body)]);
  assert.deepEqual(answers.map(({ status }) => status), [202, 202], JSON.stringify(answers[0]?.body));
  assert.equal(answers[0]?.body.id, answers[1]?.body.id);
  await ended(admin, answers[0]?.body.statusUrl);

  const gone = [only?.email ?? "?", clerk.email, `Message ${mark}`, `Subject ${mark}`];
  assert.deepEqual(await columnsWith(sql, gone), []);
  const [kept] = await sql`select email, deleted_at, security_version from users where id = ${
    shared?.id ?? null
  }`;
  assert.deepEqual([kept?.email, kept?.deletedAt], [shared?.email, null]);
  assert.equal((await admin.get(`/api/v1/tenants/${tenantId}`)).status, 404);
  // changes of counts have the tenant's id until they are added to the counts
  const left = await until(async () => {
    await t.steward.sweep();
    return await rowsOf(tenantId);
  }, (tables) => !tables.some((table) => table.endsWith("_count_changes")));
  assert.deepEqual(left, ["audit_log", "data_requests", "files"].filter((table) => left.includes(table)));
  const log = await admin.get(`/api/v1/audit-log?targetId=${tenantId}&action=tenant.erase`);
  assert.equal(log.body.totalCount, 1);
  assert.equal(log.body.items[0].after.reason, "contract ended");
  assert.equal((await erase(admin, tenantId, body)).body.id, answers[0]?.body.id, "asked again");
  assert.equal((await signIn(t, only?.email ?? "", PASSWORD)).status, 401);
});

/** The tables that still have rows of a tenant. */
async function rowsOf(tenantId: string): Promise<string[]> {
  const columns = await sql<{ table: string; column: string }[]>`
    select table_name as "table", column_name as "column" from information_schema.columns
    where table_schema = 'public' and column_name in ('tenant_id', 'tenant_key', 'only_tenant_id')
      and table_name not like '%_deltas'`; // differences of totals, which a job adds up
  const found: string[] = [];
  for (const { table, column } of columns) {
    const [row] = await sql.unsafe<{ n: number }[]>(
      `select count(*)::int as n from "${table}" where "${column}" = $1`,
      [tenantId],
    );
    if (row && row.n > 0) found.push(table);
  }
  return [...new Set(found)].sort();
}

Deno.test("files of an erased tenant are purged; one under legal hold refuses the erasure", async () => {
  const { name, tenantId, clerk } = await company();
  const { body: reserved } = await clerk.post("/api/v1/files", {
    profile: "document",
    fileName: "walrus.txt",
    contentType: "text/plain",
    sizeBytes: CLEAN.length,
  });
  await fetch(reserved.uploadUrl, { method: "PUT", headers: reserved.requiredHeaders, body: CLEAN });
  await clerk.post(`/api/v1/files/${reserved.fileId}/complete`);
  await until(async () => (await clerk.get(`/api/v1/files/${reserved.fileId}`)).body.status === "Available");
  const held = await clerk.put(`/api/v1/files/${reserved.fileId}/retention`, { legalHold: true });
  assert.equal(held.status, 200, JSON.stringify(held.body));
  await deactivate(tenantId);
  const refused = await erase(admin, tenantId, { reason: "r", name });
  assert.deepEqual([refused.status, refused.body.code], [409, "FILE_LEGAL_HOLD_CONFLICT"]);
  assert.match(refused.body.detail, /1 file/);
  assert.equal((await admin.get(`/api/v1/tenants/${tenantId}`)).status, 200, "nothing was changed");
  await sql`update files set legal_hold = false where id = ${reserved.fileId}`;
  await done(admin, `/api/v1/admin/tenants/${tenantId}/erase`, { reason: "r", name });
  const [file] =
    await sql`select status, purge_reason, file_name, reference_count from files where id = ${reserved.fileId}`;
  assert.deepEqual({ ...file }, {
    status: "Purged",
    purgeReason: "job:tenant-erased",
    fileName: "erased",
    referenceCount: 0,
  });
});

Deno.test("a group with children cannot be erased", async () => {
  const group = await t.tenant({ name: `Group${crypto.randomUUID()}`, type: "Group" });
  await t.tenant({ parentTenantId: group });
  const { body } = await admin.get(`/api/v1/tenants/${group}`);
  await deactivate(group);
  const refused = await erase(admin, group, { reason: "r", name: body.name });
  assert.equal(refused.body.code, "TENANT_HAS_CHILDREN_CONFLICT");
});
