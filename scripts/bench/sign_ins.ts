import { hashPassword } from "../../infra/passwords.ts";
import { type BenchSetup, printResult } from "./bench_setup.ts";
import { load } from "./load.ts";
import { givePassword, populate, signIn } from "./sample_users.ts";

const SIGN_INS = 200;

/** p95 of other requests during 200 concurrent password sign-ins, and the time of a token check. */
export async function signIns(setup: BenchSetup): Promise<void> {
  const service = await setup.startService();
  const { userId } = await populate(setup.sql, { users: 1_000, tenants: 10 });
  const email = await givePassword(setup.sql, userId, await hashPassword("bench-password"));
  const token = await signIn(service.port, email, "bench-password");
  const me = () => ({ path: `/api/v1/users/${userId}`, headers: { authorization: `Bearer ${token}` } });

  let running = true;
  const burst = Promise.all(
    Array.from({ length: SIGN_INS }, () => signIn(service.port, email, "bench-password")),
  )
    .finally(() => running = false);
  const latencies: number[] = [];
  while (running) {
    latencies.push((await load({ port: service.port, connections: 2, seconds: 0.5, next: me })).p95);
  }
  await burst;
  printResult("p95 of other requests during 200 sign-ins", Math.max(...latencies), " ms", { max: 50 });

  const open = await load({
    port: service.port,
    connections: 1,
    seconds: 3,
    next: () => ({ path: "/healthz" }),
  });
  const checked = await load({
    port: service.port,
    connections: 1,
    seconds: 3,
    next: () => ({
      path: "/api/v1/jobs/00000000-0000-7000-8000-00000000000g",
      headers: { authorization: `Bearer ${token}` },
    }),
  });
  printResult(
    "a token check adds, at the median",
    Math.round((checked.p50 - open.p50) * 1000) / 1000,
    " ms",
    {
      max: 0.1,
    },
  );
  await service.stop();
}
