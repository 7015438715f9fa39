import assert from "node:assert/strict";
import { openBrowserSession } from "../../../domain/access/sign_in/browser_session.ts";
import { newId } from "../../../domain/shared/ids.ts";
import { setup } from "../../support/setup.ts";
import { until } from "../../support/until.ts";
import { bearer, PASSWORD, person, signIn } from "./people.ts";

const t = await setup();
Deno.test.afterAll(() => t.stop());
const { sql } = t.steward.platform;

Deno.test("the first administrator signs in and gets tokens for the platform tenant", async () => {
  const { status, body, headers } = await signIn(t, "admin@steward.local", "steward-admin-dev");
  assert.equal(status, 200);
  assert.equal(body.tokenType, "Bearer");
  assert.equal(body.expiresIn, 900);
  assert.equal(body.refreshExpiresIn, 14 * 24 * 3600);
  assert.equal(body.tenant.id, t.platformTenantId);
  assert.deepEqual(body.user.roles, ["Admin", "SystemAdmin"]);
  assert.ok(body.permissions.includes("admin:system"));
  assert.equal(headers.get("cache-control"), "no-store");
});

Deno.test("the email is accepted in any case and with spaces around it", async () => {
  const { email } = await person(t);
  assert.equal((await signIn(t, `  ${email.toUpperCase()} `)).status, 200);
});

Deno.test("wrong password, unknown email, inactive, deleted and passwordless users get the same answer", async () => {
  const known = await person(t);
  const inactive = await person(t, { isActive: false });
  const deleted = await person(t);
  await sql`update users set deleted_at = now() where id = ${deleted.id}`;
  const passwordless = await person(t, { passwordHash: null });
  const answers = await Promise.all([
    signIn(t, known.email, "wrong-password"),
    signIn(t, "nobody@example.test"),
    signIn(t, inactive.email),
    signIn(t, deleted.email),
    signIn(t, passwordless.email),
  ]);
  const strip = ({ traceId: _, ...rest }: Record<string, unknown>) => rest;
  for (const { status, body } of answers) {
    assert.equal(status, 401);
    assert.equal(body.code, "CREDENTIALS_INVALID_UNAUTHORIZED");
    assert.deepEqual(strip(body), strip(answers[0]?.body));
  }
});

Deno.test("without tenantId a sign-in uses the tenant of the default link, else the first active one, else none", async () => {
  const [first, second] = [await t.tenant(), await t.tenant()];
  const user = await person(t, { links: [first, second] });
  const landing = async () => (await signIn(t, user.email)).body.tenant?.id ?? null;
  assert.equal(await landing(), first);
  await sql`update user_tenants set is_default = tenant_id = ${second} where user_id = ${user.id} and is_default`;
  await sql`update user_tenants set is_default = true where user_id = ${user.id} and tenant_id = ${second}`;
  assert.equal(await landing(), second);
  await sql`update user_tenants set is_active = false where user_id = ${user.id} and tenant_id = ${second}`;
  assert.equal(await landing(), first);
  await sql`update tenants set is_active = false where id = ${first}`;
  assert.equal(await landing(), null);
});

Deno.test("tenantId chooses the tenant; global asks for none even if there is a default", async () => {
  const [first, second] = [await t.tenant(), await t.tenant()];
  const user = await person(t, { links: [first, second] });
  assert.equal((await signIn(t, user.email, PASSWORD, { tenantId: second })).body.tenant.id, second);
  const global = await signIn(t, user.email, PASSWORD, { global: true });
  assert.equal(global.body.tenant, null);
  assert.deepEqual(global.body.permissions, []);
  const choice: { id: string; isDefault: boolean }[] = global.body.tenants;
  assert.equal(
    choice[0]?.isDefault,
    true,
    "a selector finds the tenants in the answer, the default one first",
  );
  assert.ok(choice.length > 1);
  assert.equal((await signIn(t, user.email, PASSWORD, { global: null, tenantId: null })).status, 200);
  const elsewhere = await signIn(t, user.email, PASSWORD, { tenantId: await t.tenant() });
  assert.equal(elsewhere.status, 403);
  assert.equal(elsewhere.body.code, "TENANT_FORBIDDEN");
  const unknown = await signIn(t, user.email, PASSWORD, { tenantId: newId() });
  assert.equal(unknown.body.code, "TENANT_FORBIDDEN");
});

