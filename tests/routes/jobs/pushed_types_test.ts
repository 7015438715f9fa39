import assert from "node:assert/strict";
import { RemoteWorker } from "../../support/remote_work.ts";
import { setupShared } from "../../support/setup.ts";

const t = await setupShared({ JOB_CONCURRENCY: "0" });
Deno.test.afterAll(() => t.stop());
const permissions = ["manage:job-types", "work:jobs"];
const type = "/api/v1/job-types/pushed.somewhere";
const jobTypeName = "pushed.somewhere";

Deno.test("of a name that one tenant pushes and another does not, only the other's jobs can be claimed", async () => {
  const [pushing, claiming] = [await t.actor({ permissions }), await t.actor({ permissions })];
  const everywhere = new RemoteWorker(await t.actor({ role: "SystemAdmin", global: true }), "one");
  assert.equal((await pushing.put(type, { push: { url: "https://product.example/jobs" } })).status, 201);
  assert.equal((await claiming.put(type, {})).status, 201);
  const pushed = await pushing.post("/api/v1/jobs", { jobTypeName });
  const waiting = await claiming.post("/api/v1/jobs", { jobTypeName });
  const claimed = await everywhere.claim([jobTypeName]);
  assert.deepEqual(claimed.map(({ jobId }) => jobId), [waiting.body.id]);
  assert.equal((await pushing.get(`/api/v1/jobs/${pushed.body.id}`)).body.status, "Enqueued");
});
