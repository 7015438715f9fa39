import assert from "node:assert/strict";
import { newId } from "../../../domain/shared/ids.ts";
import { TestAuthenticator } from "../../support/authenticator.ts";
import { accepted, refused } from "../../support/outcomes.ts";
import { catalogRole } from "../access/users.ts";
import { makeClient } from "../oauth/flow.ts";
import { addPasskey, ageSignIns, type AppUser, appUser, finish, half, siteOf } from "./factors.ts";
import { bearer, PASSWORD, person, racing, setupSignIns, signedIn, withToken } from "./people.ts";

const t = await setupSignIns();
const { sql } = t.steward.platform;
const site = siteOf({ baseUrl: t.steward.platform.baseUrl() });
const path = "/api/v1/auth/step-up";
const NEEDED = "403 STEP_UP_REQUIRED_FORBIDDEN";

/** A user of the platform tenant with admin:system and an authenticator app, who signed in long ago. */
async function oldSystemAdmin() {
  const user = await appUser(t, { links: [t.platformTenantId], role: "SystemAdmin" });
  await ageSignIns(t, user.id);
  return user;
}
const stepUp = ({ client, app }: AppUser) =>
  accepted(client.post(path, { password: PASSWORD, code: app.code() }), 200);

async function permissionId(code: string): Promise<string> {
  const [permission] = await sql`select id from permissions where code = ${code} and tenant_id is null`;
  return permission?.id;
}

Deno.test("creating credentials after a long time needs a step-up of users with a second factor, and so does exporting or erasing others", async () => {
  const { client, ...user } = await oldSystemAdmin();
  const key = { name: "Key", permissions: ["read:users"] };
  const target = await person(t);
  const [reason, name] = ["asked", "Left"];
  const left = await t.tenant({ name });
  await sql`update tenants set is_active = false where id = ${left}`;
  const attempts = [
    () => client.post("/api/v1/api-keys", key),
    () => client.post("/api/v1/service-accounts", { ...key, tenants: "all" }),
    () => client.post("/api/v1/auth/factors/recovery-codes"),
    () => client.post(`/api/v1/admin/users/${target.id}/export`),
    () => client.post(`/api/v1/admin/tenants/${left}/export`),
    () => client.post(`/api/v1/admin/users/${target.id}/erase`, { reason }),
    () => client.post(`/api/v1/admin/tenants/${left}/erase`, { reason, name }),
  ];
  for (const attempt of attempts) {
    const answer = await attempt();
    await refused(NEEDED, answer);
    assert.match(answer.body.detail, /\/auth\/step-up/);
  }
  const { amr } = await stepUp({ ...user, client });
  assert.deepEqual(amr.toSorted(), ["mfa", "otp", "pwd"]);
  for (const attempt of attempts) await accepted(attempt());
  await ageSignIns(t, user.id, 14);
  await accepted(client.post("/api/v1/api-keys", { ...key, name: "Other" }), 201);
});

Deno.test("the file of an export of personal data needs a step-up too, that of a list does not", async () => {
  const tenantId = await t.tenant();
  const user = await appUser(t, { links: [tenantId], role: "Admin" });
  await ageSignIns(t, user.id);
  const download = async (contentType: string) => {
    const id = newId();
    await sql`insert into files (id, tenant_id, profile, file_name, declared_content_type, size_bytes, staging_key,
        upload_expires_at, created_by)
      values (${id}, ${tenantId}, 'export', 'export', ${contentType}, 1, ${id}, now(), ${user.id})`;
    return () => user.client.get(`/api/v1/files/${id}/download-url`);
  };
  const [personal, ofList] = [await download("application/zip"), await download("text/csv")];
  await refused("409 FILE_NOT_AVAILABLE_CONFLICT", ofList());
  await refused(NEEDED, personal());
  await stepUp(user);
  await refused("409 FILE_NOT_AVAILABLE_CONFLICT", personal());
});

Deno.test("changing where a client's users go, or what its tokens are for, needs a recent sign-in", async () => {
  const user = await oldSystemAdmin();
  const { id, audience } = await makeClient(t.systemAdmin, { firstParty: false });
  const put = (change: Record<string, unknown>) => user.client.put(`/api/v1/oauth-clients/${id}`, change);
  const sensitive = [
    { redirectUris: ["https://other.test/callback"] },
    { postLogoutRedirectUris: ["https://other.test/bye"] },
    { audience: `${audience}/other` },
    { firstParty: true },
  ];
  for (const change of sensitive) await refused(NEEDED, put({ ...change, name: "Other" }));
  const same = { redirectUris: ["https://app.test/callback"], audience, name: "Renamed" };
  assert.equal((await accepted(put(same))).name, "Renamed", "the same values change nothing sensitive");
  await stepUp(user);
  for (const change of sensitive) await accepted(put(change));
});

