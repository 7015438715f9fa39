import assert from "node:assert/strict";
import { HttpClient } from "../../support/http.ts";
import { accepted, refused } from "../../support/outcomes.ts";
import { Actor, setupShared } from "../../support/setup.ts";
import { ALL, Uploading } from "./uploading.ts";

const t = await setupShared({ JOB_CONCURRENCY: "0" });
const files = new Uploading(t);
const manager = await t.actor({ permissions: ALL });
const tenantId = manager.tenantId ?? "";

/** A system administrator who is also linked to the tenant, with the manager's role, and acts in it. */
async function systemAdminIn(permissions = ["admin:system"]): Promise<Actor> {
  const admin = await t.actor({ permissions, tenantId: t.platformTenantId });
  const link = { tenantId, roleIds: [manager.roleId], isDefault: false };
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

/** What a caller gets for releasing a legal hold and for purging a Permanent file of the tenant. */
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
  for (const caller of [reaching, await accountIn(ALL), manager]) {
    assert.deepEqual(await answersFor(caller), REFUSED);
  }
});

Deno.test("an API key of a system administrator in a tenant does not act as one", async () => {
  const maker = await t.actor({ permissions: [...ALL, "manage:api-keys"], tenantId });
  const { userId } = maker;
  const [role] = await t.steward.platform.sql<{ id: string }[]>`
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
