// A short run of the simulation. `deno task simulate` runs thousands of seeds; see README.md.
import assert from "node:assert/strict";
import { Connections } from "./connections.ts";
import { createSimulationDatabase } from "./database.ts";
import { Fault, faultNamed, FAULTS } from "./faults.ts";
import { runSeed } from "./simulation.ts";

const connections = await Connections.open(await createSimulationDatabase());
Deno.test.afterAll(() => connections.close());

Deno.test("no simulated history breaks a rule, and the same seed gives the same history", async () => {
  const histories: string[][] = [];
  for (const o of [{ seed: 4 }, { seed: 8, troubleSteps: 100 }, { seed: 8, troubleSteps: 100 }]) {
    const { violations, history } = await runSeed(connections, o);
    assert.deepEqual(violations, [], `deno task simulate --seed ${o.seed}`);
    histories.push(history);
  }
  assert.ok(histories.every(({ length }) => length > 20));
  assert.deepEqual(histories[2], histories[1]);
});

Deno.test("a planted fault is found", async () => {
  const fault = faultNamed("failure not counted");
  const { violations } = await runSeed(connections, { seed: fault.planted.seed, fault });
  assert.ok(violations.length > 0);
});

Deno.test("a fault whose text is not in the engine is an error", async () => {
  const planted = { ...FAULTS[0]!, inFunction: "count_updated_jobs", from: "no such text" };
  await assert.rejects(new Fault(planted).plant(connections.monitor), /is not in count_updated_jobs/);
});
