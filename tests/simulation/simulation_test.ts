// A short run of the simulation. `deno task simulate` runs thousands of seeds; see README.md.
import assert from "node:assert/strict";
import { Connections } from "./connections.ts";
import { createSimulationDatabase } from "./database.ts";
import { FAULTS } from "./fault_list.ts";
import { Fault, faultNamed } from "./faults.ts";
import { runSeed } from "./simulation.ts";

const connections = await Connections.open(await createSimulationDatabase());
Deno.test.afterAll(() => connections.close());

Deno.test("no simulated history breaks a rule, and the same seed gives the same history", async () => {
  const results = [];
  for (const seed of [1, 3, 3]) {
    const result = await runSeed(connections, { seed });
    assert.deepEqual(result.violations, [], `deno task simulate --seed ${seed}`);
    results.push(result);
  }
  const [first, second] = results.slice(-2);
  assert.ok(first && second && first.history.length > 20);
  assert.deepEqual(second.history, first.history);
  assert.equal(second.hash, first.hash);
});

Deno.test("a planted fault is found", async () => {
  const fault = faultNamed("claim by id");
  const { violations } = await runSeed(connections, { seed: fault.planted.seed ?? 1, fault });
  assert.ok(violations.length > 0);
});

Deno.test("a fault whose text is not in the engine is an error", async () => {
  const planted = { ...FAULTS[0]!, inFunction: "count_updated_jobs", from: "no such text" };
  await assert.rejects(new Fault(planted).plant(connections.monitor), /is not in count_updated_jobs/);
});
