import assert from "node:assert/strict";
import { hash as argon2 } from "@node-rs/argon2";
import { hash as bcrypt } from "@node-rs/bcrypt";
import { verifyPassword } from "../../../infra/passwords.ts";
import { setup } from "../../support/setup.ts";
import { forgetFailures, PASSWORD, person, signIn } from "./people.ts";

const t = await setup({}, { inThisProcess: true });
/** Runs no jobs, which would slow down the measured requests. */
const idle = await setup({ JOB_CONCURRENCY: "0" });
Deno.test.afterAll(() => Promise.all([t.stop(), idle.stop()]).then(() => {}));
Deno.test.beforeEach(() => forgetFailures(t));
const { sql } = t.steward.platform;

/**
 * The time of each kind of request in milliseconds: the lower quartile, which other load does not affect. The
 * kinds take turns, so that load slows all of them equally.
 */
async function times(
  kinds: Record<string, () => Promise<unknown>>,
  rounds: number,
): Promise<Record<string, number>> {
  const taken: Record<string, number[]> = {};
  for (let round = 0; round < rounds; round++) {
    await forgetFailures(t);
    for (const [kind, ask] of Object.entries(kinds)) {
      const started = performance.now();
      await ask();
      (taken[kind] ??= []).push(performance.now() - started);
    }
  }
  const quartile = (values: number[]) => values.sort((a, b) => a - b)[Math.floor(values.length / 4)] ?? 0;
  return Object.fromEntries(Object.entries(taken).map(([kind, values]) => [kind, quartile(values)]));
}

Deno.test("unknown emails, wrong passwords, inactive and passwordless users take the same time", async () => {
  const people = await Promise.all(Array.from({ length: 5 }, () => person(t)));
  const inactive = await person(t, { isActive: false });
  const passwordless = await person(t, { passwordHash: null });
  const device = await person(t);
  const { deviceToken } = (await signIn(t, device.email)).body;
  let turn = 0;
  const measured = await times({
    "known device": () => signIn(t, device.email, "wrong", { deviceToken }),
    "unknown email with a device": () => signIn(t, `nobody${turn++}@example.test`, "wrong", { deviceToken }),
    unknown: () => signIn(t, `nobody${turn++}@example.test`, "wrong"),
    wrong: () => signIn(t, people[turn % 5]?.email ?? "", "wrong"),
    inactive: () => signIn(t, inactive.email),
    passwordless: () => signIn(t, passwordless.email, "wrong"),
  }, 20);
  const all = Object.values(measured);
  assert.ok(Math.max(...all) / Math.min(...all) < 2, JSON.stringify(measured));
});

Deno.test("forgot-password takes the same time for known and unknown emails", async () => {
  const { email } = await person(idle);
  const forgot = (address: string) => async () => {
    assert.equal((await idle.nobody.post("/auth/forgot-password", { email: address })).status, 202);
  };
  const measured = await times({ known: forgot(email), unknown: forgot("nobody@example.test") }, 40);
  const [known = 0, unknown = 0] = Object.values(measured);
  assert.ok(Math.abs(known - unknown) < Math.max(4, unknown), JSON.stringify(measured));
});

Deno.test("foreign hashes are accepted and replaced by one of our own at the first successful sign-in", async () => {
  const cheap = { memoryCost: 8_192, timeCost: 1, parallelism: 2 };
  const bcrypted = await bcrypt(PASSWORD, 5);
  const elsewhere = [
    bcrypted.replace(/^\$2\w/, "$2a"),
    bcrypted.replace(/^\$2\w/, "$2b"),
    bcrypted.replace(/^\$2\w/, "$2y"),
    ...await Promise.all([0, 1, 2].map((algorithm) => argon2(PASSWORD, { ...cheap, algorithm }))), // argon2d, i and id
    // by passlib
    "$scrypt$ln=12,r=8,p=2$5ZwTYsz5n9O6l/Jea20tZQ$2JDYIsZtW+9HxPuJ3MHYA+4o++KwdqGSt2CErfUD7No",
    "$pbkdf2-sha256$20000$/J9zrjVGKKXUujfGOOdcKw$rDS6I0DOFDWuCXYCgs/dKCGhO22b5pf.RT5QgLGc4Mk",
  ];
  for (const passwordHash of elsewhere) {
    const user = await person(t, { passwordHash });
    const stored = async () =>
      (await sql`select password_hash from users where id = ${user.id}`)[0]?.passwordHash;
    assert.equal((await signIn(t, user.email, "wrong")).status, 401);
    assert.equal(await stored(), passwordHash);
    assert.equal((await signIn(t, user.email)).status, 200, passwordHash);
    const renewed = await stored();
    assert.match(renewed, /^\$argon2id\$v=19\$m=19456,t=2,p=1\$/);
    assert.equal((await signIn(t, user.email)).status, 200);
    assert.equal(await stored(), renewed);
  }
});

Deno.test("two hundred simultaneous sign-ins all succeed and do not delay other requests", async () => {
  const people = await Promise.all(Array.from({ length: 20 }, () => person(t)));
  const other = await t.actor({ permissions: ["read:users"] });
  let isOver = false;
  const signIns = Promise.all(Array.from({ length: 200 }, (_, n) => signIn(t, people[n % 20]?.email ?? "")))
    .finally(() => {
      isOver = true;
    });
  const taken: number[] = [];
  while (!isOver) {
    const started = performance.now();
    assert.equal((await other.get("/api/v1/users")).status, 200);
    taken.push(performance.now() - started);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  assert.ok((await signIns).every(({ status }) => status === 200));
  const p95 = taken.sort((a, b) => a - b)[Math.floor(taken.length * 0.95)] ?? 0;
  assert.ok(p95 < 150, `p95 ${p95} ms of ${taken.length} requests`);
});

Deno.test("a sign-in that could not be checked in time is answered with Retry-After", async () => {
  const user = await person(t);
  const cheap = await bcrypt(PASSWORD, 4);
  const queue = Array.from({ length: 600 }, () => verifyPassword(cheap, PASSWORD));
  const { status, body, headers } = await signIn(t, user.email);
  assert.equal(status, 503);
  assert.equal(body.code, "SIGN_IN_BUSY_UNAVAILABLE");
  assert.equal(headers.get("retry-after"), "5");
  await Promise.all(queue);
  assert.equal((await signIn(t, user.email)).status, 200);
});
