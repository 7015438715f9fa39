import assert from "node:assert/strict";
import { setTimeout as pause } from "node:timers/promises";
import type { SeenRequest } from "../../support/request_front.ts";
import { setup } from "../../support/setup.ts";
import { until } from "../../support/until.ts";
import { inEveryLanguage } from "../../support/worker_loops.ts";

const t = await setup();
Deno.test.afterAll(() => t.stop());

const unavailable = (seconds?: number) =>
  new Response("{}", {
    status: 503,
    headers: seconds === undefined ? {} : { "retry-after": String(seconds) },
  });
const refused = () => new Response(`{"detail":"not this one"}`, { status: 400 });

inEveryLanguage(
  t,
  "a lost answer, an unavailable service and a refused result lose no job; a refused claim ends the worker",
  async (loop) => {
    const { front } = loop;
    const once = (verb: string, fault: () => ReturnType<typeof front.fault>) => {
      let left = 1;
      front.fault = (request) => request.verb === verb && left-- > 0 ? fault() : "pass";
    };

    // The jobs of a lost answer are claimed again with the same requestId, long before their lease ends.
    once("claim", () => "cut the answer");
    const [first = ""] = await loop.enqueue({ number: "A-1" });
    await loop.start();
    await loop.reaches(first, "Succeeded");
    const [lost, again] = front.of("claim");
    assert.equal(again?.body.requestId, lost?.body.requestId);
    assert.equal((await loop.executions(first)).length, 1);

    // Retry-After is honoured.
    once("settle", () => unavailable(1));
    const before = front.of("settle").length;
    const [second = ""] = await loop.enqueue({ number: "A-2" });
    await loop.reaches(second, "Succeeded");
    const [busy, later] = front.of("settle").slice(before);
    assert.ok(gap(busy, later) >= 950, `settled again after ${gap(busy, later)} ms`);

    // One refused result does not take others with it.
    front.fault = ({ verb, body }) =>
      verb === "settle" &&
        body.jobs.some(({ output }: { output?: { number?: string } }) => output?.number === "bad")
        ? refused()
        : "pass";
    const [bad = "", good = ""] = await loop.enqueue({ number: "bad" }, { number: "good" });
    await loop.reaches(good, "Succeeded");
    const [failure] = await until(() => loop.executions(bad), (attempts) => attempts[0]?.status === "Failed");
    assert.match(failure.errorMessage, /not this one/);

    // The pauses grow while the service is unavailable.
    front.fault = () => unavailable();
    const sent = front.seen.length;
    await pause(2_000);
    const tries = front.seen.length - sent;
    assert.ok(tries <= 10, `${tries} requests in 2 s`);
    front.fault = () => "pass";
    const [third = ""] = await loop.enqueue({ number: "A-3" });
    await loop.reaches(third, "Succeeded");
    await loop.stop();

    // A refused claim ends the worker, so that its process manager sees it.
    front.fault = () => new Response(`{"detail":"the key is revoked"}`, { status: 401 });
    await loop.start();
    assert.notEqual(await loop.ended(), 0);
    await until(() => loop.output.includes("the key is revoked"));
  },
);

const gap = (one: SeenRequest | undefined, two: SeenRequest | undefined): number =>
  Math.round((two?.at ?? 0) - (one?.at ?? 0));

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
