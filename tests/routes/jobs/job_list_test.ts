import assert from "node:assert/strict";
import { z } from "zod";
import { pruneEndedJobs } from "../../../domain/jobs/built_in/prune_jobs.ts";
import { enqueueJob as enqueueOwn } from "../../../domain/jobs/enqueue.ts";
import { defineJob } from "../../../domain/jobs/job_type.ts";
import { foldCounts } from "../../../domain/jobs/statistics/fold_counts.ts";
import { transact } from "../../../infra/postgres/postgres.ts";
import { accepted } from "../../support/outcomes.ts";
import { type Actor, setupShared } from "../../support/setup.ts";
import {
  addDeadLetters,
  assertHas,
  enqueueJob,
  enqueueMany,
  idsOf,
  jobOf,
  JOBS,
  RECURRING,
} from "./job_calls.ts";

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
  const answer = await who.get(`${JOBS}${path}?${query}`);
  return { ...await accepted(answer, 200), searchedFrom: answer.headers.get("steward-searched-from") };
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

const invoice = defineJob({
  name: "test.invoice",
  args: z.object({
    invoiceId: z.string(),
    customer: z.object({ id: z.int() }).optional(),
    tags: z.array(z.string()).optional(),
    token: z.string().optional(),
    note: z.string().optional(),
  }),
  exposed: true,
  searchableArgs: ["invoiceId", "customer.id", "tags", "token"],
  secretArgs: [{ path: "token" }],
  run: () => null,
});
t.platform.jobTypes.register(invoice);
const clerk = await t.actor({ permissions: ["manage:job-types"] });

const enqueue = (args: unknown, who = clerk, type = invoice.name) => enqueueJob(who, type, args);
const foundBy = async (query: string, who = clerk) => {
  const { items, totalCount } = await search(query, who);
  assert.equal(totalCount, items.length);
  return idsOf(items);
};

Deno.test("jobs are found by the values of searchable arguments, within the tenant", async () => {
  const more = { tags: ["a", "b"], token: "s3cret", note: "n" };
  const first = await enqueue({ invoiceId: "4711", customer: { id: 7 }, ...more });
  const second = await enqueue({ invoiceId: "4712", customer: { id: 7 }, note: "x".repeat(300) });
  const foreign = await enqueue({ invoiceId: "4711" }, outsider);
  assert.deepEqual(await foundBy("args.invoiceId=4711"), [first]);
  assert.deepEqual(await foundBy("args.customer.id=7"), [second, first]);
  const ordered = "args.customer.id=7&orderBy=StartedAt&ascending=true&queue=default";
  assert.deepEqual(await foundBy(ordered), [first, second]);
  assert.deepEqual(await foundBy("args.tags=b"), [first]);
  assert.deepEqual(await foundBy("args.invoiceId=471"), []);
  assert.deepEqual(await foundBy("args.invoiceId="), [second, first], "an empty value counts as absent");
  assert.deepEqual(await foundBy("args.note=n"), [], "an argument without a mark");
  assert.deepEqual(await foundBy("args.token=s3cret"), [], "a secret");
  assert.deepEqual(await foundBy("args.invoiceId=4711", outsider), [foreign]);
  assert.deepEqual(await foundBy(`args.invoiceId=4711&tenantId=${outsider.tenantId}`, t.systemAdmin), [
    foreign,
  ]);
  const { body } = await clerk.get(`${JOBS}/counts?args.customer.id=7`);
  assert.deepEqual(body.statuses, [{ status: "Enqueued", count: 2 }]);
});

