import { hashPassword } from "../../infra/passwords.ts";
import { type Ground, median, rounded, tell } from "./ground.ts";
import { load } from "./load.ts";
import { givePassword, populate, signIn } from "./people.ts";

const ROUNDS = 5;
const CONNECTIONS = 16;
const SECONDS = 2;

/** GET of one user with full token checks, against a bare handler that runs the same SQL. */
export async function readUser(ground: Ground): Promise<void> {
  const service = await ground.startService();
  const { tenantId, userId } = await populate(ground.sql, { users: 10_000, tenants: 100 });
  const email = await givePassword(ground.sql, userId, await hashPassword("bench-password"));
  const token = await signIn(service.port, email, "bench-password");
  const bare = await ground.startPeer("bare_handler.ts", [ground.databaseUrl, tenantId, userId]);
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
    if (round > 0) ratios.push(measured.perSecond / baseline.perSecond); // the first round only warms up
    last =
      `${measured.perSecond}/s against ${baseline.perSecond}/s, p95 ${measured.p95} ms against ${baseline.p95} ms`;
    if (measured.statuses[200] === undefined) {
      throw new Error(`answers were ${JSON.stringify(measured.statuses)}`);
    }
  }
  tell("one user, against the bare handler", rounded(median(ratios)), " ×", { least: 0.7 });
  console.log(`    last round: ${last}`);
  await Promise.all([service.stop(), bare.stop()]);
}
