import assert from "node:assert/strict";
import { digest, newSecret } from "../../../domain/shared/secrets.ts";
import { setupShared } from "../../support/setup.ts";
import { until } from "../../support/until.ts";
import { addApp, type AppUser, appUser, clock, finish, TestApp } from "./factors.ts";
import { bearer, forgetFailures, PASSWORD, person, signIn } from "./people.ts";

const t = await setupShared({}, { clock });
Deno.test.afterAll(() => t.stop());
Deno.test.beforeEach(() => forgetFailures(t));
const { sql } = t.steward.platform;

/** The factor token of a new sign-in. */
async function half(user: Pick<AppUser, "email">, more = {}): Promise<string> {
  const { status, body } = await signIn(t, user.email, PASSWORD, more);
  assert.equal(status, 401);
  assert.equal(body.code, "SECOND_FACTOR_REQUIRED_UNAUTHORIZED");
  return body.factorToken;
}

Deno.test("a password sign-in of a user with an authenticator app needs its code", async () => {
  const user = await appUser(t);
  const asked = await signIn(t, user.email);
  assert.equal(asked.status, 401);
  assert.deepEqual(asked.body.factors, ["totp", "recoveryCode"]);
  assert.equal(asked.body.passkeyOptions, null);
  assert.equal(asked.body.accessToken, undefined);
  const { status, body } = await finish(t, asked.body.factorToken, { code: user.app.code() });
  assert.equal(status, 200);
  assert.equal(body.user.email, user.email);
  assert.equal(body.tenant.id, user.tenantId);
  const sessions = await bearer(t, { status, body, headers: new Headers() }).get("/auth/sessions");
  assert.deepEqual(sessions.body[0].amr, ["pwd", "otp", "mfa"]);
});

Deno.test("the tenant of the first step is the tenant of the session", async () => {
  const [first, second] = [await t.tenant(), await t.tenant()];
  const user = await appUser(t, { links: [first, second] });
  const chosen = await finish(t, await half(user, { tenantId: second }), { code: user.app.code() });
  assert.equal(chosen.body.tenant.id, second);
  const global = await finish(t, await half(user, { global: true }), { recoveryCode: user.recoveryCodes[0] });
  assert.equal(global.body.tenant, null);
  const unlinked = await signIn(t, user.email, PASSWORD, { tenantId: await t.tenant() });
  assert.equal(unlinked.body.code, "TENANT_FORBIDDEN");
});

Deno.test("a wrong password of a user with a factor gets the answer of any wrong password", async () => {
  const user = await appUser(t);
  const { status, body } = await signIn(t, user.email, "wrong");
  assert.equal(status, 401);
  assert.equal(body.code, "CREDENTIALS_INVALID_UNAUTHORIZED");
  assert.equal(body.factorToken, undefined);
});

Deno.test("a code works once: of 20 simultaneous requests with different sign-ins one succeeds", async () => {
  const user = await appUser(t);
  const tokens = await Promise.all(Array.from({ length: 20 }, () => half(user)));
  const code = user.app.code();
  const answers = await Promise.all(tokens.map((token) => finish(t, token, { code })));
  assert.equal(answers.filter(({ status }) => status === 200).length, 1);
  const refused = new Set(answers.filter(({ status }) => status !== 200).map(({ body }) => body.code));
  for (const code of refused) {
    assert.ok(["SECOND_FACTOR_INVALID_UNAUTHORIZED", "ACCOUNT_LOCKED_UNAUTHORIZED"].includes(code), code);
  }
});

Deno.test("a factor token works once: of 20 simultaneous requests one succeeds, and none counts as wrong", async () => {
  const user = await appUser(t);
  const token = await half(user);
  const code = user.app.code();
  const answers = await Promise.all(Array.from({ length: 20 }, () => finish(t, token, { code })));
  const codes = answers.map(({ body }) => body.code ?? "ok").toSorted();
  assert.deepEqual(codes, [...Array(19).fill("FACTOR_TOKEN_INVALID_UNAUTHORIZED"), "ok"]);
  const counted = await sql`select from failed_sign_ins where subject = ${`factor:${user.id}`}`;
  assert.equal(counted.length, 0);
});

