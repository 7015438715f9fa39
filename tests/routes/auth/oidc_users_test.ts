import assert from "node:assert/strict";
import { newId } from "../../../domain/shared/ids.ts";
import { CLIENT_SECRET } from "../../support/oidc.ts";
import { OpenIdTest, PUBLIC_URL } from "./openid.ts";
import { mailsTo, withJobs } from "./mails.ts";
import { bearer, PASSWORD, signIn } from "./people.ts";

const world = await OpenIdTest.start();
Deno.test.afterAll(() => world.stop());
const { t, provider, run, known } = world;
const { issuer } = provider;
const { sql } = t.steward.platform;

Deno.test("the list names the providers and contains no secret", async () => {
  const { status, body } = await t.nobody.get("/api/v1/auth/oidc");
  assert.equal(status, 200);
  assert.deepEqual(body[0], {
    name: "corp",
    displayName: "The corporation",
    signInUrl: `${PUBLIC_URL}/api/v1/auth/oidc/corp`,
  });
  assert.equal(body.length, 5);
  assert.ok(!JSON.stringify(body).includes(CLIENT_SECRET));
});

for (const name of ["corp", "open", "public"]) {
  Deno.test(`a verified email signs its user in with the ${name} client, and is answered like a login`, async () => {
    const { user, login } = await known();
    const { status, body, headers } = await run(login, name);
    assert.equal(status, 200, JSON.stringify(body));
    assert.equal(body.user.id, user.id);
    assert.equal(body.tenant.id, user.tenantId);
    assert.ok(body.permissions.includes("read:users"));
    assert.match(headers.getSetCookie()[0] ?? "", /Max-Age=0/);
    const me = t.nobody.with({ authorization: `Bearer ${body.accessToken}` });
    assert.equal((await me.get("/auth/me")).status, 200);
    assert.equal((await t.nobody.post("/auth/refresh", { refreshToken: body.refreshToken })).status, 200);
  });
}

Deno.test("a linked account is found by its subject, whatever its email", async () => {
  const { user, login } = await known();
  assert.equal((await run(login)).status, 200);
  provider.accounts.set(login, { email: "changed@example.test", email_verified: false });
  assert.equal((await run(login)).body.user.id, user.id);
  const rows = await sql`select issuer, subject from user_identities where user_id = ${user.id}`;
  assert.deepEqual(rows.map((row) => ({ ...row })), [{ issuer, subject: login }]);
  const [audited] = await sql`select action from audit_log where target_id = ${user.id} order by id`;
  assert.equal(audited?.action, "user.link-identity");
});

Deno.test("the first sign-in by a provider removes a password that somebody else may have chosen, with its sessions", async () => {
  const { user, login } = await known();
  const administrator = bearer(t, await signIn(t, user.email));
  const { status, body } = await withJobs(t, () => run(login));
  assert.equal(status, 200);
  assert.equal((await signIn(t, user.email)).body.code, "CREDENTIALS_INVALID_UNAUTHORIZED");
  assert.equal((await administrator.get("/auth/me")).body.code, "TOKEN_REVOKED");
  const owner = t.nobody.with({ authorization: `Bearer ${body.accessToken}` });
  assert.equal((await owner.get("/auth/me")).status, 200);
  const actions = await sql`select action from audit_log where target_id = ${user.id} order by id`;
  assert.deepEqual(actions.map(({ action }) => action), ["user.link-identity", "user.remove-password"]);
  assert.equal((await mailsTo(t, user.email))[0]?.subject, "The password of your account was removed");

  await withJobs(t, () => t.nobody.post("/auth/forgot-password", { email: user.email }));
  const [link] = await mailsTo(t, user.email);
  const token = /#token=([\w-]{43})/.exec(link?.textBody ?? "")?.[1];
  assert.equal((await t.nobody.post("/auth/reset-password", { token, newPassword: PASSWORD })).status, 204);
  await sql`delete from user_identities where user_id = ${user.id}`;
  assert.equal((await run(login)).status, 200);
  assert.equal((await signIn(t, user.email)).status, 200, "a password set by a mailed link stays");
});

