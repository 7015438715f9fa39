import assert from "node:assert/strict";
import type { Sql } from "../../../infra/postgres/postgres.ts";
import { accepted, outcome, refused } from "../../support/outcomes.ts";
import { failSignIns, PASSWORD, person, racing, setupSignIns, signedIn, signIn } from "./people.ts";

const t = await setupSignIns();
const { sql } = t.steward.platform;

const WRONG = "401 CREDENTIALS_INVALID_UNAUTHORIZED";
const LOCKED = "401 ACCOUNT_LOCKED_UNAUTHORIZED";

const from = (ip: string, email: string, password = PASSWORD) =>
  t.nobody.with({ "x-forwarded-for": ip }).post("/auth/login", { email, password });
const fail = (email: string, times: number, more = {}) => failSignIns(t, email, times, more);

async function assertLocked(email: string, more = {}, passwords = [PASSWORD, "wrong"]): Promise<void> {
  for (const password of passwords) {
    const answer = await signIn(t, email, password, more);
    await refused(LOCKED, answer);
    const seconds = Number(answer.headers.get("retry-after"));
    assert.ok(seconds > 840 && seconds <= 900, `${seconds}`);
  }
}

/** Makes the failures that a condition on `subject` chooses 15 minutes older. */
const age = (like: string) =>
  sql`update failed_sign_ins set last_failed_at = now() - interval '15 minutes',
    failed_at = array_fill(now() - interval '15 minutes', array[5]) where subject like ${like}`;

/** A user and the token of a device that has signed in. */
async function withDevice() {
  const { id, email, tokens: { deviceToken } } = await signedIn(t);
  assert.match(deviceToken, /^[\w-]{43}$/);
  return { id, email, deviceToken: deviceToken as string };
}

Deno.test("the fifth wrong password locks the account for 15 minutes, even for the right password", async () => {
  const { id, email } = await person(t);
  await fail(email, 4);
  await accepted(signIn(t, email)); // four are no lock, and a good one forgets them
  await fail(email, 5);
  const [before] = await sql`select lockout_expires_at from users where id = ${id}`;
  await assertLocked(email);
  const [after] = await sql`select lockout_expires_at from users where id = ${id}`;
  assert.deepEqual(after, before, "wrong passwords during a lock do not extend it");
  await sql`update users set lockout_expires_at = now() - interval '1 second' where id = ${id}`;
  const shown = async () => await accepted(t.systemAdmin.get(`/api/v1/admin/users/${id}`));
  assert.equal((await shown()).isLockedOut, false);
  await fail(email, 4); // those during the lock do not count afterwards
  assert.notEqual((await shown()).lockoutExpiresAt, null, "an expired lock stays until a good sign-in");
  await accepted(signIn(t, email));
  assert.equal((await shown()).lockoutExpiresAt, null);
});

Deno.test("an unknown email is locked and unlocked like a user's", async () => {
  const user = await person(t);
  const nobody = "Nobody.Here@example.test";
  const strip = ({ traceId: _, detail: __, ...rest }: Record<string, unknown>) => rest;
  for (let n = 0; n < 7; n++) {
    const spelled = n % 2 ? nobody.toUpperCase() : nobody;
    const [theirs, none] = [await signIn(t, user.email, "wrong"), await signIn(t, spelled, "wrong")];
    await refused(n < 5 ? WRONG : LOCKED, theirs, none);
    assert.deepEqual(strip(none.body), strip(theirs.body));
    assert.equal(none.headers.has("retry-after"), theirs.headers.has("retry-after"));
  }
  const [kept] = await sql`select subject, cardinality(failed_at) as failures from failed_sign_ins
    where subject like 'email:%'`;
  assert.equal(kept?.failures, 5, "what comes while it is locked neither counts nor prolongs it");
  assert.ok(!kept?.subject.includes("nobody"));
  await age("email:%");
  await fail(nobody, 5);
  await assertLocked(nobody);
});

Deno.test("a text that is no email is locked like an unknown email", async () => {
  for (const text of ["ǚ", "ǚ@"]) {
    await fail(text, 5);
    await assertLocked(text);
  }
});

Deno.test("an inactive and a deleted account lock in the same way whether the password is right or wrong", async () => {
  const changes = [[sql`is_active = false`, PASSWORD], [sql`deleted_at = now()`, "wrong"]] as const;
  for (const [change, password] of changes) {
    const { id, email } = await person(t);
    await sql`update users set ${change} where id = ${id}`;
    for (let n = 0; n < 6; n++) await refused(n < 5 ? WRONG : LOCKED, signIn(t, email, password));
  }
});

