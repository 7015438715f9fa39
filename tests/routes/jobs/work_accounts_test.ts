import assert from "node:assert/strict";
import { HttpClient } from "../../support/http.ts";
import { RemoteWorker } from "../../support/remote_work.ts";
import { type Actor, setupShared } from "../../support/setup.ts";

const t = await setupShared({}, { inThisProcess: true });
Deno.test.afterAll(() => t.stop());
const { systemAdmin } = t;
const global = await t.actor({ role: "SystemAdmin", global: true });
const permissions = ["manage:job-types", "work:jobs"];
const ACCOUNTS = "/api/v1/service-accounts";
const TYPE = "accounts.work";
assert.equal((await global.put(`/api/v1/job-types/${TYPE}`, {})).status, 201);

async function account(tenants: unknown): Promise<{ id: string; client: HttpClient; worker: RemoteWorker }> {
  const { status, body } = await systemAdmin.post(ACCOUNTS, {
    name: "Worker",
    permissions: ["work:jobs"],
    tenants,
  });
  assert.equal(status, 201, JSON.stringify(body));
  const client = new HttpClient(t.url, body.secret);
  return { id: body.id, client, worker: new RemoteWorker(client, "one") };
}

async function enqueue(by: Actor): Promise<string> {
  const { status, body } = await by.post("/api/v1/jobs", { jobTypeName: TYPE, serializedArgs: "{}" });
  assert.equal(status, 201, JSON.stringify(body));
  return body.id;
}

const switchTenant = async (tenantId: string | null, isActive: boolean) =>
  assert.equal((await systemAdmin.put(`/api/v1/tenants/${tenantId}`, { isActive })).status, 200);

const ids = (jobs: { jobId: string }[]) => jobs.map(({ jobId }) => jobId).sort();

async function waiting(count: number): Promise<void> {
  const polls = () => t.instances.reduce((sum, { platform }) => sum + platform.workPolls.size, 0);
  while (polls() < count) await new Promise((resolve) => setTimeout(resolve, 1));
}

Deno.test("a service account works on the jobs of all its tenants, or of the one it names", async () => {
  const [one, two, three] = await Promise.all([1, 2, 3].map(() => t.actor({ permissions })));
  const ofPlatform = await t.actor({ tenantId: t.platformTenantId, permissions });
  const jobs = { one: await enqueue(one!), two: await enqueue(two!), three: await enqueue(three!) };
  const hidden = await enqueue(ofPlatform);
  const { client, worker } = await account([one!.tenantId, two!.tenantId]);
  const named = new RemoteWorker(client.with({ "x-tenant-id": two!.tenantId ?? "" }), "named");
  assert.deepEqual(ids(await named.claim([TYPE])), [jobs.two]);
  const claimed = await worker.claim([TYPE]);
  assert.deepEqual(ids(claimed), [jobs.one]);
  assert.deepEqual(await worker.settle(claimed, "succeeded"), ["settled"]);
  const everywhere = (await account("all")).worker;
  assert.deepEqual(ids(await everywhere.claim([TYPE])), [jobs.three], "not those of the platform's tenant");
  const refused = await client.with({ "x-tenant-id": three!.tenantId ?? "" })
    .post("/api/v1/work/claim", { types: [TYPE], worker: "one" });
  assert.deepEqual([refused.status, refused.body.code], [403, "TENANT_FORBIDDEN"]);
  assert.deepEqual(ids(await new RemoteWorker(ofPlatform, "platform").claim([TYPE])), [hidden]);
});

Deno.test("a worker of several tenants goes on while the tenant that declares one of its types is switched off", async () => {
  const [on, off] = [await t.actor({ permissions }), await t.actor({ permissions })];
  const ofOff = `off.${crypto.randomUUID()}`;
  assert.equal((await off.put(`/api/v1/job-types/${ofOff}`, {})).status, 201);
  const job = await enqueue(on);
  const { worker } = await account([on.tenantId, off.tenantId]);
  const { worker: onlyOff } = await account([off.tenantId]);
  await switchTenant(off.tenantId, false);
  assert.deepEqual(ids(await worker.claim([TYPE, ofOff])), [job]);
  assert.deepEqual(await onlyOff.claim([TYPE, ofOff]), []);
});

