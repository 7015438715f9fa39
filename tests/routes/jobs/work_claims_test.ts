import assert from "node:assert/strict";
import { claimWork } from "../../../domain/jobs/remote/claim_work.ts";
import { WorkPolls } from "../../../domain/jobs/remote/work_polls.ts";
import type { Caller } from "../../../domain/rights/caller.ts";
import { createLog } from "../../../infra/log.ts";
import { HttpClient } from "../../support/http.ts";
import { inOneInstance } from "../../support/in_one_instance.ts";
import { accepted } from "../../support/outcomes.ts";
import { RemoteWorker, type WorkItem } from "../../support/remote_work.ts";
import { type Actor, setupShared } from "../../support/setup.ts";
import { until } from "../../support/until.ts";
import {
  declareType,
  enqueueJob,
  enqueueMany,
  jobIdsOf,
  JOBS,
  refusal,
  WORKER_PERMISSIONS as permissions,
} from "./job_calls.ts";

const t = await setupShared({}, { inThisProcess: true });
const { sql } = t.steward.platform;
const tenant = await t.actor({ permissions });
const worker = new RemoteWorker(tenant, "one");

const declare = (type: Record<string, unknown> = {}) => declareType(tenant, type);
const enqueue = (type: string, args: unknown = {}, more = {}) => enqueueJob(tenant, type, args, more);
const polls = () => t.instances.reduce((sum, { platform }) => sum + platform.workPolls.size, 0);
const waiting = (count: number) => until(polls, (found) => found >= count);

Deno.test("few jobs are spread over the polls that wait for them, and two claims never share a job", async () => {
  const type = await declare();
  const claims = Array.from({ length: 3 }, () => worker.claim([type], { waitSeconds: 30, max: 50 }));
  await waiting(3);
  // its answer shows that the search for the first polls alone has ended
  assert.deepEqual(await worker.claim([type], { max: 1 }), []);
  const ids = await enqueueMany(tenant, type, Array(12).fill({}));
  const taken = await Promise.all(claims);
  assert.deepEqual(taken.map((jobs) => jobs.length), [4, 4, 4]);
  assert.deepEqual(jobIdsOf(taken.flat()).sort(), ids.sort());
  const drained: string[] = [];
  const more = await enqueueMany(tenant, type, Array(10).fill({}));
  await Promise.all(Array.from({ length: 3 }, async () => {
    for (let jobs: WorkItem[]; (jobs = await worker.claim([type], { max: 3 })).length > 0;) {
      drained.push(...jobIdsOf(jobs));
      assert.ok((await worker.settle(jobs, "succeeded")).every((verdict) => verdict === "settled"));
    }
  }));
  assert.deepEqual(drained.sort(), more.sort());
  assert.deepEqual(await worker.claim([type], { waitSeconds: 0.01 }), [], "none after the wait");
});

Deno.test("a claim names queues, priorities are kept, and max bounds it", async () => {
  const type = await declare();
  const slow = (priority?: string) => enqueue(type, {}, { queue: "slow", priority });
  const [low, normal, critical] = [await slow("Low"), await slow(), await slow("Critical")];
  await enqueue(type, {}, { queue: "other" });
  assert.deepEqual(jobIdsOf(await worker.claim([type], { queues: ["slow"], max: 1 })), [critical]);
  assert.deepEqual(jobIdsOf(await worker.claim([type], { queues: ["slow"] })), [normal, low]);
});

Deno.test("a claim that does not wait finds its queue among more lanes than one search finds", async () => {
  const type = await declare();
  const items = Array.from({ length: 1_000 }, (_, n) => ({ jobTypeName: type, queue: `a${n}` }));
  assert.equal((await tenant.post(`${JOBS}/bulk`, { items })).body.succeeded, 1_000);
  const last = { queues: ["zzz"], max: 1 };
  for (const id of await enqueueMany(tenant, type, [1, 2], { queue: "zzz" })) {
    assert.deepEqual(jobIdsOf(await worker.claim([type], last)), [id]);
  }
  assert.deepEqual(await worker.claim([type], last), []);
  assert.equal((await worker.claim([type], { queues: ["a7"] })).length, 1);
  await sql`delete from jobs where job_type_name = ${type}`;
});

