import { finish } from "../../support/maintenance.ts";
import assert from "node:assert/strict";
import { pruneSignInJob } from "../../../domain/access/sign_in/pruning.ts";
import { hashesWaiting } from "../../../infra/passwords.ts";
import { setup } from "../../support/setup.ts";
import { bearer, forgetFailures, PASSWORD, person, signIn } from "./people.ts";

const t = await setup({}, { inThisProcess: true });
Deno.test.afterAll(() => t.stop());
Deno.test.beforeEach(() => forgetFailures(t));
const { sql } = t.steward.platform;

/** A user and the token of a device that has signed in. */
async function withDevice(): Promise<{ id: string; email: string; deviceToken: string }> {
  const { id, email } = await person(t);
  const { status, body } = await signIn(t, email);
  assert.equal(status, 200);
  assert.match(body.deviceToken, /^[\w-]{43}$/);
  return { id, email, deviceToken: body.deviceToken };
}

async function fail(email: string, times: number, more = {}): Promise<void> {
  for (let n = 0; n < times; n++) {
    assert.equal((await signIn(t, email, "wrong", more)).body.code, "CREDENTIALS_INVALID_UNAUTHORIZED");
  }
}

Deno.test("a known device signs in while others have locked the account, and the lock stays for them", async () => {
  const { email, deviceToken } = await withDevice();
  await fail(email, 5);
  assert.equal((await signIn(t, email)).body.code, "ACCOUNT_LOCKED_UNAUTHORIZED");
  const known = await signIn(t, email, PASSWORD, { deviceToken });
  assert.equal(known.status, 200);
  assert.equal(known.body.deviceToken, deviceToken, "the same token goes on");
  assert.equal((await signIn(t, email)).body.code, "ACCOUNT_LOCKED_UNAUTHORIZED");
});

Deno.test("a sign-in of a known device does not give others more attempts", async () => {
  const { email, deviceToken } = await withDevice();
  await fail(email, 4);
  assert.equal((await signIn(t, email, PASSWORD, { deviceToken })).status, 200);
  await fail(email, 1);
  assert.equal((await signIn(t, email)).body.code, "ACCOUNT_LOCKED_UNAUTHORIZED");
});

Deno.test("wrong passwords of a known device lock only this device, for 15 minutes", async () => {
  const { id, email, deviceToken } = await withDevice();
  await fail(email, 5, { deviceToken });
  for (const password of [PASSWORD, "wrong"]) {
    const { body, headers } = await signIn(t, email, password, { deviceToken });
    assert.equal(body.code, "ACCOUNT_LOCKED_UNAUTHORIZED");
    const seconds = Number(headers.get("retry-after"));
    assert.ok(seconds > 890 && seconds <= 900, `${seconds}`);
  }
  const shown = (await t.systemAdmin.get(`/api/v1/admin/users/${id}`)).body;
  assert.equal(shown.isLockedOut, false, "the account itself is not locked");
  assert.equal((await signIn(t, email)).status, 200, "another device is not locked");
  assert.equal(
    (await signIn(t, email, PASSWORD, { deviceToken })).body.code,
    "ACCOUNT_LOCKED_UNAUTHORIZED",
    "nor does its sign-in unlock the device",
  );
  await sql`update failed_sign_ins set last_failed_at = now() - interval '15 minutes',
    failed_at = array_fill(now() - interval '15 minutes', array[5]) where subject like 'device:%'`;
  await fail(email, 4, { deviceToken });
  assert.equal((await signIn(t, email, PASSWORD, { deviceToken })).status, 200);
  await fail(email, 4, { deviceToken });
  assert.equal((await signIn(t, email, PASSWORD, { deviceToken })).status, 200, "a good one forgets them");
});

