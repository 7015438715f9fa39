import assert from "node:assert/strict";
import { pruneEndedJobs } from "../../../domain/jobs/built_in/prune_jobs.ts";
import { enqueueJob as enqueueOwn } from "../../../domain/jobs/enqueue.ts";
import { foldCounts } from "../../../domain/jobs/statistics/fold_counts.ts";
import { transact } from "../../../infra/postgres/postgres.ts";
import { type Actor, setupShared } from "../../support/setup.ts";
import { addDeadLetters, assertHas, enqueueJob, idsOf, jobOf, JOBS } from "./job_calls.ts";

const t = await setupShared({ JOB_CONCURRENCY: "0" });
const { sql } = t.steward.platform;

const actor = await t.actor();
const outsider = await t.actor();
const ids: string[] = [];
const specs = [
  { priority: "Low", queue: "a" },
  { priority: "Critical", queue: "b" },
  { queue: "a", scheduledAt: "2050-01-02T00:00:00Z" },
  { priority: "High", queue: "b", scheduledAt: "2050-01-01T00:00:00Z" },
];
for (const spec of specs) ids.push(await enqueueJob(actor, "steward.echo", {}, spec));
ids.push(await enqueueJob(actor, "steward.sleep", { milliseconds: 1 }, { queue: "c" }));
const [low, critical, second, first, sleep] = ids as [string, string, string, string, string];
const search = async (query: string, who: Actor = actor, path = "") => {
  const { status, body, headers } = await who.get(`${JOBS}${path}?${query}`);
  assert.equal(status, 200, JSON.stringify(body));
  return { ...body, searchedFrom: headers.get("steward-searched-from") };
};
const listed = async (query: string, who?: Actor) => idsOf((await search(query, who)).items);
const counts = async (query: string, who?: Actor) =>
  (await search(query, who, "/counts")).statuses
    .map(({ status, count }: { status: string; count: number }) => `${count} ${status}`).join();

for (const folded of [false, true]) {
  Deno.test(`filters narrow items, totals and counts alike (counters ${folded ? "" : "not yet "}folded)`, async () => {
    if (folded) await foldCounts(sql, { always: true });
    const { items } = await search("ascending=true");
    const cases: [query: string, found: string[], counted: string][] = [
      ["", [sleep, first, second, critical, low], "3 Enqueued,2 Scheduled"],
      ["type=Delayed", [first, second], "2 Scheduled"],
      ["queue=b&priority=HIGH", [first], "1 Scheduled"],
      ["searchTerm=SLEEP", [sleep], "1 Enqueued"],
      ["searchTerm=%25", [], ""],
      [`from=${items[4].createdAt}`, [sleep], "1 Enqueued"],
      ["to=2020-01-01", [], ""],
      ["jobTypeName=steward", [], ""],
      [`createdBy=${actor.userId}&queue=b`, [first, critical], "1 Enqueued,1 Scheduled"],
    ];
    for (const [query, found, counted] of cases) {
      const { items, totalCount } = await search(query);
      const answered = [idsOf(items), totalCount, await counts(query)];
      assert.deepEqual(answered, [found, found.length, counted], query);
    }
    assert.deepEqual(await listed("status=enqueued"), [sleep, critical, low]);
    assert.equal((await search(`tenantId=${actor.tenantId}`, t.systemAdmin)).totalCount, 5);
  });
}

Deno.test("jobs are found by the trace of their request, in any case", async () => {
  const traceparent = `00-${"ab".repeat(16)}-${"cd".repeat(8)}-01`;
  const { body } = await actor.post(JOBS, jobOf("steward.echo", {}, { queue: "traced" }), { traceparent });
  const query = `traceId=${"AB".repeat(16)}`;
  assert.deepEqual(await listed(query), [body.id]);
  assert.equal(await counts(query), "1 Enqueued");
  await sql`delete from jobs where id = ${body.id}`;
});

Deno.test("hideInternal leaves out jobs of types that only the service enqueues", async () => {
  const { platform } = t.steward;
  const { tenantId } = actor;
  const own = await transact(sql, (tx) => enqueueOwn(platform, tx, pruneEndedJobs, {}, { tenantId }));
  assert.deepEqual(await listed("hideInternal=false"), [own, ...ids.toReversed()]);
  assert.deepEqual(await listed("hideInternal=true"), ids.toReversed());
  assert.equal((await search("hideInternal=true")).totalCount, 5);
  await sql`delete from jobs where id = ${own}`;
});

