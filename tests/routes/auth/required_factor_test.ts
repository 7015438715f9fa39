import assert from "node:assert/strict";
import { atEnd } from "../../support/at_end.ts";
import type { HttpClient } from "../../support/http.ts";
import { accepted, refused } from "../../support/outcomes.ts";
import { setup, type TestService } from "../../support/setup.ts";
import { addApp, ageSignIns, finish, half } from "./factors.ts";
import {
  bearer,
  clock,
  PASSWORD,
  person,
  refresh,
  setupSignIns,
  signedIn,
  signIn,
  withToken,
} from "./people.ts";
import { inTenant, makeAccount, USERS } from "./service_accounts.ts";
import { insertLink } from "../access/users.ts";
import { ALL, Uploading } from "../files/uploading.ts";

const t = await setupSignIns();
const { sql } = t.steward.platform;
const ME = "/auth/me";
const NEEDED = "403 SECOND_FACTOR_REQUIRED";

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
  const paths = [ME, "/api/v1/users", "/api/v1/jobs", "/api/v1/admin/users", "/auth/sessions"];
  await refused(NEEDED, ...paths.map((path) => me.get(path)), me.post("/auth/switch-tenant", { tenantId }));
  assert.equal(await isLimited(me), true);
  await ageSignIns(t, id);
  await refused("403 STEP_UP_REQUIRED_FORBIDDEN", me.post("/auth/factors/totp"));
  await accepted(me.post("/auth/step-up", { password: PASSWORD }));
  await refused(NEEDED, me.get(ME));
  const { factorId } = await addApp(me);
  await accepted(me.get(ME));
  assert.equal(await isLimited(me), false);
  await accepted(me.send("DELETE", `/auth/factors/${factorId}`));
  await refused(NEEDED, me.get(ME)); // who removes the last factor is limited at once
});

Deno.test("a new sign-in without a factor gets a token for adding one; refresh keeps the limit", async () => {
  const { email, tokens } = await signedIn(t, { links: [await strictTenant()] });
  const refreshed = await accepted(refresh(t, tokens));
  const client = withToken(t, refreshed.accessToken);
  await refused(NEEDED, client.get("/api/v1/roles"));
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
  await refused(NEEDED, bearer(t, switched).get("/api/v1/roles"));
  const global = await globalOf(email);
  await accepted(global.get("/api/v1/roles", { "x-tenant-id": plain }));
  await refused(NEEDED, global.get("/api/v1/roles", { "x-tenant-id": strict }));
});

Deno.test("a user who has a factor, but whose session lacks it, steps up", async () => {
  const { id, email, me, tenantId } = await signedIn(t);
  const { app } = await addApp(me);
  const second = bearer(t, await finish(t, await half(t, { email }), { code: app.code() }));
  await sql`update sessions set amr = '{pwd}'
    where id = (select id from sessions where user_id = ${id} order by created_at desc limit 1)`;
  await require(tenantId, true);
  await accepted(me.get(ME));
  await refused(NEEDED, second.get(ME));
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
  await refused(NEEDED, admin.get("/api/v1/users"));
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
  await refused(NEEDED, (await globalOf(user.email)).get("/api/v1/admin/users"));
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
    NEEDED,
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
  await refused(NEEDED, (await globalOf(former.email)).get(ME)); // other links do not count
});

Deno.test("with REQUIRE_SECOND_FACTOR_FOR_PLATFORM, holders of platform reach need a factor, others do not", async () => {
  const ofStrict = { REQUIRE_SECOND_FACTOR_FOR_PLATFORM: "true", JOB_CONCURRENCY: "0" };
  await using strict = await setup(ofStrict, { clock });
  const { me } = await signedIn(strict, { links: [strict.platformTenantId], role: "SystemAdmin" });
  await refused(NEEDED, me.get("/api/v1/admin/users"));
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