Deno.test("a device of another user, a forged, an expired and a malformed token count as none", async () => {
  const own = await withDevice();
  const other = await withDevice();
  const expired = await withDevice();
  await sql`update known_devices set expires_at = now() where user_id = ${expired.id}`;
  const forged = "A".repeat(43);
  const cases: [{ id: string; email: string }, string][] = [
    [own, other.deviceToken],
    [expired, expired.deviceToken],
    [other, forged],
    [other, ""],
    [other, "x".repeat(200)],
    [other, `${other.deviceToken}=`],
  ];
  for (const [user, deviceToken] of cases) {
    await forgetFailures(t);
    await sql`update users set lockout_expires_at = null where id = ${user.id}`;
    await fail(user.email, 5, { deviceToken });
    assert.equal(
      (await signIn(t, user.email, PASSWORD, { deviceToken })).body.code,
      "ACCOUNT_LOCKED_UNAUTHORIZED",
      deviceToken,
    );
    await sql`update users set lockout_expires_at = null where id = ${user.id}`;
    const { body } = await signIn(t, user.email, PASSWORD, { deviceToken });
    assert.notEqual(body.deviceToken, deviceToken, "the device gets a token of its own");
  }
  for (const deviceToken of [7, {}, "x".repeat(201), "a\0b", "\ud800"]) {
    assert.equal((await signIn(t, own.email, PASSWORD, { deviceToken })).status, 400);
  }
  const none = await signIn(t, own.email, PASSWORD, { deviceToken: null });
  assert.equal(none.status, 200);
});

Deno.test("of many simultaneous guesses of a known device none succeeds once it is locked", async () => {
  const { email, deviceToken } = await withDevice();
  const guesses = Array.from({ length: 25 }, () => signIn(t, email, "wrong", { deviceToken }));
  while (hashesWaiting() < 8) await new Promise((resolve) => setTimeout(resolve, 1));
  const right = await signIn(t, email, PASSWORD, { deviceToken });
  assert.equal(right.body.code, "ACCOUNT_LOCKED_UNAUTHORIZED");
  await Promise.all(guesses);
  const [row] =
    await sql`select cardinality(failed_at) as kept from failed_sign_ins where subject like 'device:%'`;
  assert.equal(row?.kept, 5);
});

Deno.test("tokens are stored as hashes, valid for 90 days from the last use, and pruned after it", async () => {
  const { id, email, deviceToken } = await withDevice();
  const read = async () =>
    (await sql`select token_hash = sha256(${deviceToken}::text::bytea) as is_hashed, last_used_at is null as is_new,
      round(extract(epoch from expires_at - now()) / 86400)::int as days from known_devices where user_id = ${id}`)
      .map((row) => ({ ...row }));
  assert.deepEqual(await read(), [{ isHashed: true, isNew: true, days: 90 }]);
  await sql`update known_devices set expires_at = now() + interval '1 day' where user_id = ${id}`;
  assert.equal((await signIn(t, email, PASSWORD, { deviceToken })).status, 200);
  assert.deepEqual(await read(), [{ isHashed: true, isNew: false, days: 90 }]);
  await sql`update known_devices set expires_at = now() - interval '1 second' where user_id = ${id}`;
  const pruned = await finish(pruneSignInJob, t.steward.platform);
  assert.ok((pruned.knownDevices ?? 0) >= 1);
  assert.deepEqual(await read(), []);
});

Deno.test("at most 30 devices are kept: those that sent their token back last", async () => {
  const { id, email, deviceToken } = await withDevice();
  assert.equal((await signIn(t, email, PASSWORD, { deviceToken })).status, 200);
  await sql`insert into known_devices (id, user_id, token_hash, expires_at)
    select gen_random_uuid(), ${id}, sha256(n::text::bytea), now() + interval '1 day' from generate_series(1, 60) n`;
  const fresh = (await signIn(t, email)).body.deviceToken;
  const [row] = await sql`select count(*)::int as kept from known_devices where user_id = ${id}`;
  assert.equal(row?.kept, 30);
  await fail(email, 5);
  for (const token of [deviceToken, fresh]) {
    assert.equal((await signIn(t, email, PASSWORD, { deviceToken: token })).status, 200);
  }
});

Deno.test("a new password makes all devices unknown", async () => {
  const { email, deviceToken } = await withDevice();
  const me = bearer(t, await signIn(t, email));
  const change = { currentPassword: PASSWORD, newPassword: "another good one" };
  assert.equal((await me.post("/auth/change-password", change)).status, 204);
  await fail(email, 5, { deviceToken });
  const { body } = await signIn(t, email, "another good one", { deviceToken });
  assert.equal(body.code, "ACCOUNT_LOCKED_UNAUTHORIZED");
});

Deno.test("a refresh and a change of tenant answer no device token", async () => {
  const { email } = await person(t);
  const signedIn = await signIn(t, email);
  const refreshed = await t.nobody.post("/auth/refresh", { refreshToken: signedIn.body.refreshToken });
  assert.equal(refreshed.status, 200);
  assert.ok(!("deviceToken" in refreshed.body));
  assert.ok(!("deviceToken" in (await bearer(t, signedIn).get("/auth/me")).body));
});