Deno.test("five wrong passwords within any 15 minutes count, older ones do not", async () => {
  const { id, email } = await person(t);
  await fail(email, 4);
  const subject = `user:${id}`;
  await sql`update failed_sign_ins set failed_at = array[now() - interval '16 minutes', now() - interval '14 minutes',
    now() - interval '14 minutes', now() - interval '14 minutes'] where subject = ${subject}`;
  await fail(email, 1);
  const [row] = await sql`select cardinality(failed_at) as n from failed_sign_ins where subject = ${subject}`;
  assert.equal(row?.n, 4);
  await fail(email, 1);
  await assertLocked(email);
});

Deno.test("of many simultaneous guesses none succeeds once the account is locked", async () => {
  const { id, email } = await person(t);
  await fail(email, 4);
  const answers = await racing(
    t,
    id,
    ...["wrong", "wrong", PASSWORD].map((each) => () => signIn(t, email, each)),
  );
  assert.deepEqual(answers, [WRONG, LOCKED, LOCKED], "wrong ones get the answer of the right one");
  const burst = await Promise.all(
    Array.from({ length: 6 }, () => outcome(signIn(t, "nobody-in-a-burst@example.test", "wrong"))),
  );
  assert.deepEqual(burst.sort(), [LOCKED, ...Array(5).fill(WRONG)]);
});

Deno.test("thirty failed sign-ins from one address block it for all accounts there, and no other address", async () => {
  const { email } = await person(t);
  for (let n = 0; n < 2; n++) await refused(WRONG, from("192.0.2.1", `nobody${n}@example.test`));
  await sql`update failed_sign_ins set failed_at = array_cat(failed_at, array_fill(now(), array[27]))
    where subject = 'address:192.0.2.1'`;
  for (let n = 0; n < 2; n++) await accepted(from("192.0.2.1", email)); // neither count nor reset the count
  await refused(WRONG, from("192.0.2.1", "nobody@example.test"));
  const answer = await from("192.0.2.1", email);
  await refused("429 RATE_LIMITED", answer, from("203.0.113.9, 192.0.2.1", email)); // only the proxy's entry counts
  const seconds = Number(answer.headers.get("retry-after"));
  assert.ok(seconds > 200 && seconds <= 300, `${seconds}`);
  await accepted(from("192.0.2.2", email));
  await sql`update failed_sign_ins set failed_at = failed_at[2:] || (now() - interval '5 minutes')
    where subject = 'address:192.0.2.1'`;
  await accepted(from("192.0.2.1", email));
});

/** Lets `meanwhile` run before each transaction that the service begins during `act`, as another request could. */
async function interrupting<T>(meanwhile: () => Promise<unknown>, act: () => Promise<T>): Promise<T> {
  const interrupted = new Proxy<Sql>(sql, {
    get(pool, key) {
      const value = Reflect.get(pool, key);
      if (key !== "begin") return value;
      return async (...work: unknown[]) => {
        await meanwhile();
        return await Reflect.apply(value, pool, work);
      };
    },
  });
  using _ = t.replace((platform) => platform, { sql: interrupted });
  return await act();
}

Deno.test("a burst of guesses from one address stops at thirty", async () => {
  const { email } = await person(t);
  const ip = "198.51.100.8";
  const fail = (count: number) =>
    sql`insert into failed_sign_ins (subject, failed_at, last_failed_at)
      values (${`address:${ip}`}, array_fill(now(), array[${count}::int]), now())
      on conflict (subject) do update set failed_at = excluded.failed_at`;
  for (const password of [PASSWORD, "wrong"]) {
    await fail(29);
    await refused("429 RATE_LIMITED", interrupting(() => fail(30), () => from(ip, email, password)));
  }
  await fail(29);
  const guesses = [1, 2, 3, 4].map((n) => outcome(from(ip, `burst${n}@example.test`, "wrong")));
  assert.deepEqual((await Promise.all(guesses)).sort(), [WRONG, ...Array(3).fill("429 RATE_LIMITED")]);
});

Deno.test("an IPv6 /64 network counts as one address", async () => {
  const addresses = ["2001:db8:0:1::", "2001:db8:0:1::1d", "2001:db8::1:ffff:0:0:1"];
  await refused(WRONG, from(addresses[0]!, "nobody@example.test"));
  await sql`update failed_sign_ins set failed_at = array_fill(now(), array[29]) where subject like 'address:%'`;
  await refused(WRONG, from(addresses[1]!, "nobody@example.test"));
  await refused("429 RATE_LIMITED", from(addresses[2]!, "nobody@example.test"));
  await refused(WRONG, from("2001:db8:0:2::1", "other@example.test"));
});

