import assert from "node:assert/strict";
import { hashesWaiting } from "../../../infra/passwords.ts";
import { setup } from "../../support/setup.ts";
import { forgetFailures, PASSWORD, person, signIn } from "./people.ts";

const t = await setup({ TRUSTED_PROXIES: "1" }, { inThisProcess: true });
Deno.test.afterAll(() => t.stop());
Deno.test.beforeEach(() => forgetFailures(t));
const { sql } = t.steward.platform;

const from = (ip: string, email: string, password = PASSWORD) =>
  t.nobody.with({ "x-forwarded-for": ip }).post("/auth/login", { email, password });

async function fail(email: string, times: number): Promise<void> {
  for (let n = 0; n < times; n++) {
    assert.equal((await signIn(t, email, "wrong")).body.code, "CREDENTIALS_INVALID_UNAUTHORIZED");
  }
}

Deno.test("the fifth wrong password locks the account for 15 minutes, even for the right password", async () => {
  const user = await person(t);
  await fail(user.email, 4);
  assert.equal((await signIn(t, user.email)).status, 200, "four are no lock, and a good one forgets them");
  await fail(user.email, 5);
  for (const password of [PASSWORD, "wrong"]) {
    const { status, body, headers } = await signIn(t, user.email, password);
    assert.equal(status, 401);
    assert.equal(body.code, "ACCOUNT_LOCKED_UNAUTHORIZED");
    const seconds = Number(headers.get("retry-after"));
    assert.ok(seconds > 890 && seconds <= 900, `${seconds}`);
  }
});

Deno.test("wrong passwords during a lock neither extend it nor count afterwards", async () => {
  const user = await person(t);
  await fail(user.email, 5);
  const [before] = await sql`select lockout_expires_at from users where id = ${user.id}`;
  for (let n = 0; n < 5; n++) await signIn(t, user.email, "wrong");
  const [after] = await sql`select lockout_expires_at from users where id = ${user.id}`;
  assert.deepEqual(after, before);
  await sql`update users set lockout_expires_at = now() - interval '1 second' where id = ${user.id}`;
  await fail(user.email, 4);
  assert.equal((await signIn(t, user.email)).status, 200);
});

Deno.test("an unknown email is locked and unlocked like a user's", async () => {
  const user = await person(t);
  const nobody = "Nobody.Here@example.test";
  const strip = ({ traceId: _, detail: __, ...rest }: Record<string, unknown>) => rest;
  for (let n = 0; n < 7; n++) {
    const spelled = n % 2 ? nobody.toUpperCase() : nobody;
    const [theirs, none] = [await signIn(t, user.email, "wrong"), await signIn(t, spelled, "wrong")];
    assert.equal(none.body.code, n < 5 ? "CREDENTIALS_INVALID_UNAUTHORIZED" : "ACCOUNT_LOCKED_UNAUTHORIZED");
    assert.deepEqual([none.status, strip(none.body)], [theirs.status, strip(theirs.body)]);
    const [longer, shorter] = [theirs, none].map(({ headers }) => Number(headers.get("retry-after")));
    assert.ok(Math.abs((longer ?? 0) - (shorter ?? 0)) <= 1, `${longer} ${shorter}`);
  }
  const kept = await sql`select subject, cardinality(failed_at) as failures from failed_sign_ins
    where subject like 'email:%'`;
  assert.equal(kept[0]?.failures, 5, "what comes while it is locked neither counts nor prolongs it");
  assert.ok(!kept[0]?.subject.includes("nobody"));
  await sql`update failed_sign_ins set last_failed_at = now() - interval '15 minutes',
    failed_at = array_fill(now() - interval '15 minutes', array[5]) where subject like 'email:%'`;
  await fail(nobody, 5);
  assert.equal((await signIn(t, nobody, "wrong")).body.code, "ACCOUNT_LOCKED_UNAUTHORIZED");
});

Deno.test("an inactive and a deleted account lock in the same way whether the password is right or wrong", async () => {
  for (const change of [sql`is_active = false`, sql`deleted_at = now()`]) {
    const users = [await person(t), await person(t)];
    for (const { id } of users) await sql`update users set ${change} where id = ${id}`;
    const [right = [], wrong] = await Promise.all(users.map(async ({ email }, index) => {
      const codes: string[] = [];
      for (let n = 0; n < 7; n++) codes.push((await signIn(t, email, index ? "wrong" : PASSWORD)).body.code);
      return codes;
    }));
    assert.deepEqual(right, wrong);
    assert.deepEqual(right.slice(4, 6), ["CREDENTIALS_INVALID_UNAUTHORIZED", "ACCOUNT_LOCKED_UNAUTHORIZED"]);
    await forgetFailures(t);
  }
});

Deno.test("an expired lock stays stored until a successful sign-in clears it", async () => {
  const user = await person(t);
  await fail(user.email, 5);
  await sql`update users set lockout_expires_at = now() - interval '1 second' where id = ${user.id}`;
  const shown = async () => (await t.systemAdmin.get(`/api/v1/admin/users/${user.id}`)).body;
  assert.equal((await shown()).isLockedOut, false);
  assert.notEqual((await shown()).lockoutExpiresAt, null);
  await fail(user.email, 1);
  assert.notEqual((await shown()).lockoutExpiresAt, null);
  assert.equal((await signIn(t, user.email)).status, 200);
  assert.equal((await shown()).lockoutExpiresAt, null);
});

