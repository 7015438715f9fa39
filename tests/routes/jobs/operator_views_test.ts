import assert from "node:assert/strict";
import { type Actor, setup } from "../../support/setup.ts";
import { until } from "../../support/until.ts";

const t = await setup();
Deno.test.afterAll(() => t.stop());
const { sql } = t.steward.platform;

/** A job that fails with a message and becomes a dead letter. */
async function failedJob(actor: Actor, message: string): Promise<string> {
  const { body } = await actor.post("/api/v1/jobs", {
    jobTypeName: "steward.fail",
    serializedArgs: JSON.stringify({ message }),
    maxRetries: 0,
  });
  assert.equal(await t.settled(body.id), "DeadLettered");
  return body.id;
}
const idsOf = (items: { id: string }[]) => items.map(({ id }) => id).sort();

Deno.test("failed and dead-lettered jobs are found by a part of their error, alone and with other filters", async () => {
  const actor = await t.actor();
  const disk = await failedJob(actor, "The DISK is full");
  const [name, other] = [await failedJob(actor, "HTTP 409: name taken"), await failedJob(actor, "x")];
  const { body: well } = await actor.post("/api/v1/jobs", {
    jobTypeName: "steward.echo",
    serializedArgs: "{}",
  });
  await t.settled(well.id);
  await sql`update jobs set last_error = 'disk' where id = ${well.id}`; // succeeded after a failure
  const found = async (query: string) => {
    const { status, body } = await actor.get(`/api/v1/jobs?${query}`);
    assert.equal(status, 200, JSON.stringify(body));
    assert.equal(body.totalCount, body.items.length);
    return idsOf(body.items);
  };
  assert.deepEqual(await found("errorContains=disk%20is"), [disk]);
  assert.deepEqual(await found("errorContains=409"), [name]);
  assert.deepEqual(await found("errorContains=409&status=DeadLettered&orderBy=CompletedAt"), [name]);
  assert.deepEqual(await found("errorContains=409&status=Failed"), []);
  assert.deepEqual(await found("errorContains=%25"), [], "a percent sign is a character like others");
  const hourAgo = new Date(Date.now() - 3_600_000).toISOString();
  assert.deepEqual(await found(`errorContains=x&from=${hourAgo}`), [other].sort());
  assert.deepEqual(await found(`errorContains=x&to=${hourAgo}`), []);
  const { body: { statuses } } = await actor.get("/api/v1/jobs/counts?errorContains=disk");
  assert.deepEqual(statuses, [{ status: "DeadLettered", count: 1 }]);
  const outsider = await t.actor();
  assert.equal((await outsider.get("/api/v1/jobs?errorContains=disk")).body.totalCount, 0);
});

Deno.test("dead letters are found by error and time; a group shows the error of its last one, with its status code", async () => {
  const actor = await t.actor();
  for (const message of ["HTTP 409 for order 1", "HTTP 409 for order 22", "HTTP 500 for order 3"]) {
    await failedJob(actor, message);
  }
  const list = async (query: string) => (await actor.get(`/api/v1/dead-letter-jobs?${query}`)).body;
  assert.equal((await list("errorContains=order%2022")).totalCount, 1);
  const [{ failedAt, tenantId }] = (await list("errorContains=409")).items;
  assert.equal(tenantId, actor.tenantId);
  assert.equal((await list(`failedFrom=${failedAt}`)).items.at(-1).failedAt, failedAt);
  assert.equal((await list(`failedTo=${new Date(0).toISOString()}`)).totalCount, 0);
  const { body: { items: groups } } = await actor.get("/api/v1/dead-letter-jobs/groups");
  assert.deepEqual(
    groups.map(({ errorPattern, exampleError, count }: Record<string, unknown>) => [
      errorPattern,
      exampleError,
      count,
    ]),
    [
      ["HTTP 409 for order #", "HTTP 409 for order 22", 2],
      ["HTTP 500 for order #", "HTTP 500 for order 3", 1],
    ],
  );
});

