import { finish } from "../../support/maintenance.ts";
import { pruneSignInJob } from "../../../domain/access/sign_in/pruning.ts";
import assert from "node:assert/strict";
import { decodeJwt } from "jose";
import { setupShared } from "../../support/setup.ts";
import {
  authorizeUrl,
  makeClient,
  problemOf,
  redeem,
  refresh,
  setupClients,
  signedInBrowser,
  signInToClient,
} from "./flow.ts";

const t = await setupShared();
Deno.test.afterAll(() => t.stop());
const { sql } = t.steward.platform;
const { systemAdmin } = t;
const { client, open, other, browser, who, newCode, userInfo, isLive } = await setupClients(t);

Deno.test("a refresh token works once; used again it ends the grant", async () => {
  const first = await signInToClient(t, browser, client);
  const second = await refresh(t, client, first.refresh_token);
  assert.equal(second.status, 200);
  assert.equal(second.body.id_token, undefined);
  assert.notEqual(second.body.refresh_token, first.refresh_token);
  const third = await refresh(t, client, second.body.refresh_token);
  assert.ok(await isLive(third.body.access_token));
  assert.equal(problemOf(await refresh(t, client, first.refresh_token)), "400 invalid_grant");
  assert.equal(await isLive(third.body.access_token), false);
  assert.equal(problemOf(await refresh(t, client, third.body.refresh_token)), "400 invalid_grant");
});

Deno.test("a refresh token of another client, a made-up one, or one with a wrong part is refused and ends nothing", async () => {
  const { refresh_token: token } = await signInToClient(t, browser, client);
  const strange = [
    "x",
    `${token}x`,
    "ocr_" + "A".repeat(87),
    token.slice(0, 26) + "B".repeat(22) + token.slice(48),
    "\u00e4",
  ];
  for (const text of strange) {
    assert.equal(problemOf(await refresh(t, client, text)), "400 invalid_grant", text);
  }
  for (const by of [other, open]) assert.equal(problemOf(await refresh(t, by, token)), "400 invalid_grant");
  assert.equal((await refresh(t, client, token)).status, 200);
});

Deno.test("of 1,000 parallel refreshes with one token exactly one gets an answer", async () => {
  const { refresh_token: token } = await signInToClient(t, browser, client);
  const answers = await Promise.all(Array.from({ length: 1_000 }, () => refresh(t, client, token)));
  const won = answers.filter(({ status }) => status === 200);
  assert.equal(won.length, 1);
  // 503: on a busy machine others wait too long for a database connection
  const others = answers.filter(({ status }) => status !== 200 && status !== 503);
  assert.deepEqual([...new Set(others.map(problemOf))], ["400 invalid_grant"]);
});

Deno.test("a refresh may narrow the scope of its access token, and never widen it", async () => {
  const tokens = await signInToClient(t, browser, client, { scope: "openid email" });
  const narrow = await refresh(t, client, tokens.refresh_token, { scope: "openid" });
  assert.deepEqual([narrow.body.scope, decodeJwt(narrow.body.access_token).scope], ["openid", "openid"]);
  assert.deepEqual((await userInfo(narrow.body.access_token)).body, { sub: who.id, tenant_id: who.tenantId });
  const wide = await refresh(t, client, narrow.body.refresh_token, { scope: "openid email profile" });
  assert.equal(problemOf(wide), "400 invalid_scope");
  const full = await refresh(t, client, narrow.body.refresh_token);
  assert.equal(full.body.scope, "openid email");
});

Deno.test("a scope that was taken from a client is missing in its next tokens", async () => {
  const shrinking = await makeClient(systemAdmin);
  const tokens = await signInToClient(t, browser, shrinking, { scope: "openid email" });
  const code = await newCode(shrinking, browser, { scope: "openid email" });
  const path = `/api/v1/oauth-clients/${shrinking.id}`;
  assert.equal((await systemAdmin.put(path, { scopes: ["openid"] })).status, 200);
  const next = await refresh(t, shrinking, tokens.refresh_token);
  assert.deepEqual([next.body.scope, decodeJwt(next.body.access_token).scope], ["openid", "openid"]);
  assert.equal((await userInfo(next.body.access_token)).body.email, undefined);
  const { body: redeemed } = await redeem(t, shrinking, code);
  const claims = [redeemed.access_token, redeemed.id_token].map(decodeJwt);
  assert.deepEqual([redeemed.scope, claims[0]?.scope, claims[1]?.email], ["openid", "openid", undefined]);
});

