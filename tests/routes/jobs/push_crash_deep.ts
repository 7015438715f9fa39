// The instance that pushes is killed: the requests that a receiver then gets.
import assert from "node:assert/strict";
import { startServiceProcess } from "../../support/service_process.ts";
import { setup } from "../../support/setup.ts";
import { until } from "../../support/until.ts";
import { Receiver } from "../events/receiver.ts";

const receiver = new Receiver();
const t = await setup({ JOB_CONCURRENCY: "0", OUTBOUND_ALLOW: "127.0.0.1", JOB_LEASE_SECONDS: "2" });
Deno.test.afterAll(async () => {
  await t.stop();
  await receiver.stop();
});
const tenant = await t.actor({ permissions: ["manage:job-types", "work:jobs"] });

/** An instance that works on jobs, in a process of its own. */
const startInstance = async () =>
  await startServiceProcess({
    DATABASE_URL: t.steward.platform.config.DATABASE_URL ?? "",
    DATA_DIR: await Deno.makeTempDir({ prefix: "steward-test-" }),
    OUTBOUND_ALLOW: "127.0.0.1",
    JOB_LEASE_SECONDS: "2",
    JOB_POLL_MS: "200",
  });

Deno.test("a push whose instance is killed is repeated as the next attempt, unless the receiver settled it", async () => {
  const name = "orders.crash";
  await tenant.put(`/api/v1/job-types/${name}`, { push: { url: receiver.url() }, timeoutSeconds: 300 });
  const settled: string[] = [];
  const gate = Promise.withResolvers<void>();
  receiver.answers(async ({ body }) => {
    const { attempt } = body as unknown as { attempt: number };
    if (attempt === 1) await gate.promise;
    return new Response("done");
  });
  const enqueue = async () =>
    (await tenant.post("/api/v1/jobs", { jobTypeName: name, serializedArgs: "{}" })).body.id as string;
  const status = async (id: string) => (await tenant.get(`/api/v1/jobs/${id}`)).body.status;
  const instance = await startInstance();
  const [done, undone] = [await enqueue(), await enqueue()];
  await receiver.got(2);
  const { body } = await tenant.post("/api/v1/work/settle", {
    jobs: [{ jobId: done, attempt: 1, outcome: "succeeded" }],
  });
  settled.push(body.jobs[0].result);
  instance.kill("SIGKILL");
  await instance.ended;
  gate.resolve();
  assert.deepEqual(settled, ["settled"]);
  const second = await startInstance();
  try {
    await until(async () => await status(undone) === "Succeeded");
    assert.equal(await status(done), "Succeeded");
    const ids = receiver.received.map(({ id }) => id);
    assert.deepEqual(ids.toSorted(), [`${done}.1`, `${undone}.1`, `${undone}.2`].toSorted());
    const late = await tenant.post("/api/v1/work/settle", {
      jobs: [{ jobId: undone, attempt: 1, outcome: "failed", error: "too late" }],
    });
    assert.equal(late.body.jobs[0].result, "lost");
  } finally {
    await second.stop();
  }
});
