// The instance that pushes is killed: the requests that a receiver then gets.
import assert from "node:assert/strict";
import { RemoteWorker } from "../../support/remote_work.ts";
import { startBeside } from "../../support/service_process.ts";
import { setup } from "../../support/setup.ts";
import { until } from "../../support/until.ts";
import { Receiver } from "../events/receiver.ts";
import { enqueueJob, readJob, WORKER_PERMISSIONS } from "./job_calls.ts";

const receiver = new Receiver();
const settings = { OUTBOUND_ALLOW: "127.0.0.1", JOB_LEASE_SECONDS: "2" };
const t = await setup({ ...settings, JOB_CONCURRENCY: "0" });
Deno.test.afterAll(async () => {
  await t.stop();
  await receiver.stop();
});
const tenant = await t.actor({ permissions: WORKER_PERMISSIONS });

Deno.test("a push whose instance is killed is repeated as the next attempt, unless the receiver settled it", async () => {
  const name = "orders.crash";
  await tenant.put(`/api/v1/job-types/${name}`, { push: { url: receiver.url() }, timeoutSeconds: 300 });
  const gate = Promise.withResolvers<void>();
  receiver.answers(async ({ body }) => {
    const { attempt } = body as unknown as { attempt: number };
    if (attempt === 1) await gate.promise;
    return new Response("done");
  });
  const status = async (id: string) => (await readJob(tenant, id)).status;
  const instance = await startBeside(t, settings);
  const [done, undone] = [await enqueueJob(tenant, name), await enqueueJob(tenant, name)];
  await receiver.got(2);
  const worker = new RemoteWorker(tenant, "receiver");
  const settled = await worker.settle([{ jobId: done, attempt: 1 }], "succeeded");
  instance.kill("SIGKILL");
  await instance.ended;
  gate.resolve();
  assert.deepEqual(settled, ["settled"]);
  const second = await startBeside(t, settings);
  try {
    await until(async () => await status(undone) === "Succeeded");
    assert.equal(await status(done), "Succeeded");
    const ids = receiver.received.map(({ id }) => id);
    assert.deepEqual(ids.toSorted(), [`${done}.1`, `${undone}.1`, `${undone}.2`].toSorted());
    const late = { jobId: undone, attempt: 1 };
    assert.deepEqual(await worker.settle([late], "failed", { error: "too late" }), ["lost"]);
  } finally {
    await second.stop();
  }
});
