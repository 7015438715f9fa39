import assert from "node:assert/strict";
import { setup, setupShared } from "../../support/setup.ts";
import { addApp, ageSignIns, appUser, clock, finish } from "./factors.ts";
import { ALL, Uploading } from "../files/uploading.ts";
import { bearer, forgetFailures, PASSWORD, person, signIn } from "./people.ts";

const t = await setupShared({}, { clock });
Deno.test.afterAll(() => t.stop());
Deno.test.beforeEach(() => forgetFailures(t));
const { sql } = t.steward.platform;

const require = async (tenantId: string, requireSecondFactor: boolean | null) =>
  await t.systemAdmin.put(`/api/v1/tenants/${tenantId}`, { requireSecondFactor });

Deno.test("a tenant's setting is part of the tenant; null and omitted leave it as it is", async () => {
  const made = await t.systemAdmin.post("/api/v1/tenants", { name: "Plain" });
  assert.equal(made.body.requireSecondFactor, false);
  const { id } = made.body;
  assert.equal((await require(id, true)).body.requireSecondFactor, true);
  assert.equal((await require(id, null)).body.requireSecondFactor, true);
  const renamed = await t.systemAdmin.put(`/api/v1/tenants/${id}`, { name: "Plainer" });
  assert.equal(renamed.body.requireSecondFactor, true);
  const strict = await t.systemAdmin.post("/api/v1/tenants", { name: "Strict", requireSecondFactor: true });
  assert.equal(strict.body.requireSecondFactor, true);
});

Deno.test("turning it on limits open sessions at once to adding a factor; then they are full", async () => {
  const tenantId = await t.tenant();
  const user = await person(t, { links: [tenantId] });
  const client = bearer(t, await signIn(t, user.email));
  assert.equal((await client.get("/auth/me")).status, 200);
  assert.equal((await require(tenantId, true)).status, 200);
  const refused = [
    await client.get("/auth/me"),
    await client.get("/api/v1/users"),
    await client.get("/api/v1/jobs"),
    await client.post("/auth/switch-tenant", { tenantId }),
    await client.get("/api/v1/admin/users"),
    await client.get("/auth/sessions"),
  ];
  for (const { status, body } of refused) {
    assert.equal(status, 403);
    assert.equal(body.code, "SECOND_FACTOR_REQUIRED");
  }
  assert.equal((await client.get("/auth/factors")).body.isLimited, true);
  await addApp(client);
  assert.equal((await client.get("/auth/me")).status, 200);
  assert.equal((await client.get("/auth/factors")).body.isLimited, false);
  await require(tenantId, false);
});

Deno.test("a new sign-in without a factor gets a token for adding one; refresh keeps the limit", async () => {
  const tenantId = await t.tenant();
  await require(tenantId, true);
  const user = await person(t, { links: [tenantId] });
  const signed = await signIn(t, user.email);
  assert.equal(signed.status, 200);
  const refreshed = await t.nobody.post("/auth/refresh", { refreshToken: signed.body.refreshToken });
  const client = bearer(t, refreshed);
  assert.equal((await client.get("/api/v1/roles")).body.code, "SECOND_FACTOR_REQUIRED");
  const { app } = await addApp(client);
  const again = await t.nobody.post("/auth/refresh", { refreshToken: refreshed.body.refreshToken });
  assert.equal((await bearer(t, again).get("/api/v1/roles")).status, 200, "the session keeps its factor");
  const { factorToken } = (await signIn(t, user.email)).body;
  const full = await finish(t, factorToken, { code: app.code() });
  assert.equal((await bearer(t, full).get("/api/v1/roles")).status, 200);
  assert.equal((await bearer(t, full).post("/auth/logout")).status, 204);
});

