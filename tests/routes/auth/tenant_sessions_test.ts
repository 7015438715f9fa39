// A session of a tenant's own provider reaches the tenant only; a tenant may accept no other sign-in.
import assert from "node:assert/strict";
import { decodeJwt } from "jose";
import { chooseTenant } from "../../../domain/access/sign_in/sessions.ts";
import { ENDPOINTS } from "../../../routes/endpoints.ts";
import { pluck } from "../../support/answers.ts";
import type { HttpClient } from "../../support/http.ts";
import { accepted, refused } from "../../support/outcomes.ts";
import { Actor, setupShared } from "../../support/setup.ts";
import { browse } from "../console/plain_browser.ts";
import {
  authorizeUrl,
  browserOf,
  errorOf,
  makeClient,
  refresh as refreshGrant,
  signInToClient,
} from "../oauth/flow.ts";
import { person, refresh, signedIn, signIn, withToken } from "./people.ts";
import { boundSession, browserWith, providerOf } from "./tenant_sessions.ts";

const t = await setupShared();
const { platform, sql } = t;
const BEYOND = "403 TENANT_SESSION_FORBIDDEN";
const NO_ACCESS = "403 TENANT_FORBIDDEN";
const ME = "/api/v1/auth/me";

/** A tenant whose role Admin has also these permissions. */
async function tenantWith(...codes: string[]): Promise<string> {
  const tenantId = await t.tenant();
  await sql`insert into role_permissions (role_id, permission_id)
    select r.id, p.id from roles r, permissions p
    where r.tenant_id = ${tenantId} and r.name = 'Admin' and p.code = any(${codes}::text[])`;
  return tenantId;
}

/** An administrator of two tenants, whom the provider of the first one signed in. */
async function employee(more: Parameters<typeof person>[1] = {}) {
  const [own, other] = [await tenantWith("act-as:users"), await t.tenant()];
  const who = await person(t, { links: [own, other], ...more });
  const provider = await providerOf(t, own);
  return { who, own, other, provider, ...await boundSession(t, who.id, provider) };
}

/** Routes without a tenant that sessions of a tenant's provider reach, because they then concern the tenant only. */
const REACHED =
  `readMe updateMe findOwnTenants signOut listOwnSessions endOwnSession listEventTypes addTenantUser
  openDelegation endDelegation listMyDelegations allowDelegation refuseDelegation
  listUserNotifications countUnreadUserNotifications markUserNotificationRead markAllUserNotificationsRead
  deleteUserNotification streamUserNotifications createStreamTicket
  registerUserDevice listUserDevices removeUserDevice
  readNotificationPreferences writeNotificationPreferences`.split(/\s+/);

Deno.test("a session of a tenant's provider reaches no route without a tenant but the listed ones", async () => {
  const { me } = await employee();
  const withoutTenant = ENDPOINTS.filter(({ access }) => access.needsCaller && !access.needsTenant);
  const unknown = REACHED.filter((id) => !withoutTenant.some((route) => route.id === id));
  assert.deepEqual(unknown, []);
  for (const { id, method, path } of withoutTenant) {
    if (REACHED.includes(id)) continue;
    const address = path.replaceAll(/\{\w+\}/g, crypto.randomUUID());
    const body = method === "get" || method === "delete" ? undefined : {};
    await refused(BEYOND, me.send(method.toUpperCase(), address, body));
  }
});

Deno.test("its tokens are good in its tenant only, after a refresh too, and tell of no other tenant", async () => {
  const { who, own, other, tokens, me } = await employee();
  const { sid = "", ver } = decodeJwt<{ sid: string; ver: number }>(tokens.accessToken);
  const forged = [null, other].map((tenantId) => platform.tokens.sign({ sub: who.id, sid, tenantId, ver }));
  for (const token of await Promise.all(forged)) {
    await refused(NO_ACCESS, withToken(t, token).get(ME, { "x-tenant-id": other }));
  }
  await refused(BEYOND, me.post("/api/v1/auth/switch-tenant", { tenantId: other }));
  const again = await accepted(refresh(t, tokens));
  assert.deepEqual([again.tenant.id, again.tenants.length], [own, 1]);
  const client = withToken(t, again.accessToken);
  const { tenants } = await accepted(client.get(ME));
  const { items } = await accepted(client.get("/api/v1/auth/tenants"));
  for (const list of [tenants, items]) assert.deepEqual(list.map(({ id }: { id: string }) => id), [own]);
  await accepted(client.get("/api/v1/users"));
});