Deno.test("users without a second factor, keys and programs need no step-up for the product's routes", async () => {
  const user = await signedIn(t, { links: [t.platformTenantId], role: "SystemAdmin" });
  await ageSignIns(t, user.id);
  const account = { name: "Old program", permissions: ["read:users", "manage:all-users"], tenants: "all" };
  const { secret } = await accepted(user.me.post("/api/v1/service-accounts", account), 201);
  const role = { name: "Every user", permissionIds: [await permissionId("manage:all-users")] };
  await accepted(user.me.post("/api/v1/roles", role), 201);
  await accepted(withToken(t, secret).get("/api/v1/admin/users"));
});

Deno.test("granting and assigning platform reach needs a step-up, tenant reach does not", async () => {
  const user = await oldSystemAdmin();
  const { client } = user;
  const platformReach = await permissionId("manage:all-tenants");
  const tenantReach = await permissionId("read:users");
  const readers = { name: "Readers", permissionIds: [tenantReach] };
  const { id } = await accepted(client.post("/api/v1/roles", readers), 201);
  const other = await person(t, { links: [] });
  const tenantId = t.platformTenantId;
  const roleIds = [await catalogRole(t, "SystemAdmin", tenantId)];
  const link = () => client.post(`/api/v1/admin/users/${other.id}/tenants`, { tenantId, roleIds });
  await refused(
    NEEDED,
    client.post(`/api/v1/roles/${id}/permissions/${platformReach}`),
    client.put(`/api/v1/roles/${id}`, { permissionIds: [tenantReach, platformReach] }),
    link(),
    client.post("/api/v1/users/invite", { email: `invited-${other.email}`, roleIds }),
  );
  await stepUp(user);
  await accepted(link(), 201);
});

Deno.test("a step-up takes the password with a code or recovery code, or a passkey alone", async () => {
  const user = await appUser(t);
  const { client, app } = user;
  const other = bearer(t, await finish(t, await half(t, user), { code: app.code(1) }));
  const { authenticator } = await addPasskey(client, new TestAuthenticator(site));
  await ageSignIns(t, user.id);
  const attempt = (body: object) => client.post(path, body);
  const password = PASSWORD;
  await refused("400 VALIDATION_ERROR", attempt({}), attempt({ password }), attempt({ code: app.code() }));
  const mistake = async (body: object) => (await attempt(body)).body.errors[0];
  assert.match(await mistake({ password: "wrong", code: app.code() }), /^password: /);
  assert.match(await mistake({ password, code: app.code(8) }), /^code: /);
  const options = () => accepted(client.post(`${path}/options`));
  const { factors, hasPassword, passkeyOptions } = await options();
  assert.deepEqual([factors, hasPassword], [["totp", "passkey", "recoveryCode"], true]);
  assert.match(
    await mistake({ passkey: authenticator.get(passkeyOptions, { isUserVerified: false }) }),
    /^passkey: /,
  );
  await accepted(attempt({ passkey: authenticator.get((await options()).passkeyOptions) }), 200);
  await ageSignIns(t, user.id);
  await accepted(attempt({ password, recoveryCode: user.recoveryCodes[0] }), 200);
  await accepted(client.post("/auth/factors/recovery-codes"));
  await refused(NEEDED, other.post("/auth/factors/recovery-codes")); // only one session is renewed
});

Deno.test("wrong codes and passwords in step-ups lock like those of sign-ins, and use up no recovery code", async () => {
  const [one, two] = [await appUser(t), await appUser(t)];
  const locked = "401 ACCOUNT_LOCKED_UNAUTHORIZED";
  const attempt = ({ client }: AppUser, proof: object) => client.post(path, { password: PASSWORD, ...proof });
  const [right, recoveryCode] = [{ code: one.app.code() }, two.recoveryCodes[0]];
  const wrong = "400 VALIDATION_ERROR";
  const guess = () => attempt(two, { password: "wrong", recoveryCode });
  for (let n = 0; n < 5; n++) {
    await refused(wrong, attempt(one, { code: one.app.code(9) }));
    if (n < 4) await refused(wrong, guess());
  }
  const raced = await racing(t, two.id, guess, () => attempt(two, { recoveryCode }));
  assert.deepEqual(raced, [wrong, locked], "also of simultaneous guesses");
  await refused(locked, attempt(one, right), attempt(two, { recoveryCode }));
  assert.equal((await accepted(two.client.get("/auth/factors"))).recoveryCodesLeft, 10);
});

Deno.test("without a second factor the password alone renews the sign-in; adding a factor needs a recent one", async () => {
  const { id, me } = await signedIn(t);
  await ageSignIns(t, id);
  const routes = ["totp", "passkey/options"].map((route) => `/api/v1/auth/factors/${route}`);
  await refused(NEEDED, ...routes.map((route) => me.post(route)));
  await refused("400 VALIDATION_ERROR", me.post(path, {}));
  assert.deepEqual((await accepted(me.post(path, { password: PASSWORD }))).amr, ["pwd"]);
  for (const route of routes) await accepted(me.post(route));
});
