import assert from "node:assert/strict";
import { newId } from "../../../domain/shared/ids.ts";
import type { Tx } from "../../../infra/postgres/postgres.ts";
import { accepted, refused } from "../../support/outcomes.ts";
import { browse, type PlainBrowser } from "../console/plain_browser.ts";
import { PASSWORD, person, racingFor, refresh, setupSignIns, signedIn, signIn, withToken } from "./people.ts";

const t = await setupSignIns();
const { sql } = t.steward.platform;

/** Returns what the token of a tenant's answer is good for. */
const meOf = (tokens: { accessToken: string }) => withToken(t, tokens.accessToken).get("/auth/me");
const signInTo = (email: string, more = {}) => accepted(signIn(t, email, PASSWORD, more));

Deno.test("the first administrator signs in and gets tokens for the platform tenant", async () => {
  const { status, body, headers } = await signIn(t, "admin@steward.local", "steward-admin-dev");
  assert.equal(status, 200);
  assert.equal(headers.get("cache-control"), "no-store");
  const { tokenType, expiresIn, refreshExpiresIn, tenant, user, permissions } = body;
  assert.deepEqual([tokenType, expiresIn, refreshExpiresIn], ["Bearer", 900, 14 * 24 * 3600]);
  assert.deepEqual([tenant.id, user.roles], [t.platformTenantId, ["Admin", "SystemAdmin"]]);
  assert.ok(permissions.includes("admin:system"));
});

Deno.test("the email is accepted in any case; the time, address and program of the sign-in are stored", async () => {
  const { id, email } = await person(t);
  const login = { email: `  ${email.toUpperCase()} `, password: PASSWORD };
  const { user } = await accepted(t.nobody.post("/auth/login", login, { "user-agent": "Trial/1.0" }));
  const [stored] =
    await sql`select ip, user_agent, last_login_at from sessions s join users u on u.id = s.user_id
    where u.id = ${id}`;
  const lastLoginAt = new Date(user.lastLoginAt);
  assert.deepEqual({ ...stored }, { ip: "127.0.0.1", userAgent: "Trial/1.0", lastLoginAt });
});

Deno.test("wrong password, unknown email, inactive, deleted and passwordless users get the same answer", async () => {
  const [known, inactive, deleted, passwordless] = [
    await person(t),
    await person(t, { isActive: false }),
    await person(t),
    await person(t, { passwordHash: null }),
  ];
  await sql`update users set deleted_at = now() where id = ${deleted.id}`;
  const answers = await Promise.all([
    signIn(t, known.email, "wrong-password"),
    signIn(t, "nobody@example.test"),
    ...[inactive, deleted, passwordless].map(({ email }) => signIn(t, email)),
  ]);
  await refused("401 CREDENTIALS_INVALID_UNAUTHORIZED", ...answers);
  const strip = ({ traceId: _, ...rest }: Record<string, unknown>) => rest;
  for (const { body } of answers) assert.deepEqual(strip(body), strip(answers[0]?.body));
});

Deno.test("without tenantId a sign-in uses the tenant of the default link, else the first active one, else none", async () => {
  const [first, second] = [await t.tenant(), await t.tenant()];
  const { id, email } = await person(t, { links: [first, second] });
  const landing = async () => (await signInTo(email)).tenant?.id ?? null;
  assert.equal(await landing(), first);
  await sql`update user_tenants set is_default = false where user_id = ${id} and is_default`;
  await sql`update user_tenants set is_default = true where user_id = ${id} and tenant_id = ${second}`;
  assert.equal(await landing(), second);
  await sql`update user_tenants set is_active = false where user_id = ${id} and tenant_id = ${second}`;
  assert.equal(await landing(), first);
  await sql`update tenants set is_active = false where id = ${first}`;
  assert.equal(await landing(), null);
});

Deno.test("tenantId chooses the tenant; global asks for none even if there is a default", async () => {
  const [first, second] = [await t.tenant(), await t.tenant()];
  const { email } = await person(t, { links: [second, first] });
  assert.equal((await signInTo(email, { tenantId: first })).tenant.id, first);
  const global = await signInTo(email, { global: true });
  assert.deepEqual([global.tenant, global.permissions, global.tenants.length], [null, [], 2]);
  assert.deepEqual([global.tenants[0].id, global.tenants[0].isDefault], [second, true], "for a selector");
  assert.equal((await signInTo(email, { global: null, tenantId: null })).tenant.id, second);
  const elsewhere = [await t.tenant(), newId()].map((tenantId) => signIn(t, email, PASSWORD, { tenantId }));
  await refused("403 TENANT_FORBIDDEN", ...elsewhere);
});

Deno.test("a refresh token works once; a second use ends its session, also of several at the same time", async () => {
  const { tenantId, tokens } = await signedIn(t);
  const next = await accepted(refresh(t, tokens));
  assert.equal((await accepted(meOf(next))).tenant.id, tenantId);
  assert.ok(!("deviceToken" in next));
  const answers = await Promise.all(Array.from({ length: 3 }, () => refresh(t, next)));
  const [good, ...more] = answers.filter(({ status }) => status === 200);
  assert.deepEqual(more, []);
  const others = answers.filter((answer) => answer !== good);
  await refused("401 TOKEN_REVOKED", ...others, meOf(good?.body), refresh(t, good?.body));
});

