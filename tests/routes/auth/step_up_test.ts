import assert from "node:assert/strict";
import { hashesWaiting } from "../../../infra/passwords.ts";
import { TestAuthenticator } from "../../support/authenticator.ts";
import { setupShared } from "../../support/setup.ts";
import { addPasskey, ageSignIns, appUser, clock, siteOf } from "./factors.ts";
import { bearer, forgetFailures, PASSWORD, person, signIn } from "./people.ts";

const t = await setupShared({}, { clock });
Deno.test.afterAll(() => t.stop());
Deno.test.beforeEach(() => forgetFailures(t));
const { sql } = t.steward.platform;
const site = siteOf({ baseUrl: t.steward.platform.baseUrl() });
const path = "/api/v1/auth/step-up";

/** A user of the platform tenant with admin:system and an authenticator app, who signed in long ago. */
async function oldSystemAdmin() {
  const user = await appUser(t, { links: [t.platformTenantId], role: "SystemAdmin" });
  await ageSignIns(t, user.id);
  return user;
}

Deno.test("creating credentials after a long time needs a step-up of users with a second factor", async () => {
  const user = await oldSystemAdmin();
  const key = { name: "Key", permissions: ["read:users"] };
  const account = { name: "Program", permissions: ["read:users"], tenants: "all" };
  const attempts = [
    () => user.client.post("/api/v1/api-keys", key),
    () => user.client.post("/api/v1/service-accounts", account),
    () => user.client.post("/api/v1/auth/factors/recovery-codes"),
  ];
  for (const attempt of attempts) {
    const { status, body } = await attempt();
    assert.equal(status, 403);
    assert.equal(body.code, "STEP_UP_REQUIRED_FORBIDDEN");
    assert.match(body.detail, /\/auth\/step-up/);
  }
  const stepped = await user.client.post(path, { password: PASSWORD, code: user.app.code() });
  assert.equal(stepped.status, 200);
  assert.deepEqual(stepped.body.amr.toSorted(), ["mfa", "otp", "pwd"]);
  for (const attempt of attempts) assert.ok((await attempt()).status < 300);
  await ageSignIns(t, user.id, 14);
  assert.equal((await user.client.post("/api/v1/api-keys", { ...key, name: "Other" })).status, 201);
});

Deno.test("exports and erasures of users and tenants need a step-up", async () => {
  const user = await oldSystemAdmin();
  const target = await person(t);
  const [name] = ["Left"];
  const left = await t.tenant({ name });
  await sql`update tenants set is_active = false where id = ${left}`;
  const asked = { reason: "asked" };
  const attempts = [
    () => user.client.post(`/api/v1/users/${target.id}/export`),
    () => user.client.post(`/api/v1/users/${target.id}/erase`, asked),
    () => user.client.post(`/api/v1/admin/users/${target.id}/export`),
    () => user.client.post(`/api/v1/admin/tenants/${left}/export`),
    () => user.client.post(`/api/v1/admin/users/${target.id}/erase`, asked),
    () => user.client.post(`/api/v1/admin/tenants/${left}/erase`, { ...asked, name }),
  ];
  for (const attempt of attempts) assert.equal((await attempt()).body.code, "STEP_UP_REQUIRED_FORBIDDEN");
  await user.client.post(path, { password: PASSWORD, code: user.app.code() });
  const statuses = [];
  for (const attempt of attempts) statuses.push((await attempt()).status);
  assert.deepEqual(statuses, [404, 404, 202, 202, 202, 202], "the target is of another tenant");
});

Deno.test("users without a second factor, keys and programs need no step-up for the product's routes", async () => {
  const user = await person(t, { links: [t.platformTenantId], role: "SystemAdmin" });
  const client = bearer(t, await signIn(t, user.email));
  await ageSignIns(t, user.id);
  const { status, body } = await client.post("/api/v1/service-accounts", {
    name: "Old program",
    permissions: ["read:users", "manage:all-users"],
    tenants: "all",
  });
  assert.equal(status, 201);
  assert.equal(
    (await client.post("/api/v1/roles", {
      name: "Every user",
      permissionIds: [await idOf("manage:all-users")],
    })).status,
    201,
  );
  const program = t.nobody.with({ authorization: `Bearer ${body.secret}` });
  assert.equal((await program.get("/api/v1/admin/users")).status, 200);
});

