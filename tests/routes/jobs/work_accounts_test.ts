// Remote workers with a service account, which serves several tenants.
import assert from "node:assert/strict";
import { HttpClient } from "../../support/http.ts";
import { RemoteWorker } from "../../support/remote_work.ts";
import { type Actor, setupShared } from "../../support/setup.ts";
import { until } from "../../support/until.ts";
import {
  declareType,
  enqueueJob,
  jobIdsOf,
  refusal,
  WORKER_PERMISSIONS as permissions,
} from "./job_calls.ts";

const t = await setupShared({}, { inThisProcess: true });
const { systemAdmin } = t;
const { sql } = t.steward.platform;
const ACCOUNTS = "/api/v1/service-accounts";
const TYPE = await declareType(await t.actor({ role: "SystemAdmin", global: true }), {}, "accounts.work");
const LONG = { waitSeconds: 50 };

async function account(tenants: "all" | Actor[]) {
  const of = tenants === "all" ? "all" : tenants.map(({ tenantId }) => tenantId);
  const asked = { name: "Worker", permissions: ["work:jobs"], tenants: of };
  const { status, body } = await systemAdmin.post(ACCOUNTS, asked);
  assert.equal(status, 201, JSON.stringify(body));
  const client = new HttpClient(t.url, body.secret);
  return { id: body.id as string, client, worker: new RemoteWorker(client, "one") };
}
const people = (count: number) => Promise.all(Array.from({ length: count }, () => t.actor({ permissions })));
const inTenant = ({ tenantId }: Actor) => ({ "x-tenant-id": tenantId ?? "" });
const switchTenant = async ({ tenantId }: Actor, isActive: boolean) =>
  assert.equal((await systemAdmin.put(`/api/v1/tenants/${tenantId}`, { isActive })).status, 200);
const ids = async (claim: ReturnType<RemoteWorker["claim"]>) => jobIdsOf(await claim).sort();
const claimBy = (client: HttpClient, types: string[], more = {}) =>
  client.post("/api/v1/work/claim", { types, worker: "one", ...more });
const waiting = () => until(() => t.instances.some(({ platform }) => platform.workPolls.size > 0));

Deno.test("a service account works on the jobs of all its tenants, or of the one it names", async () => {
  const [one, two, three] = await people(3) as [Actor, Actor, Actor];
  const ofPlatform = await t.actor({ tenantId: t.platformTenantId, permissions });
  const [first, second, third] = await Promise.all([one, two, three].map((by) => enqueueJob(by, TYPE)));
  const hidden = await enqueueJob(ofPlatform, TYPE);
  const { client, worker } = await account([one, two]);
  const named = new RemoteWorker(client.with(inTenant(two)), "named");
  assert.deepEqual(await ids(named.claim([TYPE])), [second]);
  const claimed = await worker.claim([TYPE]);
  assert.deepEqual(jobIdsOf(claimed), [first]);
  assert.deepEqual(await worker.settle(claimed, "succeeded"), ["settled"]);
  const { worker: everywhere } = await account("all");
  assert.deepEqual(await ids(everywhere.claim([TYPE])), [third], "not those of the platform's tenant");
  assert.equal(refusal(await claimBy(client.with(inTenant(three)), [TYPE])), "403 TENANT_FORBIDDEN");
  assert.deepEqual(await ids(new RemoteWorker(ofPlatform, "platform").claim([TYPE])), [hidden]);
  const type = await declareType(ofPlatform);
  const refused = await claimBy(everywhere.by, [type]);
  assert.equal(refusal(refused), "400 JOB_TYPE_UNKNOWN");
  assert.equal(refused.body.detail, `No job type ${type} is declared for tenants other than the platform.`);
});

Deno.test("a worker of several tenants goes on while the tenant that declares one of its types is switched off", async () => {
  const [on, off] = await people(2) as [Actor, Actor];
  const ofOff = await declareType(off);
  const job = await enqueueJob(on, TYPE);
  const [both, onlyOff] = [await account([on, off]), await account([off])];
  await switchTenant(off, false);
  assert.deepEqual(await ids(both.worker.claim([TYPE, ofOff])), [job]);
  assert.deepEqual(await onlyOff.worker.claim([TYPE, ofOff]), []);
  const { worker } = await account("all");
  assert.deepEqual(await worker.claim([ofOff]), [], "the tenant may be switched on again");
});

Deno.test("switching a tenant off stops the work of accounts there, also of a claim that waits", async () => {
  const [on, off] = await people(2) as [Actor, Actor];
  const accounts = [await account([on, off]), await account("all")];
  for (const { worker } of accounts) {
    const waits = worker.claim([TYPE], LONG);
    await waiting();
    await switchTenant(off, false);
    assert.deepEqual(await waits, [], "the claim ends, so that the next one looks again");
    await switchTenant(off, true);
  }
  const jobOff = await enqueueJob(await t.actor({ tenantId: off.tenantId ?? "" }), TYPE);
  await switchTenant(off, false);
  const jobOn = await enqueueJob(on, TYPE);
  for (const { worker } of accounts) {
    const claimed = await worker.claim([TYPE]);
    assert.deepEqual(jobIdsOf(claimed), [jobOn], "not of the tenant that is off");
    await worker.settle(claimed, "released");
  }
  await switchTenant(off, true);
  const { worker } = accounts[0]!;
  const claimed = await worker.claim([TYPE]);
  assert.deepEqual(jobIdsOf(claimed).sort(), [jobOff, jobOn].sort());
  await switchTenant(off, false);
  const ofOff = claimed.filter(({ jobId }) => jobId === jobOff);
  assert.deepEqual(await worker.settle(ofOff, "succeeded"), ["lost"]);
});

Deno.test("a revoked account gets no job from a claim that waits", async () => {
  const [by] = await people(1) as [Actor];
  const { id, worker, client } = await account([by]);
  const waits = worker.claim([TYPE], LONG);
  await waiting();
  assert.equal((await systemAdmin.delete(`${ACCOUNTS}/${id}`)).status, 204);
  assert.deepEqual(await waits, []);
  assert.equal(refusal(await claimBy(client, [TYPE])), "401 TOKEN_REVOKED");
});

// In the database alone, as if the announcement had come before the claim waited: rights are cached for a second.
for (const change of ["was revoked", "lost a tenant"]) {
  Deno.test(`a claim whose account ${change} while it waited answers no job, and another worker gets it`, async () => {
    const [kept, lost] = await people(2) as [Actor, Actor];
    const ofLost = await declareType(lost);
    const { id, client } = await account([kept, lost]);
    const asked = claimBy(client, [TYPE], LONG);
    await waiting();
    await sql`update service_accounts set ${
      change === "was revoked" ? sql`revoked_at = now()` : sql`tenant_ids = ${[kept.tenantId ?? ""]}::uuid[]`
    } where id = ${id}`;
    const isKnown = async () => (await claimBy(client, [ofLost])).status !== 200;
    await until(isKnown);
    const job = await enqueueJob(lost, TYPE);
    const answer = await asked;
    if (change === "was revoked") assert.equal(refusal(answer), "401 TOKEN_REVOKED");
    else assert.deepEqual(answer.body.jobs, []);
    assert.deepEqual(await ids(new RemoteWorker(lost, "two").claim([TYPE], { waitSeconds: 30 })), [job]);
  });
}