Deno.test("it shows and ends sessions of its tenant only, and changes what the person has everywhere only without another tenant", async () => {
  const { who, own, other, provider, me } = await employee();
  const elsewhere = await accepted(signIn(t, who.email));
  const sessions = await accepted(me.get("/api/v1/auth/sessions"));
  assert.deepEqual(pluck(sessions, "isCurrent"), [true]);
  const { sid } = decodeJwt<{ sid: string }>(elsewhere.accessToken);
  await refused("404 SESSION_NOT_FOUND", me.send("DELETE", `/api/v1/auth/sessions/${sid}`));
  const of = (path: string) => `/api/v1/user-notifications${path}?userId=${who.id}`;
  const changes = (by: HttpClient) => [
    by.put(ME, { firstName: "New" }),
    by.put(of("/preferences"), { timeZoneId: "Europe/Lisbon" }),
  ];
  await accepted(me.get(of("/preferences")));
  await refused(BEYOND, ...changes(me));
  await sql`insert into user_notifications (id, tenant_id, user_id, seq, title, body)
    select gen_random_uuid(), tenant, ${who.id}, row_number() over (), 'Hello', 'x'
    from unnest(${[own, other]}::uuid[]) tenant`;
  assert.equal((await accepted(me.get(of("")))).totalCount, 1);
  assert.equal((await accepted(me.put(of("/read-all")))).updated, 1);
  await sql`delete from user_tenant_roles where user_id = ${who.id} and tenant_id = ${other}`;
  await sql`delete from user_tenants where user_id = ${who.id} and tenant_id = ${other}`;
  const { me: alone } = await boundSession(t, who.id, provider);
  for (const change of changes(alone)) await accepted(change);
  await accepted(alone.post("/api/v1/auth/logout"), 204);
  await refused("401 TOKEN_REVOKED", alone.get(ME));
});

Deno.test("a device that it registers gets the messages of its tenant only, and it changes no other device", async () => {
  const { who, own, me } = await employee();
  const devices = `/api/v1/user-notifications/devices?userId=${who.id}`;
  const [token, others] = [crypto.randomUUID(), crypto.randomUUID()];
  await accepted(me.post(devices, { token }));
  const [device] = await sql`select only_tenant_id from user_devices where token = ${token}`;
  assert.equal(device?.onlyTenantId, own);
  await sql`insert into user_devices (id, user_id, token) values (gen_random_uuid(), ${who.id}, ${others})`;
  assert.equal((await accepted(me.get(devices))).length, 1);
  await accepted(me.post(devices, { token: others }));
  await sql`insert into user_devices (id, user_id, token, only_tenant_id)
    select ('ffffffff-ffff-4fff-8fff-' || lpad(n::text, 12, '0'))::uuid, ${who.id}, ${token} || n, ${own}
    from generate_series(1, 100) n`;
  await accepted(me.post(devices, { token: crypto.randomUUID() }));
  const [kept] = await sql`select only_tenant_id from user_devices where token = ${others}`;
  assert.deepEqual({ ...kept }, { onlyTenantId: null });
});

Deno.test("the console keeps it in its tenant, and shows nothing of the person's own", async () => {
  const { who, own, other, tokens } = await employee();
  const actor = new Actor(t.url, tokens.accessToken, who.id, own, who.email, null, tokens.refreshToken);
  const browser = await browse(t, actor);
  await browser.visit("account");
  assert.ok(browser.page.text.includes("You signed in with your company."));
  const csrf = await browser.csrf();
  for (const tenantId of [other, ""]) {
    await browser.send("tenant", [["csrf", csrf], ["tenantId", tenantId]]);
    assert.equal((await browser.visit("users")).status, 200);
  }
  const [session] = await sql`select b.tenant_id from browser_sessions b
    join sessions s on s.id = b.session_id where s.user_id = ${who.id}`;
  assert.equal(session?.tenantId, own);
});

Deno.test("without the second factor that the tenant requires, it is refused, and cannot add one", async () => {
  const { who, own, provider } = await employee();
  const { me } = await boundSession(t, who.id, provider, ["fed"]);
  await accepted(me.get(ME));
  await accepted(t.systemAdmin.put(`/api/v1/tenants/${own}`, { requireSecondFactor: true }));
  await refused("403 PROVIDER_FACTOR_REQUIRED_FORBIDDEN", me.get(ME), me.get("/api/v1/users"));
  await refused(BEYOND, me.get("/api/v1/auth/factors"), me.post("/api/v1/auth/factors/totp"));
  await accepted((await boundSession(t, who.id, provider)).me.get(ME));
});

Deno.test("it ends with its provider, which signs in nobody with platform reach", async () => {
  const { who, own, provider, me } = await employee();
  const choose = (userId: string) => chooseTenant(sql, userId, { tenantId: null, global: true }, provider);
  assert.equal(await choose(who.id), own);
  const strong = await t.actor({ tenantId: own, permissions: ["admin:system"] });
  await assert.rejects(choose(strong.userId), { code: "TENANT_FORBIDDEN" });
  const bound = await boundSession(t, strong.userId, provider); // such as one from before the role was given
  await refused("403 MISSING_PERMISSION", bound.me.get("/api/v1/roles"));
  await accepted(me.get(ME));
  await sql`update sign_in_providers set is_enabled = false where id = ${provider.id}`;
  platform.rights.invalidate(null);
  await refused(NO_ACCESS, me.get(ME));
  await sql`delete from sign_in_providers where id = ${provider.id}`;
  platform.rights.invalidate(null);
  await refused(NO_ACCESS, me.get(ME));
});