Deno.test("another account of the provider with the same email cannot sign in as a linked user", async () => {
  const { user, login } = await known();
  assert.equal((await run(login)).status, 200);
  provider.accounts.set(`heir-${login}`, { email: user.email, email_verified: true });
  const { status, body } = await run(`heir-${login}`);
  assert.equal(status, 409);
  assert.equal(body.code, "OIDC_IDENTITY_CONFLICT");
});

Deno.test("tenantId and global of the start work as in a login", async () => {
  const second = await t.tenant();
  const { user, login } = await known({ links: [await t.tenant(), second] });
  assert.equal((await run(login, "corp", `?tenantId=${second}`)).body.tenant.id, second);
  assert.equal((await run(login, "corp", "?global=true")).body.tenant, null);
  const foreign = await run(login, "corp", `?tenantId=${await t.tenant()}`);
  assert.equal(foreign.body.code, "TENANT_FORBIDDEN");
  assert.ok(user);
});

Deno.test("an email that is unverified, missing or not verified with literal true signs nobody in", async () => {
  const { user } = await known();
  const accounts = [
    { email: user.email, email_verified: false },
    { email: user.email },
    { email: user.email, email_verified: "true" as unknown as boolean },
    { email_verified: true },
  ];
  for (const [index, account] of accounts.entries()) {
    const login = `unverified-${index}-${user.id}`;
    provider.accounts.set(login, account);
    for (const name of ["corp", "open"]) {
      const { status, body } = await run(login, name);
      assert.equal(status, 403);
      assert.equal(body.code, "OIDC_EMAIL_UNVERIFIED_FORBIDDEN");
    }
  }
  assert.equal((await sql`select from user_identities where user_id = ${user.id}`).count, 0);
});

Deno.test("a verified email in other letters than ASCII is no user's, although lower case makes it equal", async () => {
  const { user } = await known();
  for (const [index, [letter, other]] of [["i", "\u0130"], ["k", "\u212a"]].entries()) {
    const email = `${letter}${user.email}`;
    await sql`update users set email = ${email} where id = ${user.id}`;
    const login = `alike-${index}-${user.id}`;
    provider.accounts.set(login, { email: `${other}${user.email}`, email_verified: true });
    const [equal] = await sql`select lower(${`${other}${user.email}`}) = lower(${email}) as is_equal`;
    assert.ok(equal?.isEqual, "the test would prove nothing");
    for (const name of ["corp", "open"]) {
      const { status, body } = await run(login, name);
      assert.deepEqual([status, body.code], [403, "OIDC_EMAIL_UNVERIFIED_FORBIDDEN"]);
    }
  }
});

Deno.test("without autoProvision an unknown email signs nobody in and creates no user", async () => {
  const login = `stranger-${newId()}`;
  provider.accounts.set(login, { email: `${login}@example.test`, email_verified: true });
  const { status, body } = await run(login, "corp");
  assert.equal(status, 403);
  assert.equal(body.code, "OIDC_USER_UNKNOWN_FORBIDDEN");
  assert.equal((await sql`select from users where email = ${`${login}@example.test`}`).count, 0);
});

Deno.test("with autoProvision an unknown email creates one user without tenant or password", async () => {
  const login = `newcomer-${newId()}`;
  const email = `${login}@example.test`;
  provider.accounts.set(login, { email, email_verified: true, given_name: "Grace", family_name: "Hopper" });
  const answers = await Promise.all(Array.from({ length: 3 }, () => run(login, "open")));
  for (const { status, body } of answers) {
    assert.equal(status, 200, JSON.stringify(body));
    assert.equal(body.tenant, null);
    assert.deepEqual(body.permissions, []);
    assert.equal(body.user.firstName, "Grace");
    assert.equal(body.user.lastName, "Hopper");
  }
  const users = await sql`select password_hash from users where email = ${email}`;
  assert.deepEqual(users.map((row) => ({ ...row })), [{ passwordHash: null }]);
  assert.equal((await signIn(t, email, "")).status, 400);
  assert.equal((await signIn(t, email, "anything at all")).status, 401);
});

