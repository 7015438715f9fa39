import assert from "node:assert/strict";
import { z } from "zod";
import { defineRecord } from "../../../domain/records/define_record.ts";
import { createApp } from "../../../routes/app.ts";
import { Refusal } from "../../../routes/console/shared/api.ts";
import { recordRoutes } from "../../../routes/records/record_routes.ts";
import { problemRoutes } from "../../../routes/operations/problems.tsx";
import type { Endpoint } from "../../../routes/shared/endpoint.ts";
import { setup } from "../../support/setup.ts";

// A new record as a developer adds it: a table with its plain columns, and one declaration.
const t = await setup();
const p = t.steward.platform;
await p.sql`create table price_tags (
  id uuid primary key, tenant_id uuid not null references tenants (id), label text not null, note text,
  amount numeric not null, rate numeric(9, 4), written numeric, due date, parent_id uuid, version integer not null default 1,
  created_at timestamptz(3) not null default now(), updated_at timestamptz(3) not null default now(),
  unique (tenant_id, id), constraint price_tags_label unique (label, rate),
  foreign key (tenant_id, parent_id) references price_tags (tenant_id, id) deferrable initially deferred,
  constraint price_tags_note check (note <> 'refused'))`;
const tag = { one: "priceTag", many: "priceTags", table: "price_tags" };
const managed = { area: "Settings", managedBy: "manage:settings" } as const;
const priceTags = defineRecord({
  ...tag,
  ...managed,
  path: "price-tags",
  members: {
    label: { shape: z.string().min(1) },
    note: { shape: z.string().nullable().default(null) },
    amount: { shape: z.number(), sort: true },
    rate: { shape: z.number().nullable().default(null) },
    written: { shape: z.string().nullable().default(null) },
    due: { shape: z.iso.date().nullable().default(null), filter: true },
    parentId: { shape: z.uuid().nullable().default(null) },
  },
});
const app = createApp({
  platform: p,
  endpoints: [...recordRoutes(priceTags) as unknown as Endpoint[], ...problemRoutes],
  checkAnswers: true,
});
const server = Deno.serve({ port: 0, onListen: () => {} }, (request) => app(request, null));
Deno.test.afterAll(async () => {
  await server.shutdown();
  await t.stop();
});
const manager = await t.actor({ permissions: ["manage:settings"] });
const at = `http://127.0.0.1:${server.addr.port}`;
const ask = async (method: string, path: string, body?: unknown) => {
  const answer = await fetch(`${at}${path}`, {
    method,
    headers: { authorization: `Bearer ${manager.token}`, "content-type": "application/json" },
    ...body === undefined ? {} : { body: JSON.stringify(body) },
  });
  const text = await answer.text();
  return { status: answer.status, text, body: text === "" ? null : JSON.parse(text) };
};
const PATH = "/api/v1/price-tags";
const CONFLICT = "RESOURCE_CONFLICT";

Deno.test("a numeric column is answered as declared, with every digit", async () => {
  const made = await ask("POST", PATH, { label: "Chá", amount: 19.9, rate: 0.0625, written: "1.50" });
  assert.equal(made.status, 201, made.text);
  assert.deepEqual([made.body.amount, made.body.rate, made.body.written], [19.9, 0.0625, "1.50"]);
  const one = `${PATH}/${made.body.id}`;
  assert.equal((await ask("PUT", one, { label: "Chá", amount: 1e21 })).body.amount, 1e21);
  await p.sql`update price_tags set amount = 12345678901234567890.123456789, rate = -0.5000`;
  for (const answer of [await ask("GET", one), await ask("GET", PATH)]) {
    assert.match(answer.text, /"amount":12345678901234567890\.123456789,"rate":-0\.5,/);
  }
});

Deno.test("search finds it by its text columns, without accents and wildcards", async () => {
  await ask("POST", PATH, { label: "Café", note: "100% arábica", amount: 1 });
  await ask("POST", PATH, { label: "Water", amount: 1 });
  for (const [search, found] of [["cafe", 1], ["ARABICA", 1], ["0%", 1], ["nothing", 0]] as const) {
    const { body } = await ask("GET", `${PATH}?search=${encodeURIComponent(search)}`);
    assert.equal(body.totalCount, found, search);
  }
});

Deno.test("its not-found error is derived, and has its page", async () => {
  const none = await ask("GET", `${PATH}/${crypto.randomUUID()}`);
  assert.deepEqual([none.status, none.body.code], [404, "PRICE_TAG_NOT_FOUND"]);
  const page = await ask("GET", "/problems/PRICE_TAG_NOT_FOUND");
  assert.deepEqual([page.status, page.body.title], [200, "No such price tag"]);
});

Deno.test("values that a constraint or the type of a column refuses are mistakes of the request, also in bulk", async () => {
  const made = await ask("POST", PATH, { label: "Parent", amount: 1, rate: 1 });
  const child = { label: "Child", amount: 1, parentId: made.body.id };
  const one = `${PATH}/${(await ask("POST", PATH, child)).body.id}`;
  const unknown = { ...child, parentId: crypto.randomUUID() };
  const refused = (answer: Awaited<ReturnType<typeof ask>>) =>
    `${answer.status} ${answer.body.code} ${Object.keys(answer.body.errors ?? {})}`;
  const cases: [expected: string, method: string, path: string, body?: unknown][] = [
    ["400 VALIDATION_ERROR parentId", "POST", PATH, unknown],
    ["400 VALIDATION_ERROR parentId", "PUT", one, unknown],
    ["400 VALIDATION_ERROR price_tags_note", "PUT", one, { ...child, note: "refused" }],
    ["400 VALIDATION_ERROR value", "PUT", one, { ...child, written: "twelve" }],
    ["400 VALIDATION_ERROR due", "POST", PATH, { ...child, due: "0000-01-01" }],
    ["400 VALIDATION_ERROR due", "GET", `${PATH}?due=0000-01-01`],
    [`409 ${CONFLICT} `, "POST", PATH, { ...child, label: "Parent", rate: 1 }],
    [`409 ${CONFLICT} `, "DELETE", `${PATH}/${made.body.id}`],
  ];
  for (const [expected, method, path, body] of cases) {
    assert.equal(refused(await ask(method, path, body)), expected);
  }
  const bulk = await ask("POST", `${PATH}/bulk`, { items: [unknown, child], continueOnError: true });
  const { succeeded, failures: [failure] } = bulk.body;
  assert.deepEqual([succeeded, failure.code], [1, "VALIDATION_ERROR"]);
});

Deno.test("a problem code without a page is rejected where the record is declared", () => {
  const problems = ["PRICE_TAG_ALREADY_EXISTS" as never];
  const declare = () => defineRecord({ ...tag, ...managed, members: {}, problems });
  assert.throws(declare, /record priceTag: its error code PRICE_TAG_ALREADY_EXISTS is unknown/);
});

Deno.test("the console says in the viewer's language that a value must be unique", () => {
  const one = { en: "The tenant has this stamp.", pt: "O inquilino já tem este selo." };
  defineRecord({
    ...managed,
    one: "stamp",
    many: "stamps",
    table: "stamps",
    unique: { stamps_one: one, stamps_two: "The tenant has this number." },
    members: { name: { shape: z.string() } },
  });
  const text = (detail: string, locale: "en" | "pt") =>
    new Refusal({ status: 409, code: "STAMP_ALREADY_EXISTS", detail }, locale).text;
  assert.deepEqual([text(one.en, "en"), text(one.en, "pt")], [one.en, one.pt]);
  const plain = text("The tenant has this number.", "pt");
  assert.match(plain, /^Não foi salvo: já existe um registro com este valor/);
});