Deno.test("the dashboard counts the tenant's jobs; for a system administrator all jobs", async () => {
  const stats = (who: Actor, query = "") =>
    who.get(`${JOBS}/dashboard/stats${query}`).then(({ body }) => body);
  const own = await stats(actor);
  const counted = Object.entries(own).filter(([, count]) => count !== 0);
  assert.deepEqual(counted, [["totalJobs", 5], ["enqueuedJobs", 3], ["scheduledJobs", 2]]);
  const all = await stats(t.systemAdmin);
  assert.ok(all.totalJobs >= 5 && all.recurringJobs >= 1);
  assert.deepEqual(await stats(t.systemAdmin, `?tenantId=${actor.tenantId}`), own);
});

Deno.test("failed and dead-lettered jobs are found by a part of their error, alone and with other filters", async () => {
  const by = await t.actor();
  await addDeadLetters(sql, by.tenantId, ["The DISK is full", "HTTP 409: name taken", "x"]);
  const well = await enqueueJob(by, "steward.echo");
  await sql`update jobs set last_error = 'disk', status = 'Succeeded' where id = ${well}`; // after a failure
  const found = async (query: string) =>
    (await search(query, by)).items.map(({ lastError }: { lastError: string }) => lastError).join();
  const hourAgo = new Date(Date.now() - 3_600_000).toISOString();
  const cases: [query: string, errors: string][] = [
    ["errorContains=disk%20is", "The DISK is full"],
    ["errorContains=409&status=DeadLettered&orderBy=CompletedAt", "HTTP 409: name taken"],
    ["errorContains=409&status=Failed", ""],
    ["errorContains=%25", ""], // a character like others
    [`errorContains=x&from=${hourAgo}`, "x"],
    [`errorContains=x&to=${hourAgo}`, ""],
  ];
  for (const [query, errors] of cases) assert.equal(await found(query), errors, query);
  assert.equal(await counts("errorContains=disk", by), "1 DeadLettered");
  assert.deepEqual(await listed("errorContains=disk", outsider), []);
});

Deno.test("a search in errors covers the last 5,000 failed jobs and dead letters, or all since a given time", async () => {
  const by = await t.actor();
  const errors = Array.from({ length: 5_002 }, (_, n) => n < 2 ? "Disk full" : `Order ${n} failed`);
  await addDeadLetters(sql, by.tenantId, errors);
  await sql`
    with numbered as (select id, row_number() over (order by id) as n from jobs where tenant_id = ${by.tenantId})
    update jobs j set priority = n % 4, status = case when n % 2 = 0 then 'Failed' else status::text end::job_status
    from numbered where j.id = numbered.id`;
  const long = encodeURIComponent(new Date(Date.now() - 86_400_000).toISOString());
  for (const [list, from] of [["jobs", "from"], ["dead-letter-jobs", "failedFrom"]] as const) {
    const [third] = await sql<{ at: Date }[]>`select uuid_extract_timestamp(id) as at
      from ${sql(list.replaceAll("-", "_"))} where tenant_id = ${by.tenantId} order by id limit 1 offset 2`;
    const find = (query: string) => search(query, by, `/../${list}`);
    const limited = await find("errorContains=disk");
    assertHas(limited, { totalCount: 0, searchedFrom: third?.at.toISOString() });
    assertHas(await find(`errorContains=disk&${from}=${long}`), { totalCount: 2, searchedFrom: null });
    const many = await find("errorContains=ORDER&page=2&pageSize=2");
    assert.equal(many.totalCount, 5_000, list);
    const found = many.items.map((item: Record<string, string>) => item.lastError ?? item.errorMessage);
    assert.deepEqual(found, ["Order 4999 failed", "Order 4998 failed"]);
  }
  const first = async (query: string) =>
    (await search(`errorContains=order&pageSize=1&${query}`, by)).items[0];
  assertHas(await search("errorContains=disk&status=Failed", by), { totalCount: 1, searchedFrom: null });
  assert.equal((await first("orderBy=Status&ascending=true")).status, "Failed");
  assert.equal((await first("orderBy=Priority&ascending=true")).priority, "Low");
  assert.equal((await first("orderBy=Priority")).priority, "Critical");
  assert.equal(await counts("errorContains=order", by), "2500 Failed,2500 DeadLettered");
  assert.ok((await search("errorContains=order", by, "/counts")).searchedFrom);
  assert.equal((await search("errorContains=order&status=Succeeded", by)).totalCount, 0);
});
