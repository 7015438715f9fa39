import assert from "node:assert/strict";
import { decodeJwt } from "jose";
import { pruneSignInJob } from "../../../domain/access/sign_in/pruning.ts";
import { finish } from "../../support/maintenance.ts";
import { accepted, outcome, refused } from "../../support/outcomes.ts";
import { setupShared } from "../../support/setup.ts";
import { makeClient, redeem, refresh, setupClients, signedInBrowser, signInToClient } from "./flow.ts";

const t = await setupShared();
const { sql } = t.steward.platform;
const { systemAdmin } = t;
const { client, open, other, browser, who, newCode, userInfo, isLive } = await setupClients(t);
const GONE = "400 invalid_grant";

type Tokens = Record<"refresh_token" | "access_token", string>;
const use = ({ refresh_token }: Tokens, more = {}, by = client) => refresh(t, by, refresh_token, more);

Deno.test("a refresh token works once; used again it ends the grant", async () => {
  const first = await signInToClient(t, browser, client);
  const second = await accepted(use(first), 200);
  assert.equal(second.id_token, undefined);
  assert.notEqual(second.refresh_token, first.refresh_token);
  const third = await accepted(use(second));
  assert.ok(await isLive(third.access_token));
  await refused(GONE, use(first));
  assert.equal(await isLive(third.access_token), false);
  await refused(GONE, use(third));
  const raced = await signInToClient(t, browser, client);
  const answers = await Promise.all(Array.from({ length: 3 }, () => outcome(use(raced))));
  assert.deepEqual(answers.sort(), ["200", GONE, GONE], "also at once");
});

Deno.test("a refresh token of another client, a made-up one, or one with a wrong part is refused and ends nothing", async () => {
  const tokens = await signInToClient(t, browser, client);
  const { refresh_token: token } = tokens;
  const changed = token.slice(0, 26) + "B".repeat(22) + token.slice(48);
  const strange = ["x", `${token}x`, "ocr_" + "A".repeat(87), changed, "\u00e4"];
  await refused(GONE, ...strange.map((text) => refresh(t, client, text)));
  await refused(GONE, use(tokens, {}, other), use(tokens, {}, open));
  await accepted(use(tokens), 200);
});

Deno.test("a refresh may narrow the scope of its access token, and never widen it", async () => {
  const tokens = await signInToClient(t, browser, client, { scope: "openid email" });
  const narrow = await accepted(use(tokens, { scope: "openid" }));
  assert.deepEqual([narrow.scope, decodeJwt(narrow.access_token).scope], ["openid", "openid"]);
  const info = await accepted(userInfo(narrow.access_token));
  assert.deepEqual(info, { sub: who.id, tenant_id: who.tenantId });
  await refused("400 invalid_scope", use(narrow, { scope: "openid email profile" }));
  assert.equal((await accepted(use(narrow))).scope, "openid email");
});

Deno.test("a scope that was taken from a client is missing in its next tokens", async () => {
  const shrinking = await makeClient(systemAdmin);
  const scope = "openid email";
  const tokens = await signInToClient(t, browser, shrinking, { scope });
  const code = await newCode(shrinking, browser, { scope });
  await accepted(systemAdmin.put(`/api/v1/oauth-clients/${shrinking.id}`, { scopes: ["openid"] }));
  const next = await accepted(use(tokens, {}, shrinking));
  const redeemed = await accepted(redeem(t, shrinking, code));
  for (const each of [next, redeemed]) {
    assert.deepEqual([each.scope, decodeJwt(each.access_token).scope], ["openid", "openid"]);
  }
  assert.equal((await accepted(userInfo(next.access_token))).email, undefined);
  assert.equal(decodeJwt(redeemed.id_token).email, undefined);
});

Deno.test("a grant ends with the access of its user, and with the browser's session unless it may act offline", async () => {
  const changes: Record<string, (id: string) => Promise<unknown>> = {
    "access changed": (id) => sql`update users set security_version = security_version + 1 where id = ${id}`,
    deactivated: (id) => systemAdmin.put(`/api/v1/admin/users/${id}`, { isActive: false }),
    deleted: (id) => systemAdmin.delete(`/api/v1/admin/users/${id}`),
    "all sessions ended": (id) => sql`update sessions set revoked_at = now() where user_id = ${id}`,
    expired: (id) => sql`update sessions set expires_at = now() - interval '1 ms' where user_id = ${id}`,
  };
  for (const [name, change] of Object.entries(changes)) {
    const { browser, who } = await signedInBrowser(t);
    const tokens = await signInToClient(t, browser, client);
    const code = await newCode(client, browser);
    await change(who.id);
    t.steward.platform.rights.invalidate([who.id]);
    assert.deepEqual(
      [await outcome(use(tokens)), await outcome(redeem(t, client, code))],
      [GONE, GONE],
      name,
    );
    assert.equal(await isLive(tokens.access_token), false, name);
  }
  const { browser } = await signedInBrowser(t);
  const here = await signInToClient(t, browser, client);
  const away = await signInToClient(t, browser, client, { scope: "openid offline_access" });
  const gone = await browser.show(`${t.url}/oauth/logout?id_token_hint=${here.id_token}`);
  assert.match(gone.html, /You are signed out/);
  const [session] = await sql`select revoked_at from sessions where id = ${
    String(decodeJwt(here.id_token).sid)
  }`;
  assert.ok(session?.revokedAt);
  await refused(GONE, use(here));
  await accepted(use(away));
});

Deno.test("a refresh prolongs a grant to 14 days, and never beyond 30 days after the sign-in", async () => {
  const first = await signInToClient(t, browser, client);
  const session = String(decodeJwt(first.access_token).sid);
  const days = async () => {
    const [row] = await sql<{ grant: number; session: number }[]>`
      select extract(epoch from g.refresh_expires_at - now()) / 86400 as grant,
        extract(epoch from s.expires_at - now()) / 86400 as session
      from oauth_grants g join sessions s on s.id = g.session_id where s.id = ${session}`;
    return [Number(row?.grant).toFixed(1), Number(row?.session).toFixed(1)];
  };
  const pass = (interval: number) =>
    sql`with g as (update oauth_grants set refresh_expires_at = refresh_expires_at - make_interval(days => ${interval})
        where session_id = ${session})
      update sessions set created_at = created_at - make_interval(days => ${interval}),
        expires_at = expires_at - make_interval(days => ${interval}) where id = ${session}`;
  assert.deepEqual(await days(), ["14.0", "14.0"]);
  await pass(10);
  const second = await accepted(use(first));
  assert.deepEqual(await days(), ["14.0", "14.0"]);
  await pass(13);
  const third = await accepted(use(second));
  assert.deepEqual(await days(), ["7.0", "7.0"]);
  await pass(8);
  await refused(GONE, use(third));
});

Deno.test("ended sessions of clients are pruned with their grants, and unused codes after a day", async () => {
  const code = await newCode();
  await sql`update sessions set expires_at = now() - interval '2 days' where client_id is not null`;
  await finish(pruneSignInJob, t.steward.platform);
  await refused(GONE, redeem(t, client, code));
  assert.equal((await sql`select from oauth_grants`).count, 0);
});
