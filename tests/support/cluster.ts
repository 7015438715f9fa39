// The databases of test files. All files of a run of several processes share one server.
import { join } from "node:path";
import { createDatabase, isAlive, type ServerPlace } from "../../scripts/testing/cluster.ts";
import { reportDatabases } from "./run_report.ts";

/** The folder of a run of several processes; see `tests/run.ts`. */
const RUN = Deno.env.get("STEWARD_TEST_RUN");
const RUNNER = Number(Deno.env.get("STEWARD_TEST_RUNNER") ?? Deno.pid);
const PLACE: ServerPlace | undefined = RUN === undefined
  ? undefined
  : { folder: join(RUN, "cluster"), program: import.meta.filename ?? "", owner: RUNNER };

/** Creates a new database, a copy of the template or empty, and returns its connection string. */
export const createTestDatabase = ({ empty }: { empty?: boolean } = {}): Promise<string> =>
  createDatabase({ empty, place: PLACE });

/** Like `createTestDatabase`; connections by this URL may wait for a lock, and be idle in a transaction, for a minute. */
export async function createDatabaseForLongLocks(): Promise<string> {
  const url = new URL(await createTestDatabase());
  for (const limit of ["lock_timeout", "idle_in_transaction_session_timeout"]) {
    url.searchParams.set(limit, "60000");
  }
  return url.href;
}

if (import.meta.main && PLACE && RUN) {
  const hasEnded = () => Deno.stat(join(RUN, "ended")).then(() => true, () => false);
  const { runServer } = await import("../../scripts/testing/server.ts");
  await runServer(PLACE.folder, RUNNER, hasEnded);
  if (isAlive(RUNNER)) await reportDatabases(RUN);
}