Deno.test("its delegations and clients are bound as it is", async () => {
  const { who, own, other, provider, tokens, me } = await employee();
  const user = await t.actor({ tenantId: own, permissions: [] });
  const act = { reason: "Ticket 4711", mayWrite: true };
  const { accessToken } = await accepted(me.post(`/api/v1/users/${user.userId}/act-as`, act), 201);
  await refused(BEYOND, withToken(t, accessToken).get("/api/v1/auth/factors"));
  await accepted(withToken(t, accessToken).get(ME));
  const client = await makeClient(t.systemAdmin, { scopes: ["openid", "steward.self"] });
  const browser = await browserWith(t, tokens.accessToken);
  const denied = await browser.leave(authorizeUrl(t, client, { scope: "openid", tenant: other }));
  assert.equal(errorOf(denied), "access_denied");
  const granted = await signInToClient(t, browser, client, { scope: "openid steward.self" });
  assert.equal(decodeJwt(granted.access_token).tenant_id, own);
  const self = withToken(t, granted.access_token);
  await accepted(self.get(ME));
  await refused(BEYOND, self.get("/api/v1/auth/factors"), self.post("/api/v1/auth/me/export"));
  const next = await accepted(refreshGrant(t, client, granted.refresh_token));
  const asking = await makeClient(t.systemAdmin, { firstParty: false });
  await browser.submit(await browser.show(authorizeUrl(t, asking)), "allowed");
  assert.equal((await sql`select from oauth_consents where user_id = ${who.id}`).length, 0, "not remembered");
  await sql`update sign_in_providers set is_enabled = false where id = ${provider.id}`;
  await refused("400 invalid_grant", refreshGrant(t, client, next.refresh_token));
});

Deno.test("a tenant that accepts only its providers refuses all other sessions at their next request, but those of break-glass users", async () => {
  const own = await tenantWith("act-as:users", "manage:api-keys", "manage:sign-in");
  const other = await t.tenant();
  const admin = await signedIn(t, { links: [own] });
  const worker = await signedIn(t, { links: [own, other] });
  const client = await makeClient(t.systemAdmin);
  const browser = await browserOf(t, worker.email);
  const granted = await signInToClient(t, browser, client);
  const ofKey = { name: "Key", permissions: ["read:users"] };
  const key = await accepted(admin.me.post("/api/v1/api-keys", ofKey), 201);
  const act = await accepted(admin.me.post(`/api/v1/users/${worker.id}/act-as`, { reason: "Ticket" }), 201);
  const path = "/api/v1/sign-in-settings";
  const off = { passwordSignIn: false, breakGlassUserIds: [admin.id] };
  await refused("409 PASSWORD_SIGN_IN_NEEDED_CONFLICT", admin.me.put(path, off));
  const provider = await providerOf(t, own);
  const stranger = await person(t, { links: [other] });
  const visitor = await person(t, { links: [own], role: "Visitor" });
  const put = (...breakGlassUserIds: string[]) => admin.me.put(path, { ...off, breakGlassUserIds });
  await refused("409 PASSWORD_SIGN_IN_NEEDED_CONFLICT", put(), put(visitor.id));
  await refused("400 VALIDATION_ERROR", put(stranger.id));
  await accepted(put(admin.id, worker.id));
  await accepted(worker.me.get(ME));
  await accepted(admin.me.put(path, off));
  assert.deepEqual(await accepted(admin.me.get(path)), off);
  await refused(NO_ACCESS, worker.me.get(ME), signIn(t, worker.email, undefined, { tenantId: own }));
  await refused("401 SESSION_INVALIDATED", refresh(t, worker.tokens));
  await refused("400 invalid_grant", refreshGrant(t, client, granted.refresh_token));
  await accepted(withToken(t, key.key).get("/api/v1/users"));
  await accepted(withToken(t, act.accessToken).get(ME)); // its actor is a break-glass user
  await accepted((await boundSession(t, worker.id, provider)).me.get(ME));
  const signed = await accepted(signIn(t, worker.email));
  assert.deepEqual([signed.tenant.id, signed.tenants.length], [other, 1]);
  const elsewhere = withToken(t, signed.accessToken);
  await refused(NO_ACCESS, elsewhere.post("/api/v1/auth/switch-tenant", { tenantId: own }));
  await refused(NO_ACCESS, signIn(t, visitor.email));
  await accepted(signIn(t, visitor.email, undefined, { global: true }));
  const visit = { reason: "No provider works", mayWrite: true };
  const work = t.systemAdmin.post(`/api/v1/admin/tenants/${own}/work-in`, visit);
  const { accessToken } = await accepted(work, 201);
  const on = { passwordSignIn: true, breakGlassUserIds: [] };
  await accepted(withToken(t, accessToken).put(path, on));
  await accepted(worker.me.get(ME));
});