Deno.test("an account of all tenants cannot claim a type that only the platform tenant declares", async () => {
  const ofPlatform = await t.actor({ tenantId: t.platformTenantId, permissions });
  const off = await t.actor({ permissions });
  const [hidden, ofOff] = [`platform.${crypto.randomUUID()}`, `off.${crypto.randomUUID()}`];
  assert.equal((await ofPlatform.put(`/api/v1/job-types/${hidden}`, {})).status, 201);
  assert.equal((await off.put(`/api/v1/job-types/${ofOff}`, {})).status, 201);
  await switchTenant(off.tenantId, false);
  const { client, worker } = await account("all");
  const { status, body } = await client.post("/api/v1/work/claim", { types: [hidden], worker: "one" });
  assert.deepEqual([status, body.code], [400, "JOB_TYPE_UNKNOWN"]);
  assert.equal(body.detail, `No job type ${hidden} is declared for tenants other than the platform.`);
  assert.deepEqual(await worker.claim([ofOff]), [], "the tenant may be switched on again");
});

Deno.test("switching a tenant off stops the work of accounts there, also of a claim that waits", async () => {
  const [on, off] = [await t.actor({ permissions }), await t.actor({ permissions })];
  const accounts = [await account([on.tenantId, off.tenantId]), await account("all")];
  for (const { worker, client } of accounts) {
    const waits = worker.claim([TYPE], { waitSeconds: 20 });
    await waiting(1);
    const held = await new RemoteWorker(client, "two").claim([TYPE], { waitSeconds: 0 });
    assert.deepEqual(held, []);
    await switchTenant(off.tenantId, false);
    assert.deepEqual(await waits, [], "the claim ends, so that the next one looks again");
    await switchTenant(off.tenantId, true);
  }
  const jobOff = await enqueue(await t.actor({ tenantId: off.tenantId ?? "", permissions }));
  await switchTenant(off.tenantId, false);
  const jobOn = await enqueue(on);
  for (const { worker } of accounts) {
    const claimed = await worker.claim([TYPE]);
    assert.ok(!ids(claimed).includes(jobOff), "not of the tenant that is off");
    await worker.settle(claimed, "released");
  }
  await switchTenant(off.tenantId, true);
  const claimed = await accounts[0]!.worker.claim([TYPE]);
  assert.deepEqual(ids(claimed), [jobOff, jobOn].sort());
  await switchTenant(off.tenantId, false);
  const ofOff = claimed.filter(({ jobId }) => jobId === jobOff);
  assert.deepEqual(await accounts[0]!.worker.settle(ofOff, "succeeded"), ["lost"]);
});

Deno.test("a revoked account gets no job from a claim that waits", async () => {
  const by = await t.actor({ permissions });
  const { id, worker, client } = await account([by.tenantId]);
  const waits = worker.claim([TYPE], { waitSeconds: 20 });
  await waiting(1);
  assert.equal((await systemAdmin.delete(`${ACCOUNTS}/${id}`)).status, 204);
  assert.deepEqual(await waits, []);
  await enqueue(by);
  const { status, body } = await client.post("/api/v1/work/claim", { types: [TYPE], worker: "one" });
  assert.deepEqual([status, body.code], [401, "TOKEN_REVOKED"]);
});

Deno.test("an account that was revoked after its claim began to wait gets no job, and another worker gets it", async () => {
  const by = await t.actor({ permissions });
  const { id, client } = await account([by.tenantId]);
  const waits = client.post("/api/v1/work/claim", { types: [TYPE], worker: "one", waitSeconds: 20 });
  await waiting(1);
  // In the database alone: as if the announcement had come before the claim waited.
  await t.steward.platform.sql`update service_accounts set revoked_at = now() where id = ${id}`;
  await new Promise((resolve) => setTimeout(resolve, 1_200)); // the rights of the account are no longer cached
  const job = await enqueue(by);
  const { status, body } = await waits;
  assert.deepEqual([status, body.code], [401, "TOKEN_REVOKED"]);
  assert.deepEqual(ids(await new RemoteWorker(by, "two").claim([TYPE], { waitSeconds: 5 })), [job]);
});

Deno.test("a claim whose account lost a tenant while it waited answers no job of that tenant", async () => {
  const [one, two] = [await t.actor({ permissions }), await t.actor({ permissions })];
  const { id, worker } = await account([one.tenantId, two.tenantId]);
  const waits = worker.claim([TYPE], { waitSeconds: 20 });
  await waiting(1);
  await t.steward.platform.sql`update service_accounts set tenant_ids = ${[
    one.tenantId ?? "",
  ]}::uuid[] where id = ${id}`;
  await new Promise((resolve) => setTimeout(resolve, 1_200));
  const job = await enqueue(two);
  assert.deepEqual(await waits, []);
  assert.deepEqual(ids(await new RemoteWorker(two, "two").claim([TYPE], { waitSeconds: 5 })), [job]);
});