Deno.test("a repeated claim with its requestId gets the same jobs while they are held", async () => {
  const type = await declare();
  const ids = await enqueueMany(tenant, type, [1, 2]);
  const claim = { requestId: crypto.randomUUID() };
  const claimed = async () =>
    (await worker.claim([type], claim)).map(({ jobId, attempt }) => `${jobId} ${attempt}`).sort();
  const jobs = (await worker.claim([type], claim)).toSorted((a, b) => a.jobId < b.jobId ? -1 : 1);
  const expected = ids.sort().map((id) => `${id} 1`);
  assert.deepEqual(jobIdsOf(jobs), ids);
  assert.deepEqual(await claimed(), expected);
  await worker.settle(jobs.slice(0, 1), "succeeded");
  assert.deepEqual(await claimed(), expected.slice(1));
  await worker.settle(jobs, "succeeded");
  assert.deepEqual(await claimed(), []);
});

inOneInstance(
  "simultaneous claims with one requestId get the same jobs",
  "polls wait in the memory of an instance",
  async () => {
    const type = await declare();
    const ids = await enqueueMany(tenant, type, [1, 2, 3]);
    for (const waitSeconds of [0, 30]) {
      const claim = { requestId: crypto.randomUUID(), waitSeconds };
      const answers = await Promise.all(Array.from({ length: 3 }, () => worker.claim([type], claim)));
      for (const jobs of answers) assert.deepEqual(jobIdsOf(jobs).toSorted(), ids.toSorted());
      await worker.settle(answers[0] ?? [], "released");
    }
  },
);

Deno.test("simultaneous claims with one requestId at two instances get the same jobs, and only these are held", async () => {
  const [free, limited] = [await declare(), await declare({ concurrency: 4 })];
  const types = [free, limited];
  const other = new WorkPolls({ sql, log: createLog("warn", () => {}), leaseSeconds: 60, onClaimed() {} });
  const caller = { userId: tenant.userId, tenantId: tenant.tenantId, serviceAccount: null } as Caller;
  for (let round = 0; round < 12; round++) {
    await Promise.all(types.map((type) => enqueueMany(tenant, type, Array(4).fill({}))));
    const waitSeconds = round % 2 * 30;
    const asked = { types, queues: null, max: 2, waitSeconds, worker: "two", program: null };
    const request = { ...asked, requestId: crypto.randomUUID() };
    const answers = await Promise.all(
      [t.steward.platform.workPolls, other].map((workPolls) =>
        claimWork({ sql, workPolls }, caller, request, {
          gone: new AbortController().signal,
          renew: () => Promise.resolve(caller),
        })
      ),
    );
    const [one = [], two] = answers.map((jobs) => jobs.map(({ jobId }) => jobId).toSorted());
    assert.ok(one.length > 0);
    assert.deepEqual(two, one);
    const held = await sql`select id from jobs where job_type_name = any(${types}) and status = 'Processing'`;
    assert.deepEqual(held.map(({ id }) => id).toSorted(), one);
    await sql`delete from jobs where job_type_name = any(${types})`;
  }
  await other.stop();
});

inOneInstance(
  "a repeated claim ends the waiting one, so that it takes no jobs for a client that has gone",
  "polls wait in the memory of an instance",
  async () => {
    const type = await declare();
    const claim = { requestId: crypto.randomUUID(), waitSeconds: 50 };
    const first = worker.claim([type], claim);
    await waiting(1);
    assert.deepEqual(await worker.claim([type], { ...claim, waitSeconds: 0 }), []);
    assert.deepEqual(await first, []);
  },
);

Deno.test("a type with a concurrency never runs more at once, and other types go on", async () => {
  const [limited, free] = [await declare({ concurrency: 3 }), await declare()];
  await enqueueMany(tenant, limited, Array(9).fill({}));
  const claims = [1, 2, 3].map((n) => new RemoteWorker(tenant, `w${n}`).claim([limited]));
  const held = (await Promise.all(claims)).flat();
  assert.equal(held.length, 3);
  const id = await enqueue(free);
  assert.deepEqual(jobIdsOf(await worker.claim([limited, free])), [id]);
  const claim = worker.claim([limited], { waitSeconds: 30 });
  await worker.settle(held, "succeeded");
  const next = await claim;
  const more = (await Promise.all([1, 2, 3].map(() => worker.claim([limited])))).flat();
  assert.equal(next.length + more.length, 3);
});