async function idOf(code: string): Promise<string> {
  const [permission] = await sql<{ id: string }[]>`
    select id from permissions where code = ${code} and tenant_id is null`;
  return permission?.id ?? "";
}

Deno.test("granting and assigning platform reach needs a step-up, tenant reach does not", async () => {
  const user = await oldSystemAdmin();
  const [platformReach, tenantReach] = [await idOf("manage:all-tenants"), await idOf("read:users")];
  const ordinary = await user.client.post("/api/v1/roles", { name: "Readers", permissionIds: [tenantReach] });
  assert.equal(ordinary.status, 201);
  const roleId = ordinary.body.id;
  const { code } = (await user.client.post(`/api/v1/roles/${roleId}/permissions/${platformReach}`)).body;
  assert.equal(code, "STEP_UP_REQUIRED_FORBIDDEN");
  const put = await user.client.put(`/api/v1/roles/${roleId}`, {
    permissionIds: [tenantReach, platformReach],
  });
  assert.equal(put.body.code, "STEP_UP_REQUIRED_FORBIDDEN");
  const other = await person(t, { links: [] });
  const [admin] = await sql<{ id: string }[]>`
    select id from roles where tenant_id = ${t.platformTenantId} and name = 'SystemAdmin' and is_system`;
  const link = (id = "") =>
    user.client.post(`/api/v1/admin/users/${other.id}/tenants`, {
      tenantId: t.platformTenantId,
      roleIds: [id],
      isDefault: true,
    });
  assert.equal((await link(admin?.id)).body.code, "STEP_UP_REQUIRED_FORBIDDEN");
  const invitation = { email: `invited-${other.email}`, roleIds: [admin?.id] };
  const invited = await user.client.post("/api/v1/users/invite", invitation);
  assert.deepEqual([invited.status, invited.body.code], [403, "STEP_UP_REQUIRED_FORBIDDEN"]);
  await user.client.post(path, { password: PASSWORD, code: user.app.code() });
  assert.equal((await link(admin?.id)).status, 201);
});

Deno.test("a step-up takes the password with a code or recovery code, or a passkey alone", async () => {
  const user = await appUser(t);
  const { authenticator } = await addPasskey(user.client, new TestAuthenticator(site));
  await ageSignIns(t, user.id);
  const refused = [{}, { password: PASSWORD }, { code: user.app.code() }];
  for (const body of refused) {
    assert.equal((await user.client.post(path, body)).status, 400, JSON.stringify(body));
  }
  const wrong = await user.client.post(path, { password: "wrong", code: user.app.code() });
  assert.match(wrong.body.errors[0], /^password: /);
  const wrongCode = await user.client.post(path, { password: PASSWORD, code: user.app.code(8) });
  assert.match(wrongCode.body.errors[0], /^code: /);
  const { body: choice } = await user.client.post(`${path}/options`);
  assert.deepEqual([choice.factors, choice.hasPassword], [["totp", "passkey", "recoveryCode"], true]);
  const faulty = authenticator.get(choice.passkeyOptions, { isUserVerified: false });
  assert.match((await user.client.post(path, { passkey: faulty })).body.errors[0], /^passkey: /);
  const { body: again } = await user.client.post(`${path}/options`);
  const byPasskey = await user.client.post(path, { passkey: authenticator.get(again.passkeyOptions) });
  assert.equal(byPasskey.status, 200);
  const recoveryCode = user.recoveryCodes[0];
  assert.equal((await user.client.post(path, { password: PASSWORD, recoveryCode })).status, 200);
  const [session] = (await user.client.get("/auth/sessions")).body;
  assert.ok(Date.now() - Date.parse(session.authenticatedAt) < 60_000);
});

Deno.test("wrong codes in step-ups lock like those of sign-ins", async () => {
  const user = await appUser(t);
  const attempt = (code: string) => user.client.post(path, { password: PASSWORD, code });
  for (let n = 0; n < 5; n++) assert.equal((await attempt(user.app.code(9))).status, 400);
  const { status, body } = await attempt(user.app.code());
  assert.equal(status, 401);
  assert.equal(body.code, "ACCOUNT_LOCKED_UNAUTHORIZED");
});