Deno.test("codes of the neighbouring time steps work, later ones do not, and no code before a used one", async () => {
  const user = await appUser(t);
  const token = await half(user);
  assert.equal(
    (await finish(t, token, { code: user.app.code(3) })).body.code,
    "SECOND_FACTOR_INVALID_UNAUTHORIZED",
  );
  assert.equal((await finish(t, token, { code: user.app.code(1) })).status, 200);
  const next = await half(user);
  for (const steps of [0, 1]) {
    const { body } = await finish(t, next, { code: user.app.code(steps) });
    assert.equal(body.code, "SECOND_FACTOR_INVALID_UNAUTHORIZED");
  }
});

Deno.test("an unknown, expired or foreign factor token finishes nothing", async () => {
  const user = await appUser(t);
  const token = await half(user);
  await sql`update factor_tokens set expires_at = now() where user_id = ${user.id}`;
  for (const factorToken of [token, "unknown"]) {
    const { status, body } = await finish(t, factorToken, { code: user.app.code() });
    assert.equal(status, 401);
    assert.equal(body.code, "FACTOR_TOKEN_INVALID_UNAUTHORIZED");
  }
  const other = await appUser(t);
  const { body } = await finish(t, await half(user), { code: other.app.code() });
  assert.equal(body.code, "SECOND_FACTOR_INVALID_UNAUTHORIZED");
});

Deno.test("exactly one proof is expected", async () => {
  const user = await appUser(t);
  const factorToken = await half(user);
  for (const proof of [{}, { code: user.app.code(), recoveryCode: user.recoveryCodes[0] }]) {
    const { status, body } = await finish(t, factorToken, proof);
    assert.equal(status, 400);
    assert.match(body.errors[0], /exactly one of code, recoveryCode, passkey/);
  }
  assert.equal((await finish(t, factorToken, { code: "12345" })).status, 400);
});

Deno.test("a recovery code works once, in any spelling", async () => {
  const user = await appUser(t);
  const [code = ""] = user.recoveryCodes;
  assert.equal(user.recoveryCodes.length, 10);
  assert.equal(new Set(user.recoveryCodes).size, 10);
  const spelled = code.toUpperCase().replaceAll("-", " ");
  const tokens = [await half(user), await half(user)];
  const answers = await Promise.all(tokens.map((token) => finish(t, token, { recoveryCode: spelled })));
  assert.deepEqual(answers.map(({ status }) => status).toSorted(), [200, 401]);
  assert.equal((await user.client.get("/auth/factors")).body.recoveryCodesLeft, 9);
  const stored = await sql`select code_hash from recovery_codes where user_id = ${user.id}`;
  assert.ok(stored.every(({ codeHash }) => !codeHash.toString().includes(code)));
});

Deno.test("new recovery codes replace the old ones", async () => {
  const user = await appUser(t);
  const { status, body } = await user.client.post("/api/v1/auth/factors/recovery-codes");
  assert.equal(status, 200);
  assert.equal(body.recoveryCodes.length, 10);
  const token = await half(user);
  const old = await finish(t, token, { recoveryCode: user.recoveryCodes[0] });
  assert.equal(old.body.code, "SECOND_FACTOR_INVALID_UNAUTHORIZED");
  assert.equal((await finish(t, token, { recoveryCode: body.recoveryCodes[0] })).status, 200);
  const none = await bearer(t, await signIn(t, (await person(t)).email)).post("/auth/factors/recovery-codes");
  assert.equal(none.body.code, "FACTOR_NOT_FOUND");
});

Deno.test("the fifth wrong code locks the account; the right password does not reset the count", async () => {
  const user = await appUser(t);
  const wrong = user.app.code(5);
  for (let n = 0; n < 5; n++) {
    const { body } = await finish(t, await half(user), { code: wrong });
    assert.equal(body.code, "SECOND_FACTOR_INVALID_UNAUTHORIZED");
  }
  const locked = await signIn(t, user.email);
  assert.equal(locked.body.code, "ACCOUNT_LOCKED_UNAUTHORIZED");
  await sql`update users set lockout_expires_at = null where id = ${user.id}`;
  const token = await half(user); // such as on a device that has signed in before
  const { status, body, headers } = await finish(t, token, { code: user.app.code() });
  assert.equal(status, 401);
  assert.equal(body.code, "ACCOUNT_LOCKED_UNAUTHORIZED");
  assert.ok(Number(headers.get("retry-after")) > 890);
  await sql`update failed_sign_ins set last_failed_at = last_failed_at - interval '15 minutes',
    failed_at = array_fill(now() - interval '15 minutes', array[5]) where subject = ${`factor:${user.id}`}`;
  assert.equal((await finish(t, token, { code: user.app.code() })).status, 200);
});

