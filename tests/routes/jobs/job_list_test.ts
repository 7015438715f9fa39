import assert from "node:assert/strict";
import { foldCounts } from "../../../domain/jobs/fold_counts.ts";
import { pruneEndedJobs } from "../../../domain/jobs/built_in/prune_jobs.ts";
import { enqueueJob } from "../../../domain/jobs/enqueue.ts";
import { transact } from "../../../infra/postgres/postgres.ts";
import { setupShared } from "../../support/setup.ts";

const t = await setupShared({ JOB_CONCURRENCY: "0" });
Deno.test.afterAll(() => t.stop());
const { sql } = t.steward.platform;

const actor = await t.actor();
const outsider = await t.actor();
const url = "/api/v1/jobs";
const ids: string[] = [];
const specs = [
  { priority: "Low", queue: "a" },
  { priority: "Critical", queue: "b" },
  { priority: "Normal", queue: "a", scheduledAt: "2050-01-02T00:00:00Z" },
  { priority: "High", queue: "b", scheduledAt: "2050-01-01T00:00:00Z" },
  { priority: "Normal", queue: "c", jobTypeName: "steward.sleep", serializedArgs: '{"milliseconds":1}' },
];
for (const spec of specs) {
  ids.push((await actor.post(url, { jobTypeName: "steward.echo", serializedArgs: "1", ...spec })).body.id);
}
const [low, critical, second, first, sleep] = ids as [string, string, string, string, string];
const listed = async (query: string, who = actor) => {
  const { status, body } = await who.get(`${url}?${query}`);
  assert.equal(status, 200, JSON.stringify(body));
  return body.items.map((job: { id: string }) => job.id);
};

for (const folded of [false, true]) {
  Deno.test(`filters narrow items and totalCount alike (counters ${folded ? "" : "not yet "}folded)`, async () => {
    if (folded) await foldCounts(sql, { always: true });
    assert.deepEqual(await listed(""), [sleep, first, second, critical, low]);
    assert.deepEqual(await listed("ascending=true"), ids);
    assert.deepEqual(await listed("status=enqueued"), [sleep, critical, low]);
    assert.deepEqual(await listed("status=Scheduled&type=Delayed"), [first, second]);
    assert.deepEqual(await listed("type=Recurring"), []);
    assert.deepEqual(await listed("queue=b&priority=HIGH"), [first]);
    assert.deepEqual(await listed("searchTerm=SLEEP"), [sleep]);
    assert.deepEqual(await listed("searchTerm=%25"), []);
    assert.deepEqual(await listed("", outsider), []);
    const { body } = await actor.get(`${url}?queue=a&pageSize=1&page=2`);
    assert.deepEqual(
      [body.totalCount, body.totalPages, body.pageNumber, body.pageSize, body.hasNext, body.hasPrevious],
      [2, 2, 2, 1, false, true],
    );
    assert.deepEqual(body.items.map((job: { id: string }) => job.id), [low]);
    const beyond = (await actor.get(`${url}?page=9`)).body;
    assert.deepEqual([beyond.items, beyond.totalCount, beyond.hasNext, beyond.hasPrevious], [
      [],
      5,
      false,
      true,
    ]);
    assert.equal((await t.systemAdmin.get(`${url}?tenantId=${actor.tenantId}`)).body.totalCount, 5);
  });
}

Deno.test("every order is total in both directions, with null times last", async () => {
  assert.deepEqual(await listed("orderBy=Priority"), [critical, first, sleep, second, low]);
  assert.deepEqual(await listed("orderBy=priority&ascending=true"), [low, second, sleep, first, critical]);
  assert.deepEqual(await listed("orderBy=ScheduledAt&ascending=true"), [first, second, low, critical, sleep]);
  assert.deepEqual(await listed("orderBy=ScheduledAt"), [second, first, sleep, critical, low]);
  assert.deepEqual(await listed("orderBy=Status&ascending=true"), [low, critical, sleep, second, first]);
  assert.deepEqual(await listed("orderBy=StartedAt"), [sleep, first, second, critical, low]);
  assert.deepEqual(await listed("orderBy=CompletedAt"), [sleep, first, second, critical, low]);
  const pages = await Promise.all([1, 2, 3].map((page) => listed(`orderBy=Status&pageSize=2&page=${page}`)));
  assert.deepEqual(new Set(pages.flat()), new Set(ids));
});

