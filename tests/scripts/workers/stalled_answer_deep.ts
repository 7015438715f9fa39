import assert from "node:assert/strict";
import { setup } from "../../support/setup.ts";
import { inEveryLanguage } from "../../support/worker_loops.ts";

const t = await setup();
Deno.test.afterAll(() => t.stop());

inEveryLanguage(t, "an answer that stops in its middle is given up, and the worker goes on", async (loop) => {
  const { front } = loop;
  const stalled = new Set<string>();
  front.fault = ({ verb }) => {
    if (stalled.has(verb) || verb === "claim") return "pass"; // a claim may take half a minute
    stalled.add(verb);
    return "stall the answer";
  };
  await loop.start();
  const ids = await loop.enqueue({ number: "A-1", pages: 15, secondsPerPage: 1 }, { number: "A-2" });
  for (const id of ids) await loop.reaches(id, "Succeeded");
  const [later = ""] = await loop.enqueue({ number: "A-3" });
  await loop.reaches(later, "Succeeded");
  assert.deepEqual([...stalled].sort(), ["heartbeat", "settle"]);
  await loop.stop();
});
