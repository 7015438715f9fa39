// A short run of the simulation. `deno task simulate` runs thousands of seeds; see README.md.
import assert from "node:assert/strict";
import { Connections, createSimulationDatabase } from "./database.ts";
import { Fault, faultNamed, FAULTS } from "./faults.ts";
import { runSeed } from "./simulation.ts";

const connections = await Connections.open(await createSimulationDatabase());
Deno.test.afterAll(() => connections.close());

Deno.test("no simulated history breaks a rule, and the same seed gives the same history", async () => {
  const o = { seed: 8, troubleSteps: 100 };
  const [one, two] = [await runSeed(connections, o), await runSeed(connections, o)];
  assert.deepEqual(one.violations, [], "deno task simulate --seed 8");
  assert.ok(one.history.length > 20);
  assert.deepEqual(two.history, one.history);
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
