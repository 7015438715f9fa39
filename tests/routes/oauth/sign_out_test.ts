// Clients learn by logout tokens that a user's sign-in has ended (OpenID Connect Back-Channel Logout 1.0), and have their
// own lifetimes of tokens and names on the pages of a sign-in.
import assert from "node:assert/strict";
import { createLocalJWKSet, decodeJwt, jwtVerify } from "jose";
import { newId } from "../../../domain/shared/ids.ts";
import { invalid, pluck } from "../../support/answers.ts";
import type { HttpAnswer } from "../../support/http.ts";
import { accepted, refused } from "../../support/outcomes.ts";
import { type Actor, setupShared } from "../../support/setup.ts";
import { until } from "../../support/until.ts";
import { bearer, person, racingFor, signIn } from "../auth/people.ts";
import type { FormBrowser } from "./browser.ts";
import {
  authorizeUrl,
  browserOf,
  codeOf,
  makeClient,
  postForm,
  redeem,
  refresh,
  signedInBrowser,
  signInToClient,
} from "./flow.ts";

const t = await setupShared({ OUTBOUND_ALLOW: "127.0.0.1" });
const { systemAdmin } = t;
const { sql } = t.steward.platform;
const EVENT = "http://schemas.openid.net/event/backchannel-logout";

/** The program of a client: it keeps the logout tokens that it gets, and answers with `status`. */
function startProgram() {
  const tokens: string[] = [];
  const program = { tokens, status: 200 };
  const server = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen: () => {} }, async (request) => {
    tokens.push(new URLSearchParams(await request.text()).get("logout_token") ?? "");
    return new Response(null, { status: program.status });
  });
  const backchannelLogoutUri = `http://127.0.0.1:${server.addr.port}/signed-out`;
  const got = (count: number) =>
    until(() => tokens, ({ length }) => length >= count, { what: "a logout token" });
  return Object.assign(program, {
    settings: { backchannelLogoutUri },
    got,
    [Symbol.asyncDispose]: () => server.shutdown(),
  });
}

/** The jobs that tell clients of a user's sign-outs. */
const jobsOf = (userId: string) =>
  sql<{ id: string; status: string; failures: number }[]>`select id, status, failures from jobs
    where job_type_name = 'steward.sign-out-clients' and serialized_args like ${`%${userId}%`}`;

Deno.test("a sign-out by the browser is told to its clients by a signed logout token", async () => {
  await using program = startProgram();
  const client = await makeClient(systemAdmin, program.settings);
  const { browser, who } = await signedInBrowser(t);
  const { id_token } = await signInToClient(t, browser, client);
  await browser.show(`${t.url}/oauth/logout?id_token_hint=${id_token}`);
  const [token = ""] = await program.got(1);
  const keys = createLocalJWKSet((await t.nobody.get("/.well-known/jwks.json")).body);
  const expected = { audience: client.clientId, issuer: t.url, typ: "logout+jwt", algorithms: ["RS256"] };
  const { payload: { sub, sid, events, jti, exp, nonce } } = await jwtVerify(token, keys, expected);
  assert.deepEqual([sub, sid, events], [who.id, decodeJwt(id_token).sid, { [EVENT]: {} }]);
  assert.ok(jti && exp);
  assert.equal(nonce, undefined);
});

Deno.test("every end of a sign-in is told, also of one that outlives its browser", async () => {
  await using program = startProgram();
  const client = await makeClient(systemAdmin, program.settings);
  const ends: ((admin: Actor, userId: string) => Promise<unknown>)[] = [
    (admin, id) => accepted(admin.delete(`/api/v1/users/${id}/sessions`)),
    (admin, id) => accepted(admin.post(`/api/v1/users/${id}/deactivate`, {})),
    (admin, id) => accepted(admin.put(`/api/v1/users/${id}/roles`, { roleIds: [] })),
  ];
  const users = [];
  for (const end of ends) {
    const { browser, who } = await signedInBrowser(t);
    await signInToClient(t, browser, client, { scope: "openid offline_access" });
    await end(await t.actor({ tenantId: who.tenantId, role: "Admin" }), who.id);
    users.push(who.id);
  }
  const tokens = await program.got(users.length);
  assert.deepEqual(tokens.map((token) => decodeJwt(token).sub).sort(), users.sort());
});

/** Signs a browser in to a new client, and has `end` begin before the commit and wait for it. @returns the code */
async function enterBefore(browser: FormBrowser, end: () => Promise<HttpAnswer>) {
  const client = await makeClient(systemAdmin);
  let left = new URL(t.url);
  await racingFor(
    t,
    (tx) => tx`select from oauth_clients where id = ${client.id} for update`,
    async () => {
      left = await browser.leave(authorizeUrl(t, client));
      return { status: 303, headers: new Headers(), body: {} };
    },
    end,
  );
  return { client, code: codeOf(left) };
}

Deno.test("an end of sessions that waits for a sign-in to a client ends the session of the client too", async () => {
  const who = await person(t);
  const sessions = `/api/v1/admin/users/${who.id}/sessions`;
  const ends = [
    (id: string) => systemAdmin.delete(`${sessions}/${id}`),
    () => systemAdmin.delete(sessions),
  ];
  for (const end of ends) {
    const browser = await browserOf(t, who.email);
    const [{ id }] = await accepted(systemAdmin.get(sessions));
    const { client, code } = await enterBefore(browser, () => end(id));
    assert.equal((await redeem(t, client, code)).body.error, "invalid_grant");
  }
});