Deno.test("refresh distinguishes unknown and expired tokens and those of an inactive user", async () => {
  const unknown = ["nothing-of-ours", "", "\0", "x".repeat(201), "x".repeat(900_000)];
  await refused("401 TOKEN_INVALID", ...unknown.map((refreshToken) => refresh(t, { refreshToken })));
  const { id, tokens } = await signedIn(t);
  await sql`update users set is_active = false where id = ${id}`;
  await refused("401 SESSION_INVALIDATED", refresh(t, tokens));
  await sql`update users set is_active = true where id = ${id}`;
  await sql`update refresh_tokens set expires_at = now() - interval '1 second'
    where session_id in (select id from sessions where user_id = ${id})`;
  await refused("401 TOKEN_EXPIRED", refresh(t, tokens));
});

Deno.test("a session that is used ends 30 days after its sign-in", async () => {
  const { id, tokens } = await signedIn(t);
  const age = (seconds: number) =>
    sql`update sessions set created_at = now() - make_interval(days => 30, secs => ${seconds}) where user_id = ${id}`;
  await age(-3600);
  const last = await accepted(refresh(t, tokens));
  assert.ok(last.refreshExpiresIn > 3000 && last.refreshExpiresIn <= 3600, String(last.refreshExpiresIn));
  const [row] =
    await sql`select expires_at - created_at = interval '30 days' as is_so from sessions where user_id = ${id}`;
  assert.ok(row?.isSo);
  await age(1);
  await refused("401 TOKEN_EXPIRED", refresh(t, last));
});

Deno.test("a console session that is used ends 30 days after its sign-in, an unused one after 12 hours", async () => {
  const actor = await t.actor();
  const { userId: id } = actor;
  const open = async () => await browse(t, await t.signedIn(actor));
  const status = async (browser: PlainBrowser) => (await browser.open("account")).status;
  const seen = (ago: string) =>
    sql`update browser_sessions set last_seen_at = now() - ${ago}::interval
      where session_id in (select id from sessions where user_id = ${id})`;
  const used = await open();
  await sql`update sessions set created_at = now() - interval '29 days 23:55' where user_id = ${id}`;
  await seen("2 minutes");
  assert.equal(await status(used), 200);
  await sql`update sessions set expires_at = expires_at - interval '5 minutes' where user_id = ${id}`;
  assert.equal(await status(used), 303);
  const unused = await open();
  await seen("11:55");
  assert.equal(await status(unused), 200);
  await seen("12:00:01");
  assert.equal(await status(unused), 303);
});

Deno.test("signing out ends the session and its refresh token at once", async () => {
  const { me, tokens } = await signedIn(t);
  await accepted(me.get("/auth/me"));
  await accepted(me.post("/auth/logout"), 204);
  await refused("401 TOKEN_REVOKED", me.get("/auth/me"), refresh(t, tokens));
});

Deno.test("switch-tenant gives tokens for a linked tenant, uses up the refresh token and keeps the old access token", async () => {
  const [home, other, unlinked, deactivated, closed] = await Promise.all(
    [1, 2, 3, 4, 5].map(() => t.tenant()),
  );
  const links = [home, other, deactivated, closed].map(String);
  const { id, me, tokens } = await signedIn(t, { links });
  await sql`update user_tenants set is_active = false where user_id = ${id} and tenant_id = ${
    String(deactivated)
  }`;
  await sql`update tenants set is_active = false where id = ${String(closed)}`;
  const change = (tenantId?: string) => me.post("/api/v1/auth/switch-tenant", { tenantId });
  const wrong = [unlinked, newId(), deactivated, closed].map(change);
  await refused("403 TENANT_FORBIDDEN", ...wrong);
  const switched = await accepted(change(other));
  assert.equal(switched.tenant.id, other);
  assert.equal((await accepted(meOf(switched))).tenant.id, other);
  assert.equal((await accepted(meOf(tokens))).tenant.id, home);
  await refused("401 TOKEN_REVOKED", refresh(t, tokens));
  const { me: admin } = await signedIn(t, { links: [t.platformTenantId], role: "SystemAdmin" });
  const astray = admin.post("/auth/switch-tenant", { tenantId: home });
  await refused("403 TENANT_FORBIDDEN", astray);
});

Deno.test("after a switch at the same time as another one or a refresh, at most one refresh token of the session is unused", async () => {
  const race = async (...kinds: ("switch" | "refresh")[]) => {
    const { id, me, tokens } = await signedIn(t);
    const [session] = await sql`select id from sessions where user_id = ${id}`;
    const { tenant } = await accepted(me.get("/auth/me"));
    const send = {
      switch: () => me.post("/auth/switch-tenant", { tenantId: tenant.id }),
      refresh: () => refresh(t, tokens),
    };
    const lock = (tx: Tx) => tx`select from sessions where id = ${session?.id} for update`;
    const outcomes = await racingFor(t, lock, ...kinds.map((kind) => send[kind]));
    const unused =
      await sql`select from refresh_tokens where session_id = ${session?.id} and used_at is null`;
    return [outcomes.join(), unused.length];
  };
  assert.deepEqual(await race("switch", "switch"), ["200,200", 1]);
  assert.deepEqual(await race("refresh", "switch"), ["200,200", 1]);
  assert.deepEqual(await race("switch", "refresh"), ["200,401 TOKEN_REVOKED", 1]);
});
