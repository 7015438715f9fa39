import assert from "node:assert/strict";
import { newId } from "../../../domain/shared/ids.ts";
import { TestAuthenticator } from "../../support/authenticator.ts";
import { accepted, refused } from "../../support/outcomes.ts";
import { catalogRole, insertLink } from "../access/users.ts";
import { makeClient } from "../oauth/flow.ts";
import { addApp, addPasskey, ageSignIns, type AppUser, appUser, finish, half, siteOf } from "./factors.ts";
import {
  bearer,
  clock,
  PASSWORD,
  person,
  racing,
  refresh,
  setupSignIns,
  signedIn,
  signIn,
  withToken,
} from "./people.ts";
import { atEnd } from "../../support/at_end.ts";
import type { HttpClient } from "../../support/http.ts";
import { setup, type TestService } from "../../support/setup.ts";
import { inTenant, makeAccount, USERS } from "./service_accounts.ts";
import { ALL, Uploading } from "../files/uploading.ts";

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

const ME = "/auth/me";
const LIMITED = "403 SECOND_FACTOR_REQUIRED";

const require = (tenantId: string, requireSecondFactor: boolean | null) =>
  accepted(t.systemAdmin.put(`/api/v1/tenants/${tenantId}`, { requireSecondFactor }));
const strictTenant = async (): Promise<string> => {
  const strict = { name: crypto.randomUUID(), requireSecondFactor: true };
  return (await accepted(t.systemAdmin.post("/api/v1/tenants", strict))).id;
};
const globalOf = async (email: string, s: TestService = t) =>
  bearer(s, await signIn(s, email, PASSWORD, { global: true }));
const isLimited = async (client: HttpClient) => (await accepted(client.get("/auth/factors"))).isLimited;

Deno.test("turning it on limits open sessions at once to adding a factor, old ones after their password; then they are full", async () => {
  const { id, me, tenantId } = await signedIn(t);
  await accepted(me.get(ME));
  await require(tenantId, true);
  await refused(LIMITED, me.get(ME));
  assert.equal(await isLimited(me), true);
  await ageSignIns(t, id);
  await refused("403 STEP_UP_REQUIRED_FORBIDDEN", me.post("/auth/factors/totp"));
  await accepted(me.post("/auth/step-up", { password: PASSWORD }));
  await refused(LIMITED, me.get(ME));
  const { factorId } = await addApp(me);
  await accepted(me.get(ME));
  assert.equal(await isLimited(me), false);
  await accepted(me.send("DELETE", `/auth/factors/${factorId}`));
  await refused(LIMITED, me.get(ME)); // who removes the last factor is limited at once
});

Deno.test("a new sign-in without a factor gets a token for adding one; refresh keeps the limit", async () => {
  const { email, tokens } = await signedIn(t, { links: [await strictTenant()] });
  const refreshed = await accepted(refresh(t, tokens));
  const client = withToken(t, refreshed.accessToken);
  await refused(LIMITED, client.get("/api/v1/roles"));
  const { app } = await addApp(client);
  const again = await refresh(t, refreshed);
  await accepted(bearer(t, again).get("/api/v1/roles")); // the session keeps its factor
  const full = bearer(t, await finish(t, await half(t, { email }), { code: app.code() }));
  await accepted(full.get("/api/v1/roles"));
});

Deno.test("a session becomes limited in a tenant that requires a factor, by switch and by X-Tenant-ID", async () => {
  const [plain, strict] = [await t.tenant(), await strictTenant()];
  const { email, me } = await signedIn(t, { links: [plain, strict] });
  const switched = await me.post("/auth/switch-tenant", { tenantId: strict });
  await refused(LIMITED, bearer(t, switched).get("/api/v1/roles"));
  const global = await globalOf(email);
  await accepted(global.get("/api/v1/roles", { "x-tenant-id": plain }));
  await refused(LIMITED, global.get("/api/v1/roles", { "x-tenant-id": strict }));
});

Deno.test("a user who has a factor, but whose session lacks it, steps up", async () => {
  const { id, email, me, tenantId } = await signedIn(t);
  const { app } = await addApp(me);
  const second = bearer(t, await finish(t, await half(t, { email }), { code: app.code() }));
  await sql`update sessions set amr = '{pwd}'
    where id = (select id from sessions where user_id = ${id} order by created_at desc limit 1)`;
  await require(tenantId, true);
  await accepted(me.get(ME));
  await refused(LIMITED, second.get(ME));
  // it must not add a factor beside the existing one
  await refused("403 STEP_UP_REQUIRED_FORBIDDEN", second.post("/api/v1/auth/factors/passkey/options"));
  await accepted(second.post("/auth/step-up", { password: PASSWORD, code: app.code(1) }));
  await accepted(second.get(ME));
});