Deno.test("malformed bodies are rejected with a list of fields", async () => {
  const bodies = [
    {},
    { email: 1, password: [] },
    { email: "", password: "x" },
    { email: "a@b.c", password: "" },
    {
      email: "a@b.c",
      password: "x",
      tenantId: "no-uuid",
    },
    { email: "a@b.c\0", password: "x" },
    { email: "x".repeat(321), password: "x" },
  ];
  for (const body of bodies) {
    const answer = await t.nobody.post("/auth/login", body);
    assert.equal(answer.status, 400, JSON.stringify(body));
    assert.equal(answer.body.code, "VALIDATION_ERROR");
    assert.ok(Array.isArray(answer.body.errors));
  }
});

Deno.test("a refresh token works once; a second use ends its session", async () => {
  const first = (await signIn(t, (await person(t)).email)).body;
  const second = await t.nobody.post("/api/v1/auth/refresh", { refreshToken: first.refreshToken });
  assert.equal(second.status, 200);
  assert.equal(second.body.tenant.id, first.tenant.id);
  const reuse = await t.nobody.post("/api/v1/auth/refresh", { refreshToken: first.refreshToken });
  assert.equal(reuse.status, 401);
  assert.equal(reuse.body.code, "TOKEN_REVOKED");
  assert.equal((await bearer(t, second).get("/api/v1/auth/me")).body.code, "TOKEN_REVOKED");
  const successor = await t.nobody.post("/auth/refresh", { refreshToken: second.body.refreshToken });
  assert.equal(successor.body.code, "TOKEN_REVOKED");
});

Deno.test("of ten simultaneous uses of one refresh token at most one succeeds, and the session ends", async () => {
  const { refreshToken } = (await signIn(t, (await person(t)).email)).body;
  const answers = await Promise.all(
    Array.from({ length: 10 }, () => t.nobody.post("/auth/refresh", { refreshToken })),
  );
  const good = answers.filter((answer) => answer.status === 200);
  assert.equal(good.length, 1);
  assert.ok(answers.every(({ status, body }) => status === 200 || body.code === "TOKEN_REVOKED"));
  assert.equal((await bearer(t, good[0]!).get("/auth/me")).body.code, "TOKEN_REVOKED");
});

Deno.test("refresh distinguishes unknown and expired tokens and those of an inactive user", async () => {
  const refresh = (refreshToken: unknown) => t.nobody.post("/auth/refresh", { refreshToken });
  for (const token of ["nothing-of-ours", "", "\0", "x".repeat(201), "x".repeat(900_000)]) {
    const { status, body } = await refresh(token);
    assert.deepEqual([status, body.code], [401, "TOKEN_INVALID"]);
  }
  for (const token of [undefined, null, 7, ["x"]]) {
    const { status, body } = await refresh(token);
    assert.deepEqual([status, body.code], [400, "VALIDATION_ERROR"]);
  }
  const user = await person(t);
  const { refreshToken } = (await signIn(t, user.email)).body;
  await sql`update users set is_active = false where id = ${user.id}`;
  assert.equal((await refresh(refreshToken)).body.code, "SESSION_INVALIDATED");
  await sql`update users set is_active = true where id = ${user.id}`;
  await sql`update refresh_tokens set expires_at = now() - interval '1 second'
    where session_id in (select id from sessions where user_id = ${user.id})`;
  assert.equal((await refresh(refreshToken)).body.code, "TOKEN_EXPIRED");
});

Deno.test("a session that is used ends 30 days after its sign-in", async () => {
  const user = await person(t);
  const { refreshToken } = (await signIn(t, user.email)).body;
  const age = (days: number, seconds = 0) =>
    sql`update sessions set created_at = now() - make_interval(days => ${days}, secs => ${seconds})
      where user_id = ${user.id}`;
  await age(29, 24 * 3600 - 60);
  const last = await t.nobody.post("/auth/refresh", { refreshToken });
  assert.equal(last.status, 200);
  assert.ok(Math.abs(last.body.refreshExpiresIn - 60) <= 2, String(last.body.refreshExpiresIn));
  const [{ expiresAt } = { expiresAt: null }] = (await bearer(t, last).get("/auth/sessions")).body;
  assert.ok(Math.abs(new Date(expiresAt).getTime() - Date.now() - 60_000) < 5_000, String(expiresAt));
  await age(30, 1);
  const late = await t.nobody.post("/auth/refresh", { refreshToken: last.body.refreshToken });
  assert.deepEqual([late.status, late.body.code], [401, "TOKEN_EXPIRED"]);
});

