import assert from "node:assert/strict";
import { LeaseKeeper } from "../../../domain/jobs/lease_keeper.ts";
import { createLog } from "../../../infra/log.ts";
import { connectSeparately } from "../../../infra/postgres/driver_workarounds.ts";
import { mainPool, transact } from "../../../infra/postgres/postgres.ts";
import { setupShared } from "../../support/setup.ts";
import { until } from "../../support/until.ts";

const t = await setupShared({ JOB_CONCURRENCY: "0" });
Deno.test.afterAll(() => t.stop());
const { sql } = t.steward.platform;

/** Opens a lease of two seconds. `events` gets its callbacks in their order. */
async function openKeeper(): Promise<{ keeper: LeaseKeeper; events: string[] }> {
  const events: string[] = [];
  const keeper = new LeaseKeeper({
    connect: () => connectSeparately(mainPool(sql)),
    host: "lease test",
    leaseSeconds: 2,
    log: createLog("off"),
    onAtRisk: () => events.push("at risk"),
    onReplaced: () => events.push(`replaced, jobs ${keeper.isSafe ? "may" : "must not"} start`),
    onSafeAgain: () => events.push("safe again"),
  });
  await keeper.open();
  return { keeper, events };
}

const REPLACED = ["replaced, jobs must not start", "safe again"];

Deno.test("no job starts with a new lease before those of the lost lease are forgotten", async () => {
  const { keeper, events } = await openKeeper();
  const lost = keeper.id;
  await transact(sql, async (tx) => {
    await tx`delete from job_workers where id = ${lost}`; // each renewal waits for this row and times out
    await until(() => events, ([first]) => first === "at risk");
  });
  await until(() => events, (all) => all.includes("safe again"));
  assert.deepEqual(events, ["at risk", ...REPLACED]);
  assert.ok(keeper.isSafe && keeper.id !== lost);
  await keeper.close();
});

Deno.test("a lease that was lost before it was at risk is replaced, and jobs start again", async () => {
  const { keeper, events } = await openKeeper();
  const lost = keeper.id;
  await sql`delete from job_workers where id = ${lost}`;
  await until(() => events, (all) => all.includes("safe again"));
  assert.deepEqual(events, REPLACED);
  assert.ok(keeper.isSafe && keeper.id !== lost);
  await keeper.close();
});