Deno.test("API keys and service accounts are not bound", async () => {
  const admin = await t.actor({ permissions: ["manage:api-keys", "manage:service-accounts", "read:users"] });
  const tenantId = admin.tenantId ?? "";
  const ofKey = { name: "Program", permissions: ["read:users"] };
  const { key } = await accepted(admin.post("/api/v1/api-keys", ofKey));
  const { secret } = await makeAccount(admin);
  await require(tenantId, true);
  await refused(LIMITED, admin.get("/api/v1/users"));
  for (const token of [key, secret]) await accepted(withToken(t, token).get(USERS, inTenant(tenantId)));
});

Deno.test("the platform tenant's setting applies to its tokens and to global tokens of its users only", async () => {
  const user = await person(t, { links: [t.platformTenantId], role: "SystemAdmin" });
  const stranger = await person(t);
  await require(t.platformTenantId, true);
  await using _ = atEnd(async () => {
    await sql`update tenants set require_second_factor = false where id = ${t.platformTenantId}`;
    for (const { platform } of t.instances) platform.rights.invalidate(null);
  });
  await refused(LIMITED, (await globalOf(user.email)).get("/api/v1/admin/users"));
  await accepted((await globalOf(stranger.email)).get(ME));
});

Deno.test("a global token is limited if all active tenants of its user require a factor, not if one does not", async () => {
  const [plain, closed] = [await t.tenant(), await t.tenant()];
  const [strict, other] = [await strictTenant(), await strictTenant()];
  const userOf = async (links: string[]) => {
    const { id, email } = await person(t, { links });
    return { id, email, client: await globalOf(email) };
  };
  const { client, email } = await userOf([strict, other]);
  const rename = () => client.put(ME, { firstName: "New" });
  await refused(
    LIMITED,
    rename(),
    client.post("/auth/change-email", { newEmail: `x-${email}`, password: PASSWORD }),
    client.post("/auth/change-password", { currentPassword: PASSWORD, newPassword: "another good one" }),
  );
  await addApp(client);
  await accepted(rename());
  for (const links of [[plain, strict], []]) await accepted((await userOf(links)).client.get(ME));
  const former = await userOf([strict, closed, plain]);
  await accepted(t.systemAdmin.put(`/api/v1/tenants/${closed}`, { isActive: false }));
  await sql`update user_tenants set is_active = false where user_id = ${former.id} and tenant_id = ${plain}`;
  await refused(LIMITED, (await globalOf(former.email)).get(ME)); // other links do not count
});

Deno.test("with REQUIRE_SECOND_FACTOR_FOR_PLATFORM, holders of platform reach need a factor, others do not", async () => {
  const ofStrict = { REQUIRE_SECOND_FACTOR_FOR_PLATFORM: "true", JOB_CONCURRENCY: "0" };
  await using strict = await setup(ofStrict, { clock });
  const { me } = await signedIn(strict, { links: [strict.platformTenantId], role: "SystemAdmin" });
  await refused(LIMITED, me.get("/api/v1/admin/users"));
  await addApp(me);
  // such a right may also count in another tenant, by a link of the administrator
  const keeper = await strict.actor({ permissions: ALL });
  const inside = { tenantId: keeper.tenantId ?? "" };
  const fileId = await new Uploading(strict).fileIn("Available", { ...inside, legalHold: true });
  const visitor = await person(strict, { links: [strict.platformTenantId], role: "SystemAdmin" });
  await insertLink(strict, visitor.id, keeper.tenantId, keeper.roleId);
  const within = bearer(strict, await signIn(strict, visitor.email, PASSWORD, inside));
  const unhold = () => within.put(`/api/v1/files/${fileId}/retention`, { legalHold: false });
  await refused("403 MISSING_PERMISSION", unhold());
  await addApp(within);
  assert.equal((await accepted(unhold())).legalHold, false);
  await accepted(me.get("/api/v1/admin/users"));
  await accepted((await signedIn(strict)).me.get(ME));
});
