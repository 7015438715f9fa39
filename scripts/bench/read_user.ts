import { hashPassword } from "../../infra/passwords.ts";
import { type BenchSetup, median, printResult, rounded } from "./bench_setup.ts";
import { load } from "./load.ts";
import { givePassword, populate, signIn } from "./sample_users.ts";

const ROUNDS = 5;
const CONNECTIONS = 16;
const SECONDS = 2;

/** Rate of GET for one user with all token checks, against a bare handler that runs the same SQL. */
export async function readUser(setup: BenchSetup): Promise<void> {
  const service = await setup.startService();
  const { tenantId, userId } = await populate(setup.sql, { users: 10_000, tenants: 100 });
  const email = await givePassword(setup.sql, userId, await hashPassword("bench-password"));
  const token = await signIn(service.port, email, "bench-password");
  const bare = await setup.startPeer("bare_handler.ts", [setup.databaseUrl, tenantId, userId]);
  const ours = () => ({ path: `/api/v1/users/${userId}`, headers: { authorization: `Bearer ${token}` } });
  const theirs = () => ({ path: "/user" });
  const ratios: number[] = [];
  let last = "";
  for (let round = 0; round <= ROUNDS; round++) {
    const baseline = await load({
      port: bare.port,
      connections: CONNECTIONS,
      seconds: SECONDS,
      next: theirs,
    });
    const measured = await load({
      port: service.port,
      connections: CONNECTIONS,
      seconds: SECONDS,
      next: ours,
    });
    if (round > 0) ratios.push(measured.perSecond / baseline.perSecond); // the first round is the warm-up
    last =
      `${measured.perSecond}/s against ${baseline.perSecond}/s, p95 ${measured.p95} ms against ${baseline.p95} ms`;
    if (measured.statuses[200] === undefined) {
      throw new Error(`answers were ${JSON.stringify(measured.statuses)}`);
    }
  }
  printResult("one user, against the bare handler", rounded(median(ratios)), " ×", { min: 0.7 });
  console.log(`    last round: ${last}`);
  await Promise.all([service.stop(), bare.stop()]);
}
