import assert from "node:assert/strict";
import type { HttpClient } from "../../support/http.ts";
import { accepted, outcome, refused } from "../../support/outcomes.ts";
import { TestAuthenticator } from "../../support/authenticator.ts";
import { addApp, addPasskey, ageSignIns, appUser, finish, half, siteOf, TestApp } from "./factors.ts";
import { resetTokenFor, subjectsTo, withJobs } from "./mails.ts";
import { bearer, PASSWORD, racing, setupSignIns, signedIn, signIn, withToken } from "./people.ts";

const t = await setupSignIns();
const { sql } = t.steward.platform;

const REQUIRED = "401 SECOND_FACTOR_REQUIRED_UNAUTHORIZED";
const WRONG = "401 SECOND_FACTOR_INVALID_UNAUTHORIZED";
const LOCKED = "401 ACCOUNT_LOCKED_UNAUTHORIZED";
const GONE = "401 FACTOR_TOKEN_INVALID_UNAUTHORIZED";
const FACTORS = "/api/v1/auth/factors";

const remove = (factorId: string, body: unknown, by: HttpClient) =>
  by.send("DELETE", `${FACTORS}/${factorId}`, body);
const amrOf = async ({ accessToken }: { accessToken: string }) =>
  (await accepted(withToken(t, accessToken).get("/auth/sessions")))[0].amr;
const outcomes = async (answers: ReturnType<typeof finish>[]) =>
  (await Promise.all(answers.map(outcome))).sort();

Deno.test("a password sign-in of a user with an authenticator app needs its code, and keeps its tenant", async () => {
  const [first, second] = [await t.tenant(), await t.tenant()];
  const user = await appUser(t, { links: [first, second] });
  const wrong = await signIn(t, user.email, "wrong");
  await refused("401 CREDENTIALS_INVALID_UNAUTHORIZED", wrong);
  assert.equal(wrong.body.factorToken, undefined);
  const asked = await signIn(t, user.email, PASSWORD, { tenantId: second });
  await refused(REQUIRED, asked);
  const { factors, passkeyOptions, accessToken, factorToken } = asked.body;
  assert.deepEqual([factors, passkeyOptions, accessToken], [["totp", "recoveryCode"], null, undefined]);
  const [recoveryCode] = user.recoveryCodes;
  for (const proof of [{}, { code: user.app.code(), recoveryCode }]) {
    const answer = await finish(t, factorToken, proof);
    assert.match(answer.body.errors[0], /exactly one of code, recoveryCode, passkey/);
  }
  const tokens = await accepted(finish(t, factorToken, { code: user.app.code() }), 200);
  assert.deepEqual([tokens.user.email, tokens.tenant.id], [user.email, second]);
  assert.deepEqual(await amrOf(tokens), ["pwd", "otp", "mfa"]);
  const global = await accepted(finish(t, await half(t, user, { global: true }), { recoveryCode }));
  assert.equal(global.tenant, null);
});

Deno.test("a password reset signs nobody in, and the next sign-in still needs the second factor", async () => {
  const user = await appUser(t);
  const newPassword = "a wholly different passphrase";
  const token = await resetTokenFor(t, user.email);
  assert.equal(await accepted(t.nobody.post("/api/v1/auth/reset-password", { token, newPassword })), "");
  const asked = await signIn(t, user.email, newPassword);
  await refused(REQUIRED, asked);
  await accepted(finish(t, asked.body.factorToken, { code: user.app.code() }));
});

Deno.test("a code works once: of simultaneous requests with different sign-ins one succeeds, and so does one of those with one sign-in", async () => {
  const user = await appUser(t);
  const [one, two, three] = [await half(t, user), await half(t, user), await half(t, user)];
  const raced = await outcomes([one, two].map((token) => finish(t, token, { code: user.app.code() })));
  assert.deepEqual(raced, ["200", WRONG]);
  await sql`delete from failed_sign_ins`;
  const answers = await outcomes(
    Array.from({ length: 3 }, () => finish(t, three, { code: user.app.code(1) })),
  );
  assert.deepEqual(answers, ["200", GONE, GONE], "none counts as wrong");
  assert.equal((await sql`select from failed_sign_ins where subject = ${`factor:${user.id}`}`).count, 0);
});