Deno.test("of a type's concurrency, a tenant gets no more than half while others wait", async () => {
  const platform = await t.actor({ role: "SystemAdmin", global: true });
  const type = await declareType(platform, { concurrency: 4 });
  const everywhere = new RemoteWorker(platform, "all");
  const quiet = await t.actor({ permissions });
  await enqueueMany(tenant, type, Array(8).fill({}));
  const held = await everywhere.claim([type], { max: 50 });
  assert.equal(held.length, 4);
  await enqueueMany(quiet, type, Array(4).fill({}));
  const next: (string | null)[] = [];
  for (const job of held.slice(0, 3)) {
    await everywhere.settle([job], "succeeded");
    next.push(...(await everywhere.claim([type])).map(({ tenantId }) => tenantId));
  }
  assert.deepEqual(next, [quiet.tenantId, quiet.tenantId, tenant.tenantId]);
});

Deno.test("a claim answers at most 4 MiB of arguments, and at least one job", async () => {
  const type = await declare();
  for (let n = 0; n < 6; n++) await enqueue(type, "x".repeat(900_000));
  assert.equal((await worker.claim([type])).length, 4);
  assert.equal((await worker.claim([type])).length, 2);
});

Deno.test("a claim whose client has gone leaves no poll behind", async () => {
  const type = await declare();
  const gone = new AbortController();
  const request = fetch(`${tenant.baseUrl}/api/v1/work/claim`, {
    method: "POST",
    headers: { authorization: `Bearer ${tenant.token}`, "content-type": "application/json" },
    body: JSON.stringify({ types: [type], worker: "gone", waitSeconds: 50 }),
    signal: gone.signal,
  }).catch(() => null);
  await waiting(1);
  gone.abort();
  await request;
  await until(() => polls() === 0);
  const id = await enqueue(type);
  assert.deepEqual(jobIdsOf(await worker.claim([type], { waitSeconds: 30 })), [id]);
});

Deno.test("jobs claimed for a client that has gone are given back, or found by the requestId", async () => {
  const type = await declare();
  const id = await enqueue(type);
  const asked = {
    program: null,
    types: [type],
    queues: null,
    max: 1,
    worker: "gone",
    workerId: crypto.randomUUID(),
    served: { tenantIds: [tenant.tenantId ?? ""] },
    caller: { userId: tenant.userId, serviceAccount: null },
  };
  const read = async () => (await sql`select status, attempts from jobs where id = ${id}`)[0];
  for (const requestId of [null, crypto.randomUUID()]) {
    const before = (await read())?.attempts;
    const leave = async () => {
      const gone = new AbortController();
      const answer = t.steward.platform.workPolls.wait({ ...asked, requestId }, 1_000, gone.signal);
      gone.abort(); // usually the search has begun
      assert.deepEqual(await answer, []);
      return await read();
    };
    const status = requestId === null ? "Enqueued" : "Processing";
    await until(leave, (row) => row?.attempts > before && row?.status === status);
  }
});

// Service accounts, which serve several tenants.
const { systemAdmin } = t;
const ACCOUNTS = "/api/v1/service-accounts";
const TYPE = await declareType(await t.actor({ role: "SystemAdmin", global: true }), {}, "accounts.work");
const LONG = { waitSeconds: 50 };

async function account(tenants: "all" | Actor[]) {
  const of = tenants === "all" ? "all" : tenants.map(({ tenantId }) => tenantId);
  const asked = { name: "Worker", permissions: ["work:jobs"], tenants: of };
  const { id, secret } = await accepted(systemAdmin.post(ACCOUNTS, asked), 201);
  const client = new HttpClient(t.url, secret);
  return { id: id as string, client, worker: new RemoteWorker(client, "one") };
}
const people = (count: number) => Promise.all(Array.from({ length: count }, () => t.actor({ permissions })));
const inTenant = ({ tenantId }: Actor) => ({ "x-tenant-id": tenantId ?? "" });
const switchTenant = async ({ tenantId }: Actor, isActive: boolean) =>
  assert.equal((await systemAdmin.put(`/api/v1/tenants/${tenantId}`, { isActive })).status, 200);
const ids = async (claim: ReturnType<RemoteWorker["claim"]>) => jobIdsOf(await claim).sort();
const claimBy = (client: HttpClient, types: string[], more = {}) =>
  client.post("/api/v1/work/claim", { types, worker: "one", ...more });

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
    await waiting(1);
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
  await waiting(1);
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
    await waiting(1);
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