Deno.test("of 30 simultaneous wrong codes five are tried", async () => {
  const user = await appUser(t);
  const tokens = await Promise.all(Array.from({ length: 30 }, () => half(user)));
  const answers = await Promise.all(tokens.map((token) => finish(t, token, { code: user.app.code(9) })));
  const tried = answers.filter(({ body }) => body.code === "SECOND_FACTOR_INVALID_UNAUTHORIZED");
  assert.equal(tried.length, 5);
});

Deno.test("an administrator's unlock also forgets wrong codes", async () => {
  const user = await appUser(t);
  const token = await half(user);
  for (let n = 0; n < 5; n++) await finish(t, token, { code: user.app.code(7) });
  assert.equal((await t.systemAdmin.post(`/api/v1/admin/users/${user.id}/unlock`)).status, 200);
  assert.equal((await finish(t, token, { code: user.app.code() })).status, 200);
});

Deno.test("wrong codes count for the address", async () => {
  const user = await appUser(t);
  const token = await half(user);
  await sql`insert into failed_sign_ins (subject, failed_at, last_failed_at)
    select 'address:' || a, array_fill(now(), array[29]), now() from unnest(array['127.0.0.1', '::1']) a`;
  assert.equal((await finish(t, token, { code: user.app.code(7) })).status, 401);
  const { status, body } = await finish(t, token, { code: user.app.code() });
  assert.equal(status, 429);
  assert.equal(body.code, "RATE_LIMITED");
});

Deno.test("an authenticator app counts only after its first code; a new start replaces it", async () => {
  const user = await person(t);
  const client = bearer(t, await signIn(t, user.email));
  const first = (await client.post("/api/v1/auth/factors/totp")).body;
  assert.match(first.otpauthUrl, /^otpauth:\/\/totp\/Steward:.*secret=[A-Z2-7]{32}&/);
  assert.equal((await signIn(t, user.email)).status, 200, "it does not count yet");
  const second = (await client.post("/api/v1/auth/factors/totp")).body;
  const gone = await client.post("/api/v1/auth/factors/totp/confirm", {
    factorId: first.factorId,
    code: new TestApp(first.secret).code(),
  });
  assert.equal(gone.body.code, "FACTOR_NOT_FOUND");
  const confirm = { factorId: second.factorId, code: new TestApp(second.secret).code(8) };
  const wrong = await client.post("/api/v1/auth/factors/totp/confirm", confirm);
  assert.equal(wrong.status, 400);
  assert.match(wrong.body.errors[0], /^code: /);
  confirm.code = new TestApp(second.secret).code();
  const outsider = bearer(t, await signIn(t, (await person(t)).email));
  const foreign = await outsider.post("/api/v1/auth/factors/totp/confirm", confirm);
  assert.equal(foreign.body.code, "FACTOR_NOT_FOUND");
  assert.equal((await client.post("/api/v1/auth/factors/totp/confirm", confirm)).status, 200);
  const token = await half(user);
  const replayed = await finish(t, token, { code: confirm.code });
  assert.equal(replayed.body.code, "SECOND_FACTOR_INVALID_UNAUTHORIZED", "the confirming code is used up");
  const { body } = await client.get("/api/v1/auth/factors");
  assert.deepEqual(body.factors.map(({ kind, name }: { kind: string; name: string }) => [kind, name]), [[
    "totp",
    "Authenticator app",
  ]]);
  const again = await client.post("/api/v1/auth/factors/totp");
  assert.equal(again.status, 409);
  assert.equal(again.body.code, "FACTOR_ALREADY_EXISTS");
});