Deno.test("codes of the neighbouring time steps work, later ones do not, and no code before a used one", async () => {
  const user = await appUser(t);
  const token = await half(t, user);
  await refused(WRONG, finish(t, token, { code: user.app.code(3) }));
  await accepted(finish(t, token, { code: user.app.code(1) }));
  const next = await half(t, user);
  for (const steps of [0, 1]) await refused(WRONG, finish(t, next, { code: user.app.code(steps) }));
});

Deno.test("an unknown, expired, ended or foreign factor token, and that of an inactive user, finishes nothing", async () => {
  const [user, other] = [await appUser(t), await appUser(t)];
  const use = (factorToken: string) => finish(t, factorToken, { code: user.app.code() });
  const token = await half(t, user);
  await sql`update factor_tokens set expires_at = now() - interval '1 ms' where user_id = ${user.id}`;
  await refused(GONE, use(token), use("unknown"));
  await refused(WRONG, use(await half(t, other)));
  const ended = await half(t, user);
  await accepted(t.systemAdmin.delete(`/api/v1/admin/users/${user.id}/sessions`));
  await refused(GONE, use(ended));
  const late = await half(t, user);
  await sql`update users set is_active = false where id = ${user.id}`;
  await refused(WRONG, use(late));
});

Deno.test("a recovery code works once, in any spelling", async () => {
  const user = await appUser(t);
  const [code = ""] = user.recoveryCodes;
  assert.equal(new Set(user.recoveryCodes).size, 10);
  const recoveryCode = code.toUpperCase().replaceAll("-", " ");
  const tokens = [await half(t, user), await half(t, user)];
  const answers = await outcomes(tokens.map((token) => finish(t, token, { recoveryCode })));
  assert.deepEqual(answers, ["200", WRONG]);
  assert.equal((await accepted(user.client.get(FACTORS))).recoveryCodesLeft, 9);
  const stored = await sql`select code_hash from recovery_codes where user_id = ${user.id}`;
  assert.ok(stored.every(({ codeHash }) => !codeHash.toString().includes(code)));
});

Deno.test("new recovery codes replace the old ones", async () => {
  const user = await appUser(t);
  const renew = (client: HttpClient) => client.post(`${FACTORS}/recovery-codes`);
  const { recoveryCodes: [fresh] } = await accepted(renew(user.client), 200);
  const token = await half(t, user);
  await refused(WRONG, finish(t, token, { recoveryCode: user.recoveryCodes[0] }));
  await accepted(finish(t, token, { recoveryCode: fresh }));
  await refused("404 FACTOR_NOT_FOUND", renew((await signedIn(t)).me));
});

Deno.test("the fifth wrong code locks the account; neither the right password nor a known device resets the count", async () => {
  const user = await appUser(t);
  const token = await half(t, user);
  const guess = () => finish(t, token, { code: user.app.code(5) });
  const right = () => finish(t, token, { code: user.app.code() });
  for (let n = 0; n < 4; n++) await refused(WRONG, guess());
  assert.deepEqual(await racing(t, user.id, guess, guess, right), [WRONG, LOCKED, LOCKED], "also at once");
  await refused(LOCKED, signIn(t, user.email));
  await sql`update users set lockout_expires_at = null where id = ${user.id}`; // as for a known device
  await half(t, user);
  const locked = await right();
  await refused(LOCKED, locked);
  assert.ok(Number(locked.headers.get("retry-after")) > 840);
  await sql`update failed_sign_ins set last_failed_at = now() - interval '15 minutes',
    failed_at = array_fill(now() - interval '15 minutes', array[5]) where subject = ${`factor:${user.id}`}`;
  await accepted(right());
});

Deno.test("an administrator's unlock also forgets wrong codes, which count for the address too", async () => {
  const user = await appUser(t);
  const token = await half(t, user);
  const guess = () => finish(t, token, { code: user.app.code(7) });
  for (let n = 0; n < 5; n++) await refused(WRONG, guess());
  await accepted(t.systemAdmin.post(`/api/v1/admin/users/${user.id}/unlock`));
  await sql`update failed_sign_ins set failed_at = array_fill(now(), array[29]) where subject like 'address:%'`;
  await refused(WRONG, guess());
  await refused("429 RATE_LIMITED", finish(t, token, { code: user.app.code() }));
  await sql`delete from failed_sign_ins where subject like 'address:%'`;
  await accepted(finish(t, token, { code: user.app.code() }));
});

