// Measures sign-ins with hashes of the usual cost.
import assert from "node:assert/strict";
import { HASH_COST, hashPassword } from "../../../infra/passwords.ts";
import { accepted } from "../../support/outcomes.ts";
import { setup } from "../../support/setup.ts";
import { forgetFailures, PASSWORD, person, signIn } from "./people.ts";

const cheap = { ...HASH_COST };
Object.assign(HASH_COST, { memoryCost: 19_456, timeCost: 2 });
const passwordHash = await hashPassword(PASSWORD);
const t = await setup({}, { inThisProcess: true });
/** Runs no jobs, which would slow down the measured requests. */
const idle = await setup({ JOB_CONCURRENCY: "0" });
Deno.test.afterAll(async () => {
  Object.assign(HASH_COST, cheap);
  await Promise.all([t.stop(), idle.stop()]);
});

/**
 * The time of each kind of request in milliseconds: the lower quartile, which other load does not affect. The
 * kinds take turns, so that load slows all of them equally.
 */
async function times(kinds: Record<string, () => Promise<unknown>>, rounds: number) {
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
  const people = await Promise.all(Array.from({ length: 5 }, () => person(t, { passwordHash })));
  const inactive = await person(t, { isActive: false, passwordHash });
  const passwordless = await person(t, { passwordHash: null });
  const device = await person(t, { passwordHash });
  const { deviceToken } = await accepted(signIn(t, device.email));
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
  const forgot = (address: string) => () =>
    accepted(idle.nobody.post("/auth/forgot-password", { email: address }), 202);
  const measured = await times({ known: forgot(email), unknown: forgot("nobody@example.test") }, 40);
  const [known = 0, unknown = 0] = Object.values(measured);
  assert.ok(Math.abs(known - unknown) < Math.max(4, unknown), JSON.stringify(measured));
});

Deno.test("a hundred and fifty simultaneous sign-ins all succeed and do not delay other requests", async () => {
  const people = await Promise.all(Array.from({ length: 20 }, () => person(t, { passwordHash })));
  const other = await t.actor({ permissions: ["read:users"] });
  let isOver = false;
  const signIns = Promise.all(Array.from({ length: 150 }, (_, n) => signIn(t, people[n % 20]?.email ?? "")))
    .finally(() => {
      isOver = true;
    });
  const taken: number[] = [];
  while (!isOver) {
    const started = performance.now();
    await accepted(other.get("/api/v1/users"));
    taken.push(performance.now() - started);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  assert.ok((await signIns).every(({ status }) => status === 200));
  const p95 = taken.sort((a, b) => a - b)[Math.floor(taken.length * 0.95)] ?? 0;
  assert.ok(p95 < 150, `p95 ${p95} ms of ${taken.length} requests`);
});
