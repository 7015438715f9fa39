// Deliveries whose worker process is killed: real worker processes and a real receiver.
import assert from "node:assert/strict";
import { type ServiceProcess, startBeside } from "../../support/service_process.ts";
import { setup } from "../../support/setup.ts";
import { Receiver } from "./receiver.ts";
import { until } from "../../support/until.ts";

const settings = { OUTBOUND_ALLOW: "127.0.0.1", JOB_LEASE_SECONDS: "1" };
const t = await setup({ ...settings, JOB_CONCURRENCY: "0" });
const receiver = new Receiver();
const workers: ServiceProcess[] = [];
Deno.test.afterAll(async () => {
  for (const worker of workers) await worker.stop("SIGKILL");
  await t.stop();
  await receiver.stop();
});

/** The whole service in its own process, on the test's database. */
async function startWorker(): Promise<ServiceProcess> {
  const worker = await startBeside(t, { ...settings, LOG_LEVEL: "error" });
  workers.push(worker);
  return worker;
}

Deno.test("if a worker is killed during a delivery, another one delivers it with the same id", async () => {
  const by = await t.actor({ permissions: ["manage:webhooks"] });
  const path = "/api/v1/webhook-endpoints";
  const { body: endpoint } = await by.post(path, { url: receiver.url(), eventTypes: "*" });
  const { promise: never, resolve: release } = Promise.withResolvers<Response>();
  receiver.answers(() => never);
  const { body: { id } } = await by.post(`${path}/${endpoint.id}/test`);
  const victim = await startWorker();
  await receiver.got(1);
  receiver.answers(() => new Response("thanks"));
  await victim.stop("SIGKILL");
  release(new Response("too late"));
  const pending = (await by.get(`${path}/${endpoint.id}/deliveries`)).body.items[0];
  assert.deepEqual([pending.status, pending.attemptCount], ["Pending", 0]);
  const next = await startWorker();
  const all = await receiver.got(2);
  assert.deepEqual(all.map((request) => request.id), [id, id]);
  for (const request of all) request.verify(endpoint.secret);
  const told = await until(
    async () => (await by.get(`${path}/${endpoint.id}/deliveries`)).body.items[0],
    ({ status }) => status === "Delivered",
  );
  assert.equal(told.attempts.length, 1, "the interrupted attempt is not in the list");
  await next.stop("SIGKILL");
});