Deno.test("five wrong passwords within any 15 minutes count, older ones do not", async () => {
  const user = await person(t);
  const subject = `user:${user.id}`;
  await fail(user.email, 4);
  await sql`update failed_sign_ins set failed_at = array[now() - interval '16 minutes', now() - interval '14 minutes',
    now() - interval '14 minutes', now() - interval '14 minutes'] where subject = ${subject}`;
  await fail(user.email, 1);
  const [row] =
    await sql`select cardinality(failed_at) as kept from failed_sign_ins where subject = ${subject}`;
  assert.equal(row?.kept, 4);
  await fail(user.email, 1);
  assert.equal((await signIn(t, user.email)).body.code, "ACCOUNT_LOCKED_UNAUTHORIZED");
});

Deno.test("of many simultaneous guesses none succeeds once the account is locked", async () => {
  const user = await person(t);
  const guesses = Array.from({ length: 25 }, () => signIn(t, user.email, "wrong"));
  // The right password is sent while more than five wrong ones are ahead of it, before any of them has locked the account.
  while (hashesWaiting() < 8) await new Promise((resolve) => setTimeout(resolve, 1));
  const right = await signIn(t, user.email, PASSWORD);
  assert.equal(right.body.code, "ACCOUNT_LOCKED_UNAUTHORIZED");
  await Promise.all(guesses);
});

Deno.test("of simultaneous guesses, wrong ones get the answer of the right one once the account is locked", async () => {
  const user = await person(t);
  for (const email of [user.email, "nobody-in-a-burst@example.test"]) {
    const answers = await Promise.all(Array.from({ length: 12 }, () => signIn(t, email, "wrong")));
    const locked = answers.filter(({ body }) => body.code === "ACCOUNT_LOCKED_UNAUTHORIZED");
    const wrong = answers.filter(({ body }) => body.code === "CREDENTIALS_INVALID_UNAUTHORIZED");
    assert.deepEqual([wrong.length, locked.length], [5, 7], email);
    for (const { headers } of locked) assert.ok(Number(headers.get("retry-after")) > 890);
  }
});

Deno.test("thirty failed sign-ins from one address block it for all accounts there, and no other address", async () => {
  const user = await person(t);
  for (let n = 0; n < 30; n++) assert.equal((await from("192.0.2.1", `nobody${n}@example.test`)).status, 401);
  const { status, body, headers } = await from("192.0.2.1", user.email);
  assert.equal(status, 429);
  assert.equal(body.code, "RATE_LIMITED");
  const seconds = Number(headers.get("retry-after"));
  assert.ok(seconds > 240 && seconds <= 300, `${seconds}`);
  assert.equal((await from("192.0.2.2", user.email)).status, 200);
  assert.equal(
    (await from("203.0.113.9, 192.0.2.1", user.email)).status,
    429,
    "only the proxy's own entry counts",
  );
  await sql`update failed_sign_ins set failed_at = failed_at[2:] || (now() - interval '5 minutes')
    where subject = 'address:192.0.2.1'`;
  assert.equal((await from("192.0.2.1", user.email)).status, 200);
});

Deno.test("successful sign-ins neither count against the address nor reset its count", async () => {
  const user = await person(t);
  for (let n = 0; n < 29; n++) await from("198.51.100.7", "nobody@example.test");
  for (let n = 0; n < 3; n++) assert.equal((await from("198.51.100.7", user.email)).status, 200);
  await from("198.51.100.7", "nobody@example.test");
  assert.equal((await from("198.51.100.7", user.email)).status, 429);
});

Deno.test("a burst of guesses from one address stops at thirty", async () => {
  const people = await Promise.all(Array.from({ length: 3 }, () => person(t)));
  const guesses = Array.from({ length: 90 }, (_, n) => from("198.51.100.8", `nobody${n}@example.test`));
  // The right passwords are sent while most guesses wait for their hash, so the address is not blocked yet.
  while (hashesWaiting() < 50) await new Promise((resolve) => setTimeout(resolve, 1));
  const late = people.map(({ email }) => from("198.51.100.8", email));
  const wrong = (await Promise.all(guesses)).filter(({ status }) => status === 401).length;
  assert.ok(wrong >= 30 && wrong < 45, `${wrong} wrong guesses got another answer than the right ones`);
  assert.deepEqual((await Promise.all(late)).map(({ status }) => status), [429, 429, 429]);
  const [row] = await sql`select cardinality(failed_at) as kept from failed_sign_ins
    where subject = 'address:198.51.100.8'`;
  assert.equal(row?.kept, 30);
});

Deno.test("an IPv6 /64 network counts as one address", async () => {
  for (let n = 0; n < 30; n++) await from(`2001:db8:0:1::${n.toString(16)}`, "nobody@example.test");
  assert.equal((await from("2001:db8::1:ffff:0:0:1", "nobody@example.test")).status, 429);
  assert.equal((await from("2001:db8:0:2::1", "nobody@example.test")).status, 401);
});