Deno.test("of simultaneous confirmations one succeeds", async () => {
  const client = bearer(t, await signIn(t, (await person(t)).email));
  const { factorId, secret } = (await client.post("/api/v1/auth/factors/totp")).body;
  const code = new TestApp(secret).code();
  const answers = await Promise.all(
    Array.from({ length: 10 }, () => client.post("/api/v1/auth/factors/totp/confirm", { factorId, code })),
  );
  assert.deepEqual(answers.map(({ status }) => status).toSorted(), [200, ...Array(9).fill(404)]);
});

Deno.test("the secret is stored encrypted and never logged", async () => {
  const client = bearer(t, await signIn(t, (await person(t)).email));
  const { factorId, secret } = (await client.post("/api/v1/auth/factors/totp")).body;
  const [row] = await sql`select secret from user_factors where id = ${factorId}`;
  assert.match(row?.secret, /^[0-9a-f]{8}\.[\w-]{60,}$/);
  assert.ok(!t.logs.some((line) => line.includes(secret)));
});

Deno.test("a factor is removed with the password or a factor, and only its owner's", async () => {
  const user = await appUser(t);
  const path = `/api/v1/auth/factors/${user.factorId}`;
  const remove = (body?: unknown, by = user.client) => by.send("DELETE", path, body);
  assert.equal((await remove()).status, 400);
  assert.match((await remove({ password: "wrong" })).body.errors[0], /^password: /);
  assert.match((await remove({ code: user.app.code(7) })).body.errors[0], /^code: /);
  assert.equal((await remove({ password: PASSWORD, code: user.app.code() })).status, 400);
  const other = await appUser(t);
  assert.equal((await remove({ password: PASSWORD }, other.client)).body.code, "FACTOR_NOT_FOUND");
  assert.equal((await remove({ password: PASSWORD })).status, 204);
  assert.equal((await remove({ password: PASSWORD })).status, 404);
  const { body } = await user.client.get("/api/v1/auth/factors");
  assert.deepEqual(body, { factors: [], recoveryCodesLeft: 0, isLimited: false });
  assert.equal((await signIn(t, user.email)).status, 200);
  assert.equal(
    (await other.client.send("DELETE", `/auth/factors/${other.factorId}`, { code: other.app.code() })).status,
    204,
  );
});

Deno.test("ending all sessions of a user also ends sign-ins that wait for their factor", async () => {
  const user = await appUser(t);
  const token = await half(user);
  await t.systemAdmin.delete(`/api/v1/admin/users/${user.id}/sessions`);
  const { body } = await finish(t, token, { code: user.app.code() });
  assert.equal(body.code, "FACTOR_TOKEN_INVALID_UNAUTHORIZED");
});

Deno.test("an inactive user cannot finish a sign-in", async () => {
  const user = await appUser(t);
  const token = await half(user);
  await sql`update users set is_active = false where id = ${user.id}`;
  const { body } = await finish(t, token, { code: user.app.code() });
  assert.equal(body.code, "SECOND_FACTOR_INVALID_UNAUTHORIZED");
});

Deno.test("an administrator removes the factors of a user who lost them", async () => {
  const tenantId = await t.tenant();
  const user = await appUser(t, { links: [tenantId] });
  const admin = await t.actor({ tenantId, role: "Admin" });
  const path = `/api/v1/users/${user.id}/factors`;
  const visitor = await t.actor({ tenantId, permissions: ["read:users"] });
  assert.equal((await visitor.delete(path)).body.code, "MISSING_PERMISSION");
  assert.equal((await (await t.actor({ role: "Admin" })).delete(path)).body.code, "USER_NOT_FOUND");
  const { status, body } = await admin.delete(path);
  assert.equal(status, 200);
  assert.deepEqual(body, { removed: 1 });
  assert.equal((await user.client.get("/auth/me")).body.code, "TOKEN_REVOKED");
  assert.equal((await signIn(t, user.email)).status, 200, "without a factor");
  assert.deepEqual((await admin.delete(path)).body, { removed: 0 });
  const [row] = await sql`select actor_id, action, before from audit_log
    where target_id = ${user.id} and action = 'user.remove-factors'`;
  assert.equal(row?.actorId, admin.userId);
});