Deno.test("claims with text the database cannot store count as missing", async () => {
  const login = `odd-${newId()}`;
  const email = `${login}@example.test`;
  provider.accounts.set(login, { email, email_verified: true, given_name: "Gr\0ce", family_name: "Hopper" });
  const { status, body } = await run(login, "open");
  assert.deepEqual([status, body.user?.firstName, body.user?.lastName], [200, "", "Hopper"]);
  const { user } = await known();
  const pretender = `odd-${newId()}`;
  provider.accounts.set(pretender, { email: `\0${user.email}`, email_verified: true });
  assert.equal((await run(pretender)).body.code, "OIDC_EMAIL_UNVERIFIED_FORBIDDEN");
});

Deno.test("inactive and deleted users are neither signed in nor created again", async () => {
  const deleted = await known();
  await sql`update users set deleted_at = now() where id = ${deleted.user.id}`;
  const inactive = await known({ isActive: false });
  const linked = await known();
  assert.equal((await run(linked.login, "open")).status, 200);
  await sql`update users set is_active = false where id = ${linked.user.id}`;
  for (const { login } of [deleted, inactive, linked]) {
    const { status, body } = await run(login, "open");
    assert.equal(status, 403);
    assert.equal(body.code, "OIDC_USER_UNKNOWN_FORBIDDEN");
  }
});

Deno.test("a locked account cannot sign in with a provider either, except from a known device", async () => {
  const { user, login } = await known();
  const browser = world.newBrowser();
  const here = async () => {
    const { authorizationUrl } = await world.begin("corp", "", browser);
    return await world.comeBack(browser, await browser.signIn(authorizationUrl.href, login));
  };
  const query = `?${new URLSearchParams({ returnTo: "/welcome" })}`;
  const exchange = async (deviceToken?: string) => {
    const code = (await run(login, "corp", query)).location.split("#code=")[1];
    return await t.nobody.post("/api/v1/auth/oidc/exchange", { code, deviceToken });
  };
  const { deviceToken } = (await here()).body;
  const { deviceToken: other } = (await exchange()).body;
  for (const token of [deviceToken, other]) assert.match(token, /^[\w-]{43}$/);
  for (let n = 0; n < 5; n++) await signIn(t, user.email, "wrong");
  assert.equal((await here()).body.deviceToken, deviceToken, "by its cookie");
  assert.equal((await exchange(other)).body.deviceToken, other, "by its token");
  assert.equal((await exchange("A".repeat(43))).body.code, "ACCOUNT_LOCKED_UNAUTHORIZED");
  assert.equal((await exchange()).body.code, "ACCOUNT_LOCKED_UNAUTHORIZED");
  for (let n = 0; n < 5; n++) await signIn(t, user.email, "wrong", { deviceToken: other });
  assert.equal(
    (await exchange(other)).body.code,
    "ACCOUNT_LOCKED_UNAUTHORIZED",
    "wrong passwords of its own",
  );
  assert.equal((await here()).status, 200, "another device of the user");

  await sql`update users set lockout_expires_at = now() + interval '10 minutes' where id = ${user.id}`;
  const { status, body, headers } = await run(login);
  assert.equal(status, 401);
  assert.equal(body.code, "ACCOUNT_LOCKED_UNAUTHORIZED");
  assert.ok(Number(headers.get("retry-after")) > 590);
});

Deno.test("unknown providers are not found; one that is down, or rejects the client, is unavailable", async () => {
  for (const path of ["/unknown", "/unknown/callback?state=x&code=y"]) {
    const { status, body } = await t.nobody.get(`/api/v1/auth/oidc${path}`);
    assert.equal(status, 404);
    assert.equal(body.code, "OIDC_PROVIDER_NOT_FOUND");
  }
  const away = await t.nobody.get("/api/v1/auth/oidc/away");
  assert.equal(away.status, 503);
  assert.equal(away.body.code, "OIDC_PROVIDER_UNAVAILABLE");
  const { login } = await known();
  const { status, body } = await run(login, "misconfigured");
  assert.equal(status, 503);
  assert.equal(body.code, "OIDC_PROVIDER_UNAVAILABLE");
});
