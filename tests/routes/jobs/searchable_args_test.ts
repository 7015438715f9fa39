import assert from "node:assert/strict";
import { z } from "zod";
import { enqueueJob as enqueueOwn } from "../../../domain/jobs/enqueue.ts";
import { defineJob } from "../../../domain/jobs/job_type.ts";
import { transact } from "../../../infra/postgres/postgres.ts";
import { setupShared } from "../../support/setup.ts";
import { addDeadLetters, enqueueJob, enqueueMany, idsOf, jobOf, JOBS, RECURRING } from "./job_calls.ts";

const t = await setupShared({ JOB_CONCURRENCY: "0" });
const { platform } = t.steward;

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
platform.jobTypes.register(invoice);
const [actor, other] = [await t.actor({ permissions: ["manage:job-types"] }), await t.actor()];

const enqueue = (args: unknown, who = actor, type = invoice.name) => enqueueJob(who, type, args);
const listed = async (query: string, who = actor) => {
  const { status, body } = await who.get(`${JOBS}?${query}`);
  assert.equal(status, 200, JSON.stringify(body));
  assert.equal(body.totalCount, body.items.length);
  return idsOf(body.items);
};

Deno.test("jobs are found by the values of searchable arguments, within the tenant", async () => {
  const more = { tags: ["a", "b"], token: "s3cret", note: "n" };
  const first = await enqueue({ invoiceId: "4711", customer: { id: 7 }, ...more });
  const second = await enqueue({ invoiceId: "4712", customer: { id: 7 }, note: "x".repeat(300) });
  const foreign = await enqueue({ invoiceId: "4711" }, other);
  assert.deepEqual(await listed("args.invoiceId=4711"), [first]);
  assert.deepEqual(await listed("args.customer.id=7"), [second, first]);
  const ordered = "args.customer.id=7&orderBy=StartedAt&ascending=true&queue=default";
  assert.deepEqual(await listed(ordered), [first, second]);
  assert.deepEqual(await listed("args.tags=b"), [first]);
  assert.deepEqual(await listed("args.invoiceId=471"), []);
  assert.deepEqual(await listed("args.invoiceId="), [second, first], "an empty value counts as absent");
  assert.deepEqual(await listed("args.note=n"), [], "an argument without a mark");
  assert.deepEqual(await listed("args.token=s3cret"), [], "a secret");
  assert.deepEqual(await listed("args.invoiceId=4711", other), [foreign]);
  assert.deepEqual(await listed(`args.invoiceId=4711&tenantId=${other.tenantId}`, t.systemAdmin), [foreign]);
  const { body } = await actor.get(`${JOBS}/counts?args.customer.id=7`);
  assert.deepEqual(body.statuses, [{ status: "Enqueued", count: 2 }]);
});

Deno.test("jobs of the service itself, in bulk, from schedules and retries are found too", async () => {
  const { tenantId } = actor;
  const args = { invoiceId: "internal" };
  const own = await transact(platform.sql, (tx) => enqueueOwn(platform, tx, invoice, args, { tenantId }));
  assert.deepEqual(await listed("args.invoiceId=internal"), [own]);
  const tagged = ["1", "2"].map((invoiceId) => ({ invoiceId, tags: ["bulk"] }));
  const bulk = await enqueueMany(actor, invoice.name, tagged);
  assert.deepEqual(await listed("args.tags=bulk"), bulk.toReversed());
  const timing = { jobId: "invoices", cronExpression: "0 0 1 1 *" };
  await actor.post(RECURRING, jobOf(invoice.name, { invoiceId: "yearly" }, timing));
  const run = (await actor.post(`${RECURRING}/invoices/trigger`)).body;
  assert.deepEqual(await listed("args.invoiceId=yearly"), [run.id]);
  const [letter = ""] = await addDeadLetters(platform.sql, tenantId, ["no"], invoice.name);
  await platform
    .sql`update dead_letter_jobs set serialized_args = '{"invoiceId":"again"}' where id = ${letter}`;
  const retried = (await actor.post(`/api/v1/dead-letter-jobs/${letter}/retry`)).body;
  assert.deepEqual(await listed("args.invoiceId=again"), [retried.id]);
});

Deno.test("a declared type marks searchable arguments in its JSON Schema", async () => {
  const text = { type: "string", "x-searchable": true };
  const argsSchema = {
    type: "object",
    "x-searchable": ["order.number"],
    properties: { shop: text, pin: text, order: {} },
  };
  const put = await actor.put("/api/v1/job-types/orders.ship", { argsSchema, secretArgs: ["$.pin"] });
  assert.equal(put.status, 201, JSON.stringify(put.body));
  const job = await enqueue({ shop: "north", pin: "1234", order: { number: 5 } }, actor, "orders.ship");
  assert.deepEqual(await listed("args.shop=north&jobTypeName=orders.ship"), [job]);
  assert.deepEqual(await listed("args.order.number=5"), [job]);
  const serializedArgs = '{"order":{"number":9007199254740993}}';
  const { body: long } = await actor.post(JOBS, { jobTypeName: "orders.ship", serializedArgs });
  assert.deepEqual(await listed("args.order.number=9007199254740993"), [long.id]);
  assert.deepEqual(await listed("args.order.number=9007199254740992"), []);
  assert.deepEqual(await listed("args.pin=1234"), [], "a secret");
  assert.equal((await actor.put("/api/v1/job-types/orders.ship", { argsSchema: {} })).status, 200);
  const unmarked = await enqueue({ shop: "north" }, actor, "orders.ship");
  assert.deepEqual(await listed("args.shop=north"), [job], `${unmarked} was enqueued without the mark`);
  const many = Object.fromEntries(Array.from({ length: 11 }, (_, n) => [`a${n}`, { "x-searchable": true }]));
  for (const refused of [{ properties: many }, { "x-searchable": true }, { "x-searchable": ["$.a"] }]) {
    const { status, body } = await actor.put("/api/v1/job-types/orders.refused", { argsSchema: refused });
    assert.deepEqual([status, body.code], [400, "VALIDATION_ERROR"]);
    assert.match(body.errors.argsSchema[0], /x-searchable/);
  }
});

Deno.test("the catalog lists searchable arguments; other arguments of a named type are refused", async () => {
  const { body: types } = await actor.get(`${JOBS}/types`);
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
    const { status, body } = await actor.get(`${JOBS}?${query}`);
    assert.deepEqual([status, body.code], [400, "VALIDATION_ERROR"], query);
    assert.match(body.errors[field]?.[0] ?? "", message, JSON.stringify(body.errors));
  }
});
