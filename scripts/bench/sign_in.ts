import { verify } from "@node-rs/argon2";
import { hashPassword } from "../../infra/passwords.ts";
import type { BenchSetup } from "./bench_setup.ts";
import { compare, type Sample, SCALE } from "./compare.ts";
import { failures, load } from "./load.ts";
import { processorMs } from "./processor_time.ts";
import { populate } from "./sample_users.ts";

const PASSWORD = "bench-password";
const USERS = 200;
/** Short and many rounds, so that few of them meet other load of the machine. */
const ROUNDS = 15;
const SECONDS = 1;

/**
 * Rate of sign-ins by password, against the limit that argon2 sets: plain verifications on all cores. The service hashes on
 * all cores but one, which stays free for requests. The baseline runs without a generator of load; the notes show what it
 * and the service take of the processor for one sign-in.
 */
export async function signInRate(setup: BenchSetup): Promise<void> {
  const { port, pid } = await setup.startService();
  await populate(setup.sql, { users: USERS, tenants: 10 });
  const hash = await hashPassword(PASSWORD);
  const users = await setup.sql<{ email: string }[]>`
    update users set password_hash = ${hash}, is_active = true where email like 'user%' returning email`;
  const bodies = users.map(({ email }) => ({ email, password: PASSWORD }));
  await compare({
    name: "sign-ins, against argon2 alone on all cores",
    unit: "/s",
    ours: async () => {
      const [serviceBefore, generatorBefore] = [processorMs(pid), processorMs(Deno.pid)];
      const result = await load({
        port,
        connections: 16,
        seconds: SECONDS,
        next: (n) => ({ path: "/api/v1/auth/login", body: bodies[n % bodies.length] }),
      });
      if (failures(result) > 0) throw new Error(`sign-ins answered ${JSON.stringify(result.statuses)}`);
      const service = timeOfOne(processorMs(pid) - serviceBefore, result.requests);
      const generator = timeOfOne(processorMs(Deno.pid) - generatorBefore, result.requests);
      const note = `p50 ${result.p50} ms, p95 ${result.p95} ms; service ${service}, generator ${generator}`;
      return { value: result.perSecond, note };
    },
    baseline: () => argon2Rate(hash),
    rounds: ROUNDS,
    minSpeed: 0.5,
  });
}

async function argon2Rate(hash: string): Promise<Sample> {
  const before = processorMs(Deno.pid);
  const started = performance.now();
  const end = started + SECONDS * SCALE * 1000;
  let done = 0;
  await Promise.all(Array.from({ length: navigator.hardwareConcurrency }, async () => {
    while (performance.now() < end) {
      await verify(hash, PASSWORD);
      done++;
    }
  }));
  const value = Math.round(done / (performance.now() - started) * 1000);
  return { value, note: timeOfOne(processorMs(Deno.pid) - before, done) };
}

/** Processor time of one of `count` works, as text. */
const timeOfOne = (ms: number, count: number): string => `${(ms / count).toFixed(1)} ms of the processor`;