Deno.test("jobs of the service itself, in bulk, from schedules and retries are found too", async () => {
  const { tenantId } = clerk;
  const args = { invoiceId: "internal" };
  const own = await transact(sql, (tx) => enqueueOwn(t.platform, tx, invoice, args, { tenantId }));
  assert.deepEqual(await foundBy("args.invoiceId=internal"), [own]);
  const tagged = ["1", "2"].map((invoiceId) => ({ invoiceId, tags: ["bulk"] }));
  const bulk = await enqueueMany(clerk, invoice.name, tagged);
  assert.deepEqual(await foundBy("args.tags=bulk"), bulk.toReversed());
  const timing = { jobId: "invoices", cronExpression: "0 0 1 1 *" };
  await clerk.post(RECURRING, jobOf(invoice.name, { invoiceId: "yearly" }, timing));
  const run = (await clerk.post(`${RECURRING}/invoices/trigger`)).body;
  assert.deepEqual(await foundBy("args.invoiceId=yearly"), [run.id]);
  const [letter = ""] = await addDeadLetters(sql, tenantId, ["no"], invoice.name);
  await sql`update dead_letter_jobs set serialized_args = '{"invoiceId":"again"}' where id = ${letter}`;
  const retried = (await clerk.post(`/api/v1/dead-letter-jobs/${letter}/retry`)).body;
  assert.deepEqual(await foundBy("args.invoiceId=again"), [retried.id]);
});

Deno.test("a declared type marks searchable arguments in its JSON Schema", async () => {
  const text = { type: "string", "x-searchable": true };
  const argsSchema = {
    type: "object",
    "x-searchable": ["order.number"],
    properties: { shop: text, pin: text, order: {} },
  };
  await accepted(clerk.put("/api/v1/job-types/orders.ship", { argsSchema, secretArgs: ["$.pin"] }), 201);
  const job = await enqueue({ shop: "north", pin: "1234", order: { number: 5 } }, clerk, "orders.ship");
  assert.deepEqual(await foundBy("args.shop=north&jobTypeName=orders.ship"), [job]);
  assert.deepEqual(await foundBy("args.order.number=5"), [job]);
  const serializedArgs = '{"order":{"number":9007199254740993}}';
  const { body: long } = await clerk.post(JOBS, { jobTypeName: "orders.ship", serializedArgs });
  assert.deepEqual(await foundBy("args.order.number=9007199254740993"), [long.id]);
  assert.deepEqual(await foundBy("args.order.number=9007199254740992"), []);
  assert.deepEqual(await foundBy("args.pin=1234"), [], "a secret");
  assert.equal((await clerk.put("/api/v1/job-types/orders.ship", { argsSchema: {} })).status, 200);
  const unmarked = await enqueue({ shop: "north" }, clerk, "orders.ship");
  assert.deepEqual(await foundBy("args.shop=north"), [job], `${unmarked} was enqueued without the mark`);
  const many = Object.fromEntries(Array.from({ length: 11 }, (_, n) => [`a${n}`, { "x-searchable": true }]));
  for (const wrong of [{ properties: many }, { "x-searchable": true }, { "x-searchable": ["$.a"] }]) {
    const { body } = await clerk.put("/api/v1/job-types/orders.refused", { argsSchema: wrong });
    assert.match(body.errors.argsSchema[0], /x-searchable/);
  }
});

Deno.test("the catalog lists searchable arguments; outsider arguments of a named type are refused", async () => {
  const { body: types } = await clerk.get(`${JOBS}/types`);
  const { argsSchema } = types.find(({ name }: { name: string }) => name === invoice.name);
  assert.deepEqual(argsSchema["x-searchable"], ["invoiceId", "customer.id", "tags"]);
  const cases: [string, string, RegExp][] = [
    ["jobTypeName=test.invoice&args.note=n", "args.note", /expected one of invoiceId, customer\.id, tags/],
    ["jobTypeName=test.invoice&args.token=n", "args.token", /not an argument/],
    ["jobTypeName=steward.echo&args.n=1", "args.n", /it marks none/],
    ["args.invoiceId=1&args.invoiceId=2", "args", /once/],
    [`args.invoiceId=${"x".repeat(201)}`, "args.invoiceId", /at most 200/],
    ["args.invoiceId=%00", "args.invoiceId", /NUL/],
    [Array.from({ length: 11 }, (_, n) => `args.a${n}=1`).join("&"), "args", /at most 10/],
  ];
  for (const [query, field, message] of cases) {
    const { errors } = (await clerk.get(`${JOBS}?${query}`)).body;
    assert.match(errors?.[field]?.[0] ?? "", message, `${query} ${JSON.stringify(errors)}`);
  }
});