Deno.test("a console session that is used ends 30 days after its sign-in, an unused one after 12 hours", async () => {
  const user = await person(t);
  const open = async () => {
    const { accessToken } = (await signIn(t, user.email)).body;
    return await openBrowserSession(t.steward.platform, accessToken);
  };
  const status = async (secret: string) => {
    const headers = { cookie: `steward_console=${secret}` };
    const answer = await fetch(`${t.url}/console/account`, { headers, redirect: "manual" });
    await answer.body?.cancel();
    return answer.status;
  };
  const used = await open();
  const seen = (ago: string) =>
    sql`update browser_sessions set last_seen_at = now() - ${ago}::interval
      where session_id in (select id from sessions where user_id = ${user.id})`;
  await sql`update sessions set created_at = now() - interval '29 days 23:59:58' where user_id = ${user.id}`;
  await seen("2 minutes");
  assert.equal(await status(used), 200);
  await until(async () => await status(used) === 303);
  const unused = await open();
  await seen("11:59:00");
  assert.equal(await status(unused), 200);
  await seen("12:00:01");
  assert.equal(await status(unused), 303);
});

Deno.test("a refresh keeps the tenant; without the link it is rejected, and a new sign-in has no tenant", async () => {
  const user = await person(t);
  const first = (await signIn(t, user.email)).body;
  const second = await t.nobody.post("/auth/refresh", { refreshToken: first.refreshToken });
  assert.equal((await bearer(t, second).get("/auth/me")).body.tenant.id, user.tenantId);
  const unlinked = await t.systemAdmin.put(`/api/v1/admin/users/${user.id}`, { tenants: [] });
  assert.equal(unlinked.status, 200);
  for (const _ of [1, 2]) {
    const third = await t.nobody.post("/auth/refresh", { refreshToken: second.body.refreshToken });
    assert.deepEqual([third.status, third.body.code], [401, "SESSION_INVALIDATED"]);
  }
  const again = await signIn(t, user.email);
  assert.equal(again.status, 200);
  assert.equal(again.body.tenant, null);
  assert.deepEqual(again.body.permissions, []);
});

Deno.test("signing out ends the session and its refresh token at once", async () => {
  const answer = await signIn(t, (await person(t)).email);
  const me = bearer(t, answer);
  assert.equal((await me.get("/auth/me")).status, 200);
  assert.equal((await me.post("/auth/logout")).status, 204);
  assert.equal((await me.get("/auth/me")).body.code, "TOKEN_REVOKED");
  const { refreshToken } = answer.body;
  assert.equal((await t.nobody.post("/auth/refresh", { refreshToken })).body.code, "TOKEN_REVOKED");
});

Deno.test("switch-tenant gives tokens for a linked tenant, uses up the refresh token and keeps the old access token", async () => {
  const [first, second] = [await t.tenant(), await t.tenant()];
  const user = await person(t, { links: [first, second] });
  const before = await signIn(t, user.email);
  const switched = await bearer(t, before).post("/api/v1/auth/switch-tenant", { tenantId: second });
  assert.equal(switched.status, 200);
  assert.equal(switched.body.tenant.id, second);
  assert.equal((await bearer(t, switched).get("/auth/me")).body.tenant.id, second);
  assert.equal((await bearer(t, before).get("/auth/me")).body.tenant.id, first);
  const { refreshToken } = before.body;
  assert.equal((await t.nobody.post("/auth/refresh", { refreshToken })).body.code, "TOKEN_REVOKED");
});

Deno.test("switch-tenant to an unlinked, unknown, deactivated or closed tenant is forbidden, also with admin:system", async () => {
  const tenantId = await t.tenant();
  const closed = await t.tenant();
  const user = await person(t, { links: [t.platformTenantId, tenantId, closed], role: "SystemAdmin" });
  await sql`update user_tenants set is_active = false where user_id = ${user.id} and tenant_id = ${tenantId}`;
  await sql`update tenants set is_active = false where id = ${closed}`;
  const admin = bearer(t, await signIn(t, user.email));
  for (const target of [tenantId, closed, await t.tenant(), newId()]) {
    const answer = await admin.post("/auth/switch-tenant", { tenantId: target });
    assert.equal(answer.status, 403);
    assert.equal(answer.body.code, "TENANT_FORBIDDEN");
  }
  assert.equal((await admin.post("/auth/switch-tenant", { tenantId: "x" })).body.code, "VALIDATION_ERROR");
  assert.equal((await t.nobody.post("/auth/switch-tenant", { tenantId })).body.code, "TOKEN_MISSING");
});

Deno.test("a successful sign-in stores its time, and its address in the session", async () => {
  const user = await person(t);
  const answer = await t.nobody.with({ "user-agent": "Trial/1.0" })
    .post("/auth/login", { email: user.email, password: PASSWORD });
  assert.ok(Date.now() - Date.parse(answer.body.user.lastLoginAt) < 60_000);
  const [session] = await sql`select ip, user_agent from sessions where user_id = ${user.id}`;
  assert.deepEqual({ ...session }, { ip: "127.0.0.1", userAgent: "Trial/1.0" });
});
