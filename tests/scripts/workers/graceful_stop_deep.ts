import assert from "node:assert/strict";
import { setup } from "../../support/setup.ts";
import { until } from "../../support/until.ts";
import { inEveryLanguage } from "../../support/worker_loops.ts";

const GRACE_SECONDS = 5;

const t = await setup();
Deno.test.afterAll(() => t.stop());

inEveryLanguage(t, "SIGTERM lets running jobs end in the grace time and releases the rest", async (loop) => {
  await loop.start();
  await until(() => loop.front.of("claim").length > 0);
  assert.ok(await loop.stop() < 3, "a worker without jobs ends at once");

  const [short = ""] = await loop.enqueue({ number: "A-1", pages: 6, secondsPerPage: 0.2 });
  await loop.start();
  await loop.reaches(short, "Processing");
  const [long = ""] = await loop.enqueue({ number: "A-2", pages: 100, secondsPerPage: 0.5 });
  if (loop.language.name !== "PHP") await loop.reaches(long, "Processing"); // PHP runs one job after another
  const seconds = await loop.stop();
  assert.ok(seconds < GRACE_SECONDS + 5, `it took ${seconds} s`);
  assert.equal((await loop.read(short)).status, "Succeeded");
  const { status, attempts } = await loop.read(long);
  assert.equal(status, "Enqueued", loop.output);
  const { failures, lostLeases } = await loop.counted(long);
  assert.deepEqual([failures, lostLeases], [0, 0], `attempt ${attempts}`);
});

inEveryLanguage(
  t,
  "the grace time begins with SIGTERM, also if the service no longer answers claims",
  async (loop) => {
    const { promise: answer, resolve } = Promise.withResolvers<Response>();
    await loop.start();
    const [long = ""] = await loop.enqueue({ number: "A-3", pages: 100, secondsPerPage: 0.5 });
    await loop.reaches(long, "Processing");
    // PHP runs the job before it claims again
    if (loop.language.name !== "PHP") await until(() => loop.front.of("claim").length > 1);
    loop.front.fault = ({ verb, body }) => verb === "claim" && body.waitSeconds === 0 ? answer : "pass";
    const seconds = await loop.stop();
    resolve(new Response(null, { status: 502 }));
    loop.front.fault = () => "pass";
    assert.ok(seconds < GRACE_SECONDS + 4, `it took ${seconds} s`);
  },
);