Deno.test("a session becomes limited in a tenant that requires a factor, by switch and by X-Tenant-ID", async () => {
  const [plain, strict] = [await t.tenant(), await t.tenant()];
  await require(strict, true);
  const user = await person(t, { links: [plain, strict] });
  const client = bearer(t, await signIn(t, user.email));
  const switched = await client.post("/auth/switch-tenant", { tenantId: strict });
  assert.equal(switched.status, 200);
  assert.equal((await bearer(t, switched).get("/api/v1/roles")).body.code, "SECOND_FACTOR_REQUIRED");
  const global = bearer(t, await signIn(t, user.email, PASSWORD, { global: true }));
  assert.equal((await global.get("/api/v1/roles", { "x-tenant-id": plain })).status, 200);
  const limited = await global.get("/api/v1/roles", { "x-tenant-id": strict });
  assert.equal(limited.body.code, "SECOND_FACTOR_REQUIRED");
});

Deno.test("a user who has a factor, but whose session lacks it, steps up", async () => {
  const tenantId = await t.tenant();
  const user = await person(t, { links: [tenantId] });
  const [first, second] = [bearer(t, await signIn(t, user.email)), bearer(t, await signIn(t, user.email))];
  const { app } = await addApp(first);
  await require(tenantId, true);
  assert.equal((await first.get("/auth/me")).status, 200);
  assert.equal((await second.get("/auth/me")).body.code, "SECOND_FACTOR_REQUIRED");
  const other = await second.post("/api/v1/auth/factors/passkey/options");
  assert.equal(
    other.body.code,
    "STEP_UP_REQUIRED_FORBIDDEN",
    "it must not add a factor beside the existing one",
  );
  assert.equal((await second.post("/auth/step-up", { password: PASSWORD, code: app.code() })).status, 200);
  assert.equal((await second.get("/auth/me")).status, 200);
});

Deno.test("who removes the last factor is limited at once", async () => {
  const tenantId = await t.tenant();
  await require(tenantId, true);
  const user = await appUser(t, { links: [tenantId] });
  assert.equal((await user.client.get("/auth/me")).status, 200);
  await user.client.send("DELETE", `/auth/factors/${user.factorId}`, { password: PASSWORD });
  assert.equal((await user.client.get("/auth/me")).body.code, "SECOND_FACTOR_REQUIRED");
});

Deno.test("API keys and service accounts are not bound", async () => {
  const tenantId = await t.tenant();
  const admin = await t.actor({
    tenantId,
    permissions: ["manage:api-keys", "manage:service-accounts", "read:users"],
  });
  const key = await admin.post("/api/v1/api-keys", { name: "Key", permissions: ["read:users"] });
  const account = await admin.post("/api/v1/service-accounts", {
    name: "Program",
    permissions: ["read:users"],
    tenants: [tenantId],
  });
  await require(tenantId, true);
  assert.equal((await admin.get("/api/v1/users")).body.code, "SECOND_FACTOR_REQUIRED");
  const headers = { "x-tenant-id": tenantId };
  for (const secret of [key.body.key, account.body.secret]) {
    const { status } = await t.nobody.with({ authorization: `Bearer ${secret}` }).get(
      "/api/v1/users",
      headers,
    );
    assert.equal(status, 200);
  }
});

Deno.test("the platform tenant's setting applies to its tokens and to global tokens of its users only", async () => {
  const user = await person(t, { links: [t.platformTenantId], role: "SystemAdmin" });
  const stranger = await person(t);
  await require(t.platformTenantId, true);
  try {
    const own = await signIn(t, user.email, PASSWORD, { global: true });
    assert.equal((await bearer(t, own).get("/api/v1/admin/users")).body.code, "SECOND_FACTOR_REQUIRED");
    const other = await signIn(t, stranger.email, PASSWORD, { global: true });
    assert.equal((await bearer(t, other).get("/auth/me")).status, 200);
  } finally {
    await sql`update tenants set require_second_factor = false where id = ${t.platformTenantId}`;
    for (const { platform } of t.instances) platform.rights.invalidate(null);
  }
});