Deno.test("a grant ends with the access of its user, and with the browser's session unless it may act offline", async () => {
  const changes: [string, (id: string) => Promise<unknown>][] = [
    [
      "access changed",
      (id) => sql`update users set security_version = security_version + 1 where id = ${id}`,
    ],
    ["deactivated", (id) => systemAdmin.put(`/api/v1/admin/users/${id}`, { isActive: false })],
    ["deleted", (id) => systemAdmin.delete(`/api/v1/admin/users/${id}`)],
    ["all sessions ended", (id) => sql`update sessions set revoked_at = now() where user_id = ${id}`],
    ["expired", (id) => sql`update sessions set expires_at = now() where user_id = ${id}`],
  ];
  for (const [name, change] of changes) {
    const { browser, who } = await signedInBrowser(t);
    const tokens = await signInToClient(t, browser, client);
    const code = await newCode(client, browser);
    await change(who.id);
    t.steward.platform.rights.invalidate([who.id]);
    assert.equal(problemOf(await refresh(t, client, tokens.refresh_token)), "400 invalid_grant", name);
    assert.equal(problemOf(await redeem(t, client, code)), "400 invalid_grant", name);
    assert.equal(await isLive(tokens.access_token), false, name);
  }
  const { browser } = await signedInBrowser(t);
  const here = await signInToClient(t, browser, client);
  const away = await signInToClient(t, browser, client, { scope: "openid offline_access" });
  const sid = String(decodeJwt(here.id_token).sid);
  await sql`select 1`;
  const left = await browser.leave(authorizeUrl(t, client, { prompt: "none" }));
  assert.ok(left.searchParams.get("code"));
  const gone = await browser.show(`${t.url}/oauth/logout?id_token_hint=${here.id_token}`);
  assert.match(gone.html, /You are signed out/);
  const [session] = await sql`select revoked_at from sessions where id = ${sid}`;
  assert.ok(session?.revokedAt);
  assert.equal(problemOf(await refresh(t, client, here.refresh_token)), "400 invalid_grant");
  assert.equal((await refresh(t, client, away.refresh_token)).status, 200);
});

Deno.test("a refresh prolongs a grant to 14 days, and never beyond 30 days after the sign-in", async () => {
  const { refresh_token, access_token } = await signInToClient(t, browser, client);
  const session = String(decodeJwt(access_token).sid);
  const days = async () => {
    const [row] = await sql<{ grant: number; session: number }[]>`
      select extract(epoch from g.refresh_expires_at - now()) / 86400 as grant,
        extract(epoch from s.expires_at - now()) / 86400 as session
      from oauth_grants g join sessions s on s.id = g.session_id where s.id = ${session}`;
    return [Number(row?.grant).toFixed(1), Number(row?.session).toFixed(1)];
  };
  assert.deepEqual(await days(), ["14.0", "14.0"]);
  const pass = (interval: number) =>
    sql`with g as (update oauth_grants set refresh_expires_at = refresh_expires_at - make_interval(days => ${interval})
        where session_id = ${session})
      update sessions set created_at = created_at - make_interval(days => ${interval}),
        expires_at = expires_at - make_interval(days => ${interval}) where id = ${session}`;
  await pass(10);
  const second = await refresh(t, client, refresh_token);
  assert.deepEqual(await days(), ["14.0", "14.0"]);
  await pass(13);
  const third = await refresh(t, client, second.body.refresh_token);
  assert.deepEqual(await days(), ["7.0", "7.0"]);
  await pass(8);
  assert.equal(problemOf(await refresh(t, client, third.body.refresh_token)), "400 invalid_grant");
});

Deno.test("ended sessions of clients are pruned with their grants, and unused codes after a day", async () => {
  await newCode();
  await sql`update sessions set expires_at = now() - interval '2 days' where client_id is not null`;
  await finish(pruneSignInJob, t.steward.platform);
  const [left] = await sql<{ grants: number }[]>`select count(*)::int as grants from oauth_grants`;
  assert.equal(left?.grants, 0);
});