Deno.test("an authenticator app counts only after its first code; a new start replaces it", async () => {
  const [user, outsider] = [await signedIn(t), await signedIn(t)];
  const start = () => user.me.post(`${FACTORS}/totp`);
  const confirm = (factorId: string, code: string, by = user.me) =>
    by.post(`${FACTORS}/totp/confirm`, { factorId, code });
  const first = await accepted(start());
  assert.match(first.otpauthUrl, /^otpauth:\/\/totp\/Tenant%20[\da-f-]{36}:.*secret=[A-Z2-7]{32}&/);
  await accepted(signIn(t, user.email)); // it does not count yet
  const { factorId, secret } = await accepted(start());
  await refused("404 FACTOR_NOT_FOUND", confirm(first.factorId, new TestApp(first.secret).code()));
  const app = new TestApp(secret);
  const wrong = await confirm(factorId, app.code(8));
  assert.match(wrong.body.errors[0], /^code: /);
  await refused("404 FACTOR_NOT_FOUND", confirm(factorId, app.code(), outsider.me));
  const answers = await outcomes(Array.from({ length: 2 }, () => confirm(factorId, app.code())));
  assert.deepEqual(answers, ["200", "404 FACTOR_NOT_FOUND"], "also at once");
  await refused(WRONG, finish(t, await half(t, user), { code: app.code() })); // the confirming code is used up
  const { factors: [{ kind, name }] } = await accepted(user.me.get(FACTORS));
  assert.deepEqual([kind, name], ["totp", "Authenticator app"]);
  await refused("409 FACTOR_ALREADY_EXISTS", start());
});

Deno.test("the secret is stored encrypted and never logged; a replaced key still decrypts while it is configured; without it the app is unavailable", async () => {
  const [user, other] = [await appUser(t), await signedIn(t)];
  const { factorId, secret } = await accepted(other.me.post(`${FACTORS}/totp`));
  const [row] = await sql`select secret from user_factors where id = ${factorId}`;
  assert.match(row?.secret, /^[0-9a-f]{8}\.[\w-]{60,}$/);
  assert.ok(!t.logs.some((line) => line.includes(secret)));
  const [old = ""] = t.steward.platform.config.FACTOR_KEYS ?? [];
  const fresh = `${"A".repeat(43)}=`;
  const token = await half(t, user);
  const use = () => finish(t, token, { code: user.app.code() });
  for (const FACTOR_KEYS of [[fresh], null, [fresh, old]]) {
    using _ = t.replace(({ config }) => config, { FACTOR_KEYS });
    if (FACTOR_KEYS?.includes(old)) await accepted(use());
    else await refused("503 FACTOR_UNAVAILABLE", use());
    if (FACTOR_KEYS) await addApp((await signedIn(t)).me);
    else await refused("503 FACTOR_UNAVAILABLE", other.me.post(`${FACTORS}/totp`));
  }
});

Deno.test("a factor is removed after a proof by a factor, never by the password alone, and only by its owner", async () => {
  const [user, other] = [await appUser(t), await appUser(t)];
  const attempt = (body?: unknown, by = user.client) => remove(user.factorId, body, by);
  const password = PASSWORD;
  await refused("404 FACTOR_NOT_FOUND", attempt({ code: other.app.code() }, other.client));
  await sql`update sessions set amr = '{pwd}' where user_id = ${user.id}`; // a recent sign-in that lacks the factor
  t.steward.platform.rights.invalidate([user.id]);
  await refused("403 STEP_UP_REQUIRED_FORBIDDEN", attempt({ password }), attempt());
  await ageSignIns(t, other.id);
  await refused("403 STEP_UP_REQUIRED_FORBIDDEN", remove(other.factorId, { password }, other.client));
  const [recoveryCode] = user.recoveryCodes;
  await refused("400 VALIDATION_ERROR", attempt({ recoveryCode, code: user.app.code() }));
  assert.match((await attempt({ password, code: user.app.code(7) })).body.errors[0], /^code: /);
  await accepted(attempt({ recoveryCode }), 204);
  await refused("404 FACTOR_NOT_FOUND", attempt({ recoveryCode }));
  const left = await accepted(user.client.get(FACTORS));
  assert.deepEqual(left, { factors: [], recoveryCodesLeft: 0, isLimited: false });
  await accepted(signIn(t, user.email));
  await accepted(other.client.post("/auth/step-up", { password, code: other.app.code() }));
  await accepted(remove(other.factorId, undefined, other.client), 204);
});