Deno.test("of many guesses of the password at once, a right one is refused once the account is locked", async () => {
  const user = await appUser(t);
  const recoveryCode = user.recoveryCodes[0];
  const attempts = {
    "step-up": (password: string) => user.client.post(path, { password, recoveryCode }),
    "removal of a factor": (password: string) =>
      user.client.send("DELETE", `/auth/factors/${user.factorId}`, { password }),
  };
  for (const [name, attempt] of Object.entries(attempts)) {
    const guesses = Array.from({ length: 25 }, () => attempt("wrong"));
    while (hashesWaiting() < 8) await new Promise((resolve) => setTimeout(resolve, 1));
    const right = await attempt(PASSWORD);
    assert.ok(
      right.status === 400 || right.body.code === "ACCOUNT_LOCKED_UNAUTHORIZED",
      `${name}: ${right.status}`,
    );
    await Promise.all(guesses);
    await forgetFailures(t);
  }
  assert.equal((await user.client.get("/auth/factors")).body.recoveryCodesLeft, 10);
});

Deno.test("without a second factor the password alone renews the sign-in; adding a factor needs a recent one", async () => {
  const user = await person(t);
  const client = bearer(t, await signIn(t, user.email));
  await ageSignIns(t, user.id);
  for (const route of ["totp", "passkey/options"]) {
    const { body } = await client.post(`/api/v1/auth/factors/${route}`);
    assert.equal(body.code, "STEP_UP_REQUIRED_FORBIDDEN");
  }
  assert.equal((await client.post(path, {})).status, 400);
  const { body } = await client.post(path, { password: PASSWORD });
  assert.deepEqual(body.amr, ["pwd"]);
  assert.equal((await client.post("/api/v1/auth/factors/totp")).status, 200);
});

Deno.test("a step-up renews one session only, and outsiders' sessions are refused", async () => {
  const user = await appUser(t);
  const token = (await signIn(t, user.email)).body.factorToken;
  const other = await t.nobody.post("/auth/login/factor", { factorToken: token, code: user.app.code() });
  await ageSignIns(t, user.id);
  const recoveryCode = user.recoveryCodes[0];
  assert.equal((await user.client.post(path, { password: PASSWORD, recoveryCode })).status, 200);
  assert.equal((await user.client.post("/auth/factors/recovery-codes")).status, 200);
  const refused = await bearer(t, other).post("/auth/factors/recovery-codes");
  assert.equal(refused.body.code, "STEP_UP_REQUIRED_FORBIDDEN");
  assert.equal((await t.nobody.post(path, { password: PASSWORD })).body.code, "TOKEN_MISSING");
});

Deno.test("factors of a user with platform reach are removed only by who has it too", async () => {
  const user = await appUser(t, { links: [t.platformTenantId], role: "SystemAdmin" });
  const clerk = await t.actor({ tenantId: t.platformTenantId, role: "Admin" });
  const manager = await t.actor({ tenantId: t.platformTenantId, permissions: ["manage:all-users"] });
  const attempts = [
    () => clerk.delete(`/api/v1/users/${user.id}/factors`),
    () => manager.delete(`/api/v1/admin/users/${user.id}/factors`),
  ];
  for (const attempt of attempts) {
    const { status, body } = await attempt();
    assert.deepEqual([status, body.code], [403, "MISSING_PERMISSION"]);
    assert.match(body.detail, /admin:system/);
  }
  assert.equal((await user.client.get("/auth/me")).status, 200, "the sessions stay");
  assert.equal((await signIn(t, user.email)).body.code, "SECOND_FACTOR_REQUIRED_UNAUTHORIZED");
  const ordinary = await appUser(t);
  assert.equal((await manager.delete(`/api/v1/admin/users/${ordinary.id}/factors`)).status, 200);
  assert.equal((await t.systemAdmin.delete(`/api/v1/admin/users/${user.id}/factors`)).status, 200);
});