Deno.test("a dead letter is discarded once; one that was retried stays", async () => {
  const actor = await t.actor();
  const [job, retried] = [await failedJob(actor, "a"), await failedJob(actor, "b")];
  const detail = async (id: string) => (await actor.get(`/api/v1/jobs/${id}`)).body;
  const { deadLetter, names } = await detail(job);
  assert.deepEqual([deadLetter.retriedAt, deadLetter.retriedJobId], [null, null]);
  assert.ok(names[actor.userId], "the creator's name");
  const { body: again } = await actor.post(`/api/v1/jobs/${retried}/retry`);
  const kept = (await detail(retried)).deadLetter;
  assert.equal(kept.retriedJobId, again.id);
  const discard = (id: string) => actor.delete(`/api/v1/dead-letter-jobs/${id}`);
  const refused = await discard(kept.id);
  assert.deepEqual([refused.status, refused.body.code], [400, "JOB_DEADLETTER_ALREADY_RETRIED"]);
  const path = `/api/v1/dead-letter-jobs/${deadLetter.id}`;
  const etag = (await actor.get(path)).headers.get("etag") ?? "";
  assert.notEqual((await actor.get(`/api/v1/dead-letter-jobs/${kept.id}`)).headers.get("etag"), etag);
  const outdated = await actor.delete(path, { "if-match": '"9"' });
  assert.deepEqual([outdated.status, outdated.body.code], [412, "PRECONDITION_FAILED"]);
  const both = await Promise.all([discard(deadLetter.id), discard(deadLetter.id)]);
  assert.deepEqual(both.map(({ status }) => status).sort(), [204, 404]);
  assert.equal((await detail(job)).deadLetter, null);
  const { body: { openDeadLetters } } = await actor.get("/api/v1/operations/overview");
  const { body: open } = await actor.get("/api/v1/dead-letter-jobs?isRetried=false");
  assert.equal(openDeadLetters, open.totalCount);
  const reader = await t.actor({ tenantId: actor.tenantId ?? "", permissions: ["read:users"] });
  const { body: { items: [entry] } } = await reader.get("/api/v1/audit-log?action=deadLetter.discard");
  assert.deepEqual(entry.before, { jobId: job, jobTypeName: "steward.fail" });
});

Deno.test("all pauses are listed with their reason: the tenant's own, and those for all", async () => {
  const actor = await t.actor({ permissions: ["manage:jobs"] });
  await actor.post("/api/v1/jobs/queues/mail/pause", { reason: "The provider is down" });
  await actor.post("/api/v1/job-types/steward.sleep/pause");
  const { body } = await actor.get("/api/v1/jobs/pauses");
  assert.deepEqual(
    body.map(({ kind, name, scope, reason }: Record<string, unknown>) => [kind, name, scope, reason]),
    [["queue", "mail", "tenant", "The provider is down"], ["type", "steward.sleep", "tenant", null]],
  );
  assert.deepEqual((await (await t.actor()).get("/api/v1/jobs/pauses")).body, []);
});

Deno.test("workers are listed with their program and the jobs that they hold", async () => {
  const { body: { id } } = await t.systemAdmin.post("/api/v1/jobs", {
    jobTypeName: "steward.sleep",
    serializedArgs: JSON.stringify({ milliseconds: 20_000 }),
    queue: "slow",
  });
  type Worker = { isRemote: boolean; program: string; holds: number; jobs: { id: string; queue: string }[] };
  const holder = await until(
    async () =>
      (await t.systemAdmin.get("/api/v1/jobs/workers")).body.find(({ jobs }: Worker) =>
        jobs.some((job) => job.id === id)
      ) as Worker | undefined,
  );
  assert.match(holder?.program ?? "", /^Steward\/\d+\.\d+\.\d+ Deno\/\d/);
  assert.equal(holder?.isRemote, false);
  assert.equal(holder?.holds, holder?.jobs.length);
  assert.equal(holder?.jobs.find((job) => job.id === id)?.queue, "slow");
  await t.systemAdmin.post(`/api/v1/jobs/${id}/request-cancel`);
});