Deno.test("a known device signs in while others have locked the account, and the lock stays for them, until a new password makes all devices unknown", async () => {
  const { email, me, tokens: { deviceToken } } = await signedIn(t);
  await fail(email, 4);
  const known = await accepted(signIn(t, email, PASSWORD, { deviceToken }));
  assert.equal(known.deviceToken, deviceToken, "the same token goes on");
  await fail(email, 1); // the device's sign-in did not give others more attempts
  await assertLocked(email);
  await accepted(signIn(t, email, PASSWORD, { deviceToken }));
  await assertLocked(email);
  const newPassword = "another good one";
  await accepted(me.post("/auth/change-password", { currentPassword: PASSWORD, newPassword }));
  await fail(email, 5, { deviceToken });
  await refused(LOCKED, signIn(t, email, newPassword, { deviceToken }));
});

Deno.test("wrong passwords of a known device lock only this device, for 15 minutes", async () => {
  const { id, email, deviceToken } = await withDevice();
  const device = { deviceToken };
  await fail(email, 4, device);
  const attempts = ["wrong", PASSWORD].map((each) => () => signIn(t, email, each, device));
  assert.deepEqual(await racing(t, id, ...attempts), [WRONG, LOCKED], "also of simultaneous guesses");
  await assertLocked(email, device);
  const [row] =
    await sql`select cardinality(failed_at) as n from failed_sign_ins where subject like 'device:%'`;
  assert.equal(row?.n, 5);
  const shown = await accepted(t.systemAdmin.get(`/api/v1/admin/users/${id}`));
  assert.equal(shown.isLockedOut, false, "the account itself is not locked");
  await accepted(signIn(t, email)); // another device is not locked, nor does its sign-in unlock the device
  await assertLocked(email, device);
  await age("device:%");
  for (let n = 0; n < 2; n++) {
    await fail(email, 4, device);
    await accepted(signIn(t, email, PASSWORD, device)); // a good one forgets them
  }
});

Deno.test("a device of another user, a forged, an expired and a malformed token count as none", async () => {
  const [own, other, expired] = [await withDevice(), await withDevice(), await withDevice()];
  await sql`update known_devices set expires_at = now() - interval '1 ms' where user_id = ${expired.id}`;
  const cases: [{ id: string; email: string }, string][] = [
    [own, other.deviceToken],
    [expired, expired.deviceToken],
    [other, "A".repeat(43)],
    [other, `${other.deviceToken}=`],
  ];
  for (const [{ id, email }, deviceToken] of cases) {
    await sql`update users set lockout_expires_at = now() + interval '1 minute' where id = ${id}`;
    await refused(LOCKED, signIn(t, email, PASSWORD, { deviceToken }));
    await sql`update users set lockout_expires_at = null where id = ${id}`;
    const answer = await accepted(signIn(t, email, PASSWORD, { deviceToken }));
    assert.notEqual(answer.deviceToken, deviceToken, "the device gets a token of its own");
  }
  await accepted(signIn(t, own.email, PASSWORD, { deviceToken: null }));
});

Deno.test("device tokens are stored as hashes and valid for 90 days from the last use; the 30 that were sent back last are kept", async () => {
  const { id, email, deviceToken } = await withDevice();
  const read = async () =>
    (await sql`select token_hash = sha256(${deviceToken}::text::bytea) as is_hashed,
      last_used_at is null as is_new, round(extract(epoch from expires_at - now()) / 86400)::int as days
      from known_devices where user_id = ${id}`)[0];
  assert.deepEqual({ ...await read() }, { isHashed: true, isNew: true, days: 90 });
  await sql`update known_devices set expires_at = now() + interval '1 day' where user_id = ${id}`;
  await accepted(signIn(t, email, PASSWORD, { deviceToken }));
  assert.deepEqual({ ...await read() }, { isHashed: true, isNew: false, days: 90 });
  await sql`insert into known_devices (id, user_id, token_hash, expires_at)
    select gen_random_uuid(), ${id}, sha256(n::text::bytea), now() + interval '1 day' from generate_series(1, 60) n`;
  const fresh = (await accepted(signIn(t, email))).deviceToken;
  assert.equal((await sql`select from known_devices where user_id = ${id}`).count, 30);
  await fail(email, 5);
  for (const token of [deviceToken, fresh]) {
    await accepted(signIn(t, email, PASSWORD, { deviceToken: token }));
  }
});