Deno.test("a tenant's administrator does not remove factors of a user who is active in other tenants", async () => {
  const tenantId = await t.tenant();
  const user = await appUser(t, { links: [tenantId, await t.tenant()] });
  const admin = await t.actor({ tenantId, role: "Admin" });
  assert.equal((await admin.delete(`/api/v1/users/${user.id}/factors`)).body.code, "CROSS_TENANT_FORBIDDEN");
  const { body } = await t.systemAdmin.delete(`/api/v1/admin/users/${user.id}/factors`);
  assert.deepEqual(body, { removed: 1 });
  const unknown = await t.systemAdmin.delete(`/api/v1/admin/users/${crypto.randomUUID()}/factors`);
  assert.equal(unknown.body.code, "USER_NOT_FOUND");
});

Deno.test("the owner is told about every change of factors, and the audit log lists it", async () => {
  const user = await appUser(t);
  await user.client.post("/auth/factors/recovery-codes");
  await user.client.send("DELETE", `/auth/factors/${user.factorId}`, { password: PASSWORD });
  await addApp(user.client);
  await t.systemAdmin.delete(`/api/v1/admin/users/${user.id}/factors`);
  const subjects = async () => {
    const { body } = await t.nobody.get("/dev/outbox");
    const mails = body.filter(({ to }: { to: string }) => to.includes(user.email));
    return mails.map(({ subject }: { subject: string }) => subject).toSorted();
  };
  await until(async () => (await subjects()).length === 5);
  assert.deepEqual(await subjects(), [
    "A second factor was added",
    "A second factor was added",
    "A second factor was removed",
    "You have new recovery codes",
    "Your second factors were removed",
  ]);
  const rows = await sql`select action from audit_log where target_id = ${user.id} order by id`;
  assert.deepEqual(rows.map(({ action }) => action), [
    "user.add-factor",
    "user.renew-recovery-codes",
    "user.remove-factor",
    "user.add-factor",
    "user.remove-factors",
  ]);
});

Deno.test("without FACTOR_KEYS there are no authenticator apps, and existing ones are unavailable", async () => {
  const user = await appUser(t);
  const token = await half(user);
  const restore = t.replace(({ config }) => config, { FACTOR_KEYS: null });
  try {
    const client = bearer(t, await signIn(t, (await person(t)).email));
    const { status, body } = await client.post("/auth/factors/totp");
    assert.equal(status, 503);
    assert.equal(body.code, "FACTOR_UNAVAILABLE");
    assert.equal((await finish(t, token, { code: user.app.code() })).body.code, "FACTOR_UNAVAILABLE");
    assert.equal((await finish(t, token, { recoveryCode: user.recoveryCodes[0] })).status, 200);
  } finally {
    restore();
  }
});

Deno.test("a replaced key still decrypts while it is configured; without it the app is unavailable", async () => {
  const user = await appUser(t);
  const [old = ""] = t.steward.platform.config.FACTOR_KEYS ?? [];
  const fresh = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=";
  const token = await half(user);
  const without = t.replace(({ config }) => config, { FACTOR_KEYS: [fresh] });
  assert.equal((await finish(t, token, { code: user.app.code() })).body.code, "FACTOR_UNAVAILABLE");
  without();
  const both = t.replace(({ config }) => config, { FACTOR_KEYS: [fresh, old] });
  assert.equal((await finish(t, token, { code: user.app.code() })).status, 200);
  await addApp(bearer(t, await signIn(t, (await person(t)).email)));
  both();
});

Deno.test("a sign-in by a provider needs the second factor too, unless it counts as two factors", async () => {
  const user = await appUser(t);
  const returned = async (amr: string[]) => {
    const code = newSecret();
    await sql`insert into oidc_handovers (code_hash, user_id, tenant_id, is_global, amr, expires_at)
      values (${digest(code)}, ${user.id}, null, false, ${amr}, now() + interval '1 minute')`;
    return await t.nobody.post("/api/v1/auth/oidc/exchange", { code });
  };
  const asked = await returned(["fed"]);
  assert.equal(asked.body.code, "SECOND_FACTOR_REQUIRED_UNAUTHORIZED");
  const finished = await finish(t, asked.body.factorToken, { code: user.app.code() });
  assert.equal(finished.status, 200);
  const sessions = await bearer(t, finished).get("/auth/sessions");
  assert.deepEqual(sessions.body[0].amr, ["fed", "otp", "mfa"]);
  assert.equal((await returned(["fed", "mfa"])).status, 200);
});