Deno.test("creation time, type, creator and trace narrow the list and the counts by status", async () => {
  const { items } = (await actor.get(`${url}?ascending=true`)).body;
  const [at, end] = [items[1].createdAt, items[3].createdAt];
  const within = items.filter(({ createdAt }: { createdAt: string }) => createdAt >= at && createdAt <= end)
    .map(({ id }: { id: string }) => id);
  assert.ok(within.includes(critical) && within.includes(first), "both times are inclusive");
  assert.deepEqual(await listed(`ascending=true&from=${at}&to=${end}`), within);
  assert.deepEqual(await listed(`from=${items[4].createdAt}`), [sleep]);
  assert.deepEqual(await listed("to=2020-01-01"), []);
  assert.deepEqual(await listed("jobTypeName=steward.sleep"), [sleep]);
  assert.deepEqual(await listed("jobTypeName=steward"), []);
  assert.deepEqual(await listed(`createdBy=${actor.userId}&ascending=true`), ids);
  assert.deepEqual(await listed(`createdBy=${actor.userId}&queue=b`), [first, critical]);
  assert.deepEqual(await listed(`createdBy=${outsider.userId}`), []);
  assert.deepEqual(await listed(`createdBy=${actor.userId}`, outsider), []);
  const traceparent = `00-${"ab".repeat(16)}-${"cd".repeat(8)}-01`;
  const traced = await actor.post(url, { jobTypeName: "steward.echo", queue: "traced" }, { traceparent });
  const query = `traceId=${"AB".repeat(16)}`;
  assert.deepEqual(await listed(query), [traced.body.id]);
  assert.deepEqual(await listed(query, outsider), []);
  assert.deepEqual(await listed(`traceId=${"0".repeat(32)}`), []);
  const counts = async (query: string) => (await actor.get(`${url}/counts?${query}`)).body.statuses;
  assert.deepEqual(await counts(`createdBy=${actor.userId}&queue=b`), [
    { status: "Enqueued", count: 1 },
    { status: "Scheduled", count: 1 },
  ]);
  assert.deepEqual(await counts(query), [{ status: "Enqueued", count: 1 }]);
  await sql`delete from jobs where id = ${traced.body.id}`;
});

Deno.test("hideInternal leaves out jobs of types that only the service enqueues", async () => {
  await transact(
    sql,
    (tx) => enqueueJob(t.steward.platform, tx, pruneEndedJobs, {}, { tenantId: actor.tenantId }),
  );
  const [internal] = await listed("");
  assert.deepEqual(await listed("hideInternal=false"), [internal, ...ids.toReversed()]);
  assert.deepEqual(await listed("hideInternal=true"), ids.toReversed());
  assert.equal((await actor.get(`${url}?hideInternal=true`)).body.totalCount, 5);
  await sql`delete from jobs where id = ${internal}`;
});

Deno.test("invalid list parameters are rejected", async () => {
  for (
    const query of [
      "status=Nope",
      "type=x",
      "priority=9",
      "orderBy=jobTypeName",
      "ascending=maybe",
      "page=0",
      "pageSize=101",
      "pageSize=1e1",
      "tenantId=x",
      "queue=%00",
      "from=yesterday",
      "to=2026-13-01",
      "hideInternal=maybe",
      "createdBy=x",
      "traceId=abc",
      `traceId=${"g".repeat(32)}`,
      `jobTypeName=${"x".repeat(201)}`,
    ]
  ) {
    const { status, body } = await actor.get(`${url}?${query}`);
    assert.equal(status, 400, query);
    assert.equal(body.code, "VALIDATION_ERROR", query);
  }
});

Deno.test("the dashboard counts the tenant's jobs; for a system administrator all jobs", async () => {
  const stats = (await actor.get(`${url}/dashboard/stats`)).body;
  assert.deepEqual(stats, {
    totalJobs: 5,
    enqueuedJobs: 3,
    processingJobs: 0,
    succeededJobs: 0,
    failedJobs: 0,
    deadLetteredJobs: 0,
    scheduledJobs: 2,
    recurringJobs: 0,
    averageExecutionDurationMs: 0,
    totalExecutions: 0,
  });
  assert.equal((await outsider.get(`${url}/dashboard/stats`)).body.totalJobs, 0);
  const all = (await t.systemAdmin.get(`${url}/dashboard/stats`)).body;
  assert.ok(all.totalJobs >= 5 && all.recurringJobs >= 1);
  const one = (await t.systemAdmin.get(`${url}/dashboard/stats?tenantId=${actor.tenantId}`)).body;
  assert.deepEqual(one, stats);
});
