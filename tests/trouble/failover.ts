// Kills the primary of a Patroni cluster again and again while three instances work under load. Run by
// `deno task test-failover`; takes about ten minutes. FAILOVER_KILLS changes the number of kills.
import assert from "node:assert/strict";
import { setTimeout as pause } from "node:timers/promises";
import { connectPostgres } from "../../infra/postgres/postgres.ts";
import { canRunPatroni, type Member, startPatroni } from "../support/patroni.ts";
import { isAlive } from "../support/processes.ts";
import { requireAccepted } from "./check_accepted.ts";
import { Load } from "./load.ts";
import { startSystem, type System } from "./system.ts";

const KILLS = Number(Deno.env.get("FAILOVER_KILLS") ?? 20);
const WRITES_AGAIN_MS = 10_000;

/** Ways in which a primary fails, in turn. */
const FAILURES: { name: string; fail(primary: Member): Promise<void> }[] = [
  { name: "the server crashes", fail: (primary) => primary.killPostgres() },
  { name: "the machine is lost", fail: (primary) => primary.killMachine() },
  {
    name: "the machine freezes for 15 s",
    async fail(primary) {
      await primary.freeze();
      setTimeout(() => primary.thaw(), 15_000);
    },
  },
];

Deno.test({
  name: `the primary fails ${KILLS} times: no accepted work is lost, and no instance has to be restarted`,
  ignore: !canRunPatroni,
  async fn() {
    await using cluster = await startPatroni();
    const system = await startSystem({ databaseUrl: cluster.url });
    const sql = connectPostgres(cluster.url, { max: 2 });
    const load = new Load(system);
    const outages: number[] = [];
    try {
      await load.more(30);
      for (let n = 0; n < KILLS; n++) {
        const failure = FAILURES[n % FAILURES.length];
        assert.ok(failure);
        await cluster.settled();
        const primary = await cluster.primary();
        const outage = await longestOutage(load, system, () => failure.fail(primary));
        outages.push(outage);
        console.log(
          `      ${failure.name} (${primary.name}): writes again after ${(outage / 1000).toFixed(1)} s`,
        );
        await primary.thaw();
        primary.start();
      }
      await cluster.settled();
      await load.more(30);
    } finally {
      await load.end();
    }
    try {
      // The old primary's worker may still call while its lease already belongs to another.
      await requireAccepted(system, sql, load, { mayOverlap: true });
      const repeated = JSON.stringify(Object.fromEntries(load.repeated));
      console.log(`      ${load.accepted.length} accepted; repeated: ${repeated}`);
      const p95 = outages.toSorted((a, b) => a - b)[Math.ceil(outages.length * 0.95) - 1] ?? Infinity;
      assert.ok(p95 <= WRITES_AGAIN_MS, `p95 of the time without writes: ${p95} ms`);
    } finally {
      await sql.end();
      await system.stop();
    }
  },
});

/** Three clients write all the time. @returns the longest time without an accepted write after `fail`, in ms */
async function longestOutage(load: Load, system: System, fail: () => Promise<void>): Promise<number> {
  const accepted: number[] = [];
  let isRunning = true;
  const write = async () => {
    while (isRunning) {
      const key = crypto.randomUUID();
      const job = await load.send("/api/v1/jobs", { jobTypeName: "steward.echo", serializedArgs: "{}" }, key);
      load.accept("job", job?.id, key);
      if (job) accepted.push(performance.now());
      await pause(100);
    }
  };
  const clients = Promise.all([write(), write(), write()]);
  await pause(1_000);
  const failedAt = performance.now();
  await fail();
  // until writes are accepted again for a while
  const longest = () =>
    Math.max(...accepted.map((at, i) => i === 0 || at < failedAt ? 0 : at - (accepted[i - 1] ?? at)));
  const isOver = () => longest() > 500 && accepted.filter((at) => at > failedAt + longest()).length >= 20;
  while (!isOver() && performance.now() - failedAt < 60_000) await pause(100);
  isRunning = false;
  await clients;
  for (const { process } of system.instances) {
    assert.ok(isAlive(process.pid), `an instance has ended: ${process.output()}`);
  }
  return longest();
}