Deno.test("the removal of the last second factor that waits for a sign-in to a client counts for its session too", async () => {
  const { id, email } = await person(t);
  const me = bearer(t, await signIn(t, email));
  const browser = await browserOf(t, email);
  const factorId = newId();
  await sql`insert into user_factors (id, user_id, kind, name, secret, confirmed_at)
    values (${factorId}, ${id}, 'totp', 'App', 'x', now())`;
  await sql`update sessions set amr = '{pwd,otp,mfa}' where user_id = ${id}`;
  await enterBefore(browser, () => me.delete(`/api/v1/auth/factors/${factorId}`));
  const rows = await sql<{ amr: string[] }[]>`
    select distinct amr from sessions where user_id = ${id} and revoked_at is null`;
  assert.deepEqual(pluck(rows, "amr"), [["pwd", "otp"]]);
});

Deno.test("a client that does not answer gets the token again; others do not", async () => {
  await using broken = startProgram();
  await using fine = startProgram();
  broken.status = 500;
  const { browser, who } = await signedInBrowser(t);
  for (const { settings } of [broken, fine]) {
    await signInToClient(t, browser, await makeClient(systemAdmin, settings));
  }
  const admin = await t.actor({ tenantId: who.tenantId, role: "Admin" });
  await accepted(admin.delete(`/api/v1/users/${who.id}/sessions`));
  await Promise.all([broken.got(1), fine.got(1)]);
  const failed = await until(() => jobsOf(who.id), ([job]) => job?.failures === 1, {
    what: "a failed attempt",
  });
  broken.status = 204;
  await sql`update jobs set due_at = now() - interval '1 ms', status = 'Enqueued' where id = ${
    failed[0]?.id ?? ""
  } and status = 'Failed'`;
  await t.steward.sweep();
  await broken.got(2);
  assert.equal(await t.settled(failed[0]?.id ?? ""), "Succeeded");
  assert.equal(fine.tokens.length, 1);
});

Deno.test("a client that revokes its own token gets no logout token for it", async () => {
  await using program = startProgram();
  const client = await makeClient(systemAdmin, program.settings);
  const { browser, who } = await signedInBrowser(t);
  const [own, other] = [await signInToClient(t, browser, client), await signInToClient(t, browser, client)];
  const { clientId, secret } = client;
  const fields = { client_id: clientId, client_secret: secret ?? "", token: own.refresh_token };
  assert.equal((await postForm(t, "/oauth/revoke", fields)).status, 200);
  const admin = await t.actor({ tenantId: who.tenantId, role: "Admin" });
  await accepted(admin.delete(`/api/v1/users/${who.id}/sessions`));
  await program.got(1);
  await refused("400 invalid_grant", refresh(t, client, other.refresh_token));
  await until(() => jobsOf(who.id), (jobs) => jobs.every(({ status }) => status === "Succeeded"));
  assert.equal(program.tokens.length, 1);
});

Deno.test("a client's lifetimes bound its tokens and its sign-in", async () => {
  const lifetimes = { accessTokenSeconds: 60, refreshTokenSeconds: 7_200, grantSeconds: 10_800 };
  const client = await makeClient(systemAdmin, lifetimes);
  const { browser } = await signedInBrowser(t);
  const tokens = await signInToClient(t, browser, client);
  const { iat = 0, exp = 0, sid } = decodeJwt(tokens.access_token);
  assert.deepEqual([tokens.expires_in, exp - iat], [60, 60]);
  const expiry = async () =>
    (await sql`select round(extract(epoch from g.refresh_expires_at - s.created_at))::int as whole,
      round(extract(epoch from g.refresh_expires_at - g.refreshed_at))::int as unused
      from oauth_grants g join sessions s on s.id = g.session_id where s.id = ${String(sid)}`)[0];
  assert.equal((await expiry())?.unused, 7_200);
  await sql`update sessions set created_at = created_at - interval '2 hours' where id = ${String(sid)}`;
  const next = await accepted(refresh(t, client, tokens.refresh_token));
  assert.equal((await expiry())?.whole, 10_800);
  await sql`update oauth_grants set refresh_expires_at = now() - interval '1 ms' where session_id = ${
    String(sid)
  }`;
  await refused("400 invalid_grant", refresh(t, client, next.refresh_token));
  const { id } = await makeClient(systemAdmin);
  const put = (more: object) => systemAdmin.put(`/api/v1/oauth-clients/${id}`, more);
  invalid(await put({ grantSeconds: 3_600 }), "refreshTokenSeconds");
  invalid(await put({ backchannelLogoutUri: "http://app.test/out" }), "backchannelLogoutUri");
});

Deno.test("the pages of a sign-in name a first-party client; others only the service", async () => {
  const { browser } = await signedInBrowser(t);
  for (const [firstParty, brand] of [[true, "Orders"], [false, "Steward"]] as const) {
    const client = await makeClient(systemAdmin, { firstParty });
    const { html } = await browser.show(authorizeUrl(t, client, { prompt: "login" }));
    assert.equal(/<p class="brand">.*?<span>(.*?)<\/span>/s.exec(html)?.[1], brand);
  }
});