Deno.test("the first factor ends the user's other sessions, also those that change factors at the same time", async () => {
  const user = await signedIn(t);
  const other = bearer(t, await signIn(t, user.email));
  const options = await accepted(other.post(`${FACTORS}/passkey/options`));
  const passkey = new TestAuthenticator(siteOf(other)).create(options);
  const { factorId, secret } = await accepted(user.me.post(`${FACTORS}/totp`));
  const app = new TestApp(secret);
  const raced = await racing(
    t,
    user.id,
    () => user.me.post(`${FACTORS}/totp/confirm`, { factorId, code: app.code(-1) }),
    () => other.post(`${FACTORS}/passkey/verify`, { passkey }),
    () => other.post(`${FACTORS}/recovery-codes`),
  );
  assert.deepEqual(raced, ["200", "401 TOKEN_REVOKED", "401 TOKEN_REVOKED"]);
  await refused("401 TOKEN_REVOKED", other.get("/auth/me"));
  const third = bearer(t, await finish(t, await half(t, user), { code: app.code() }));
  await addPasskey(user.me);
  await accepted(third.get("/auth/me")); // further factors end nothing
});

Deno.test("a sign-in or a password reset that waits for the first factor knows of it", async () => {
  const user = await signedIn(t);
  const newPassword = "a wholly different passphrase";
  const token = await resetTokenFor(t, user.email);
  const { factorId, secret } = await accepted(user.me.post(`${FACTORS}/totp`));
  const app = new TestApp(secret);
  const raced = await racing(
    t,
    user.id,
    () => user.me.post(`${FACTORS}/totp/confirm`, { factorId, code: app.code(-1) }),
    () => signIn(t, user.email),
    () => t.nobody.post("/api/v1/auth/reset-password", { token, newPassword }),
  );
  assert.deepEqual(raced, ["200", REQUIRED, "204"]);
  const asked = await signIn(t, user.email, newPassword);
  await refused(REQUIRED, asked);
  await accepted(finish(t, asked.body.factorToken, { code: app.code() }));
});

Deno.test("an administrator removes the factors of a user who lost them", async () => {
  const user = await appUser(t);
  const admin = await t.actor({ tenantId: user.tenantId, role: "Admin" });
  const path = `/api/v1/users/${user.id}/factors`;
  assert.deepEqual(await accepted(admin.delete(path)), { removed: 1 });
  await refused("401 TOKEN_REVOKED", user.client.get("/auth/me"));
  await accepted(signIn(t, user.email)); // without a factor
  assert.deepEqual(await accepted(admin.delete(path)), { removed: 0 });
  const shared = await appUser(t, { links: [user.tenantId, await t.tenant()] });
  await refused("403 CROSS_TENANT_FORBIDDEN", admin.delete(`/api/v1/users/${shared.id}/factors`));
  const everywhere = t.systemAdmin.delete(`/api/v1/admin/users/${shared.id}/factors`);
  assert.deepEqual(await accepted(everywhere), { removed: 1 });
});

Deno.test("the owner is told about every change of factors", async () => {
  const user = await appUser(t);
  await withJobs(t, async () => {
    await accepted(user.client.post(`${FACTORS}/recovery-codes`));
    await accepted(remove(user.factorId, { password: PASSWORD }, user.client));
    await addApp(user.client);
    await accepted(t.systemAdmin.delete(`/api/v1/admin/users/${user.id}/factors`));
  });
  assert.deepEqual((await subjectsTo(t, user.email)).sort(), [
    ...["A second factor was added", "A second factor was added", "A second factor was removed"],
    "You have new recovery codes",
    "Your second factors were removed",
  ]);
});