Deno.test("a global token is limited if all active tenants of its user require a factor, not if one does not", async () => {
  const [plain, strict, other, closed] = await Promise.all([t.tenant(), t.tenant(), t.tenant(), t.tenant()]);
  for (const tenantId of [strict, other]) await require(tenantId, true);
  const globalOf = async (links: string[]) => {
    const user = await person(t, { links });
    return { ...user, client: bearer(t, await signIn(t, user.email, PASSWORD, { global: true })) };
  };
  const strictUser = await globalOf([strict, other]);
  for (
    const { status, body } of [
      await strictUser.client.put("/auth/me", { firstName: "New" }),
      await strictUser.client.post("/auth/change-email", { newEmail: "x@example.test", password: PASSWORD }),
      await strictUser.client.post("/auth/change-password", {
        currentPassword: PASSWORD,
        newPassword: "another good one",
      }),
    ]
  ) {
    assert.deepEqual([status, body.code], [403, "SECOND_FACTOR_REQUIRED"]);
  }
  await addApp(strictUser.client);
  assert.equal((await strictUser.client.put("/auth/me", { firstName: "New" })).status, 200);

  for (const links of [[plain, strict], []]) {
    assert.equal((await (await globalOf(links)).client.get("/auth/me")).status, 200, links.join());
  }
  const former = await person(t, { links: [strict, closed, plain] });
  await t.systemAdmin.put(`/api/v1/tenants/${closed}`, { isActive: false });
  await sql`update user_tenants set is_active = false where user_id = ${former.id} and tenant_id = ${plain}`;
  const client = bearer(t, await signIn(t, former.email, PASSWORD, { global: true }));
  assert.equal(
    (await client.get("/auth/me")).body.code,
    "SECOND_FACTOR_REQUIRED",
    "other links do not count",
  );
});

Deno.test("with REQUIRE_SECOND_FACTOR_FOR_PLATFORM, holders of platform reach need a factor, others do not", async () => {
  const strict = await setup({ REQUIRE_SECOND_FACTOR_FOR_PLATFORM: "true" }, { clock });
  try {
    const admin = await person(strict, { links: [strict.platformTenantId], role: "SystemAdmin" });
    const client = bearer(strict, await signIn(strict, admin.email));
    assert.equal((await client.get("/api/v1/admin/users")).body.code, "SECOND_FACTOR_REQUIRED");
    await addApp(client);
    assert.equal((await client.get("/api/v1/admin/users")).status, 200);
    const user = await person(strict);
    assert.equal((await bearer(strict, await signIn(strict, user.email)).get("/auth/me")).status, 200);

    // also where such a right counts in another tenant
    const files = new Uploading(strict);
    const manager = await strict.actor({ permissions: ALL });
    const tenantId = manager.tenantId ?? "";
    const held = await files.fileIn("Available", { tenantId, legalHold: true });
    const link = { tenantId, roleIds: [manager.roleId], isDefault: true };
    const other = await person(strict, { links: [strict.platformTenantId], role: "SystemAdmin" });
    assert.equal((await client.post(`/api/v1/admin/users/${other.id}/tenants`, link)).status, 201);
    const inTenant = bearer(strict, await signIn(strict, other.email, PASSWORD, { tenantId }));
    const release = () => inTenant.put(`/api/v1/files/${held}/retention`, { legalHold: false });
    assert.equal((await release()).body.code, "MISSING_PERMISSION");
    await addApp(inTenant);
    assert.equal((await release()).body.legalHold, false);
  } finally {
    await strict.stop();
  }
});

Deno.test("a limited session that is old first renews its sign-in with the password", async () => {
  const tenantId = await t.tenant();
  const user = await person(t, { links: [tenantId] });
  const client = bearer(t, await signIn(t, user.email));
  await ageSignIns(t, user.id);
  await require(tenantId, true);
  assert.equal((await client.post("/auth/factors/totp")).body.code, "STEP_UP_REQUIRED_FORBIDDEN");
  assert.equal((await client.post("/auth/step-up", { password: PASSWORD })).status, 200);
  assert.equal((await client.get("/auth/me")).body.code, "SECOND_FACTOR_REQUIRED");
  await addApp(client);
  assert.equal((await client.get("/auth/me")).status, 200);
});
