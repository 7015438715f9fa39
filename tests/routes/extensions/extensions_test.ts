import assert from "node:assert/strict";
import { join } from "node:path";
import { connectPostgres } from "../../../infra/postgres/postgres.ts";
import { requireTenantInKeys, type WrittenSchema } from "../../../infra/postgres/tenant_keys.ts";
import { contains, invalid, pluck } from "../../support/answers.ts";
import { accepted, refused } from "../../support/outcomes.ts";
import { browse, browseAt } from "../console/plain_browser.ts";
import { fetchDocument, generateLater, reached, STATUS } from "../reports/support.ts";
import { billingUrl, setupAcme } from "./acme_service.ts";
import { assemble } from "../../../routes/extensions/assemble.ts";
import { loadExtensions } from "../../../routes/extensions/load_extensions.ts";
import {
  anyone,
  defineExtension,
  defineJob,
  defineRecord,
  defineRoute,
  noContent,
  z,
} from "../../../routes/extensions/public.ts";
import { servicesOf } from "../../../routes/extensions/services.ts";
import { conformsToRecordContract } from "../records/conformance.ts";
import { checkTenantIsolation } from "../../support/extension_testing.ts";
import { setup } from "../../support/setup.ts";

const { contacts, default: acme } = await import("./acme/mod.ts"); // after the URL that it reads is set
const t = await setupAcme();
const { sql } = t.steward.platform;
const INVOICES = "/api/v1/acme/invoices";

Deno.test("a route of an extension checks permission, shape and tenant like a built-in one, and writes its audit row", async () => {
  const admin = await t.actor({ role: "Admin" });
  const visitor = await t.actor({ role: "Visitor" });
  await refused("403 MISSING_PERMISSION", visitor.post(INVOICES, { number: "1" }));
  await refused("400 VALIDATION_ERROR", admin.post(INVOICES, { number: "" }));
  const invoice = await accepted(admin.post(INVOICES, { number: "2026-1" }), 201);
  const stranger = await t.actor({ role: "Admin" });
  await refused("404 INVOICE_UNKNOWN", stranger.post(`${INVOICES}/${invoice.id}/pay`));
  const rows = await sql`select action, actor_id from audit_log where target_id = ${invoice.id}`;
  assert.deepEqual([...rows], [{ action: "invoice.create", actorId: admin.userId }]);
});

Deno.test("a job of an extension runs with the service's functions; callers subscribe to its event, but cannot publish it", async () => {
  const admin = await t.actor({ permissions: ["write:invoices", "manage:webhooks", "publish:events"] });
  const webhook = { url: "http://127.0.0.1:9/hook", eventTypes: ["invoice.paid"] };
  const { body: endpoint } = await admin.post("/api/v1/webhook-endpoints", webhook);
  assert.deepEqual(endpoint.eventTypes, ["invoice.paid"]);
  const { body: types } = await admin.get("/api/v1/webhook-events/types");
  assert.ok(pluck(types, "type").includes("invoice.paid"));
  const forged = { type: "invoice.paid", data: { number: "forged" } };
  invalid(await admin.post("/api/v1/events", forged), "type");

  const { body: invoice } = await admin.post(INVOICES, { number: "2026-2" });
  const { body: { jobId } } = await admin.post(`${INVOICES}/${invoice.id}/pay`);
  assert.equal(await t.settled(jobId), "Succeeded");
  const [delivery] =
    await sql`select event_type, body from webhook_deliveries where endpoint_id = ${endpoint.id}`;
  assert.equal(delivery?.eventType, "invoice.paid");
  assert.deepEqual(JSON.parse(delivery?.body).data, { invoiceId: invoice.id, number: "2026-2" });
  const { body: { code, title } } = await admin.post(`${INVOICES}/${invoice.id}/pay`);
  assert.deepEqual([code, title], ["INVOICE_PAID_CONFLICT", "Invoice is paid"]);
});

Deno.test("an event of an extension has at most 64 KiB of data", async () => {
  const tenantId = await t.tenant();
  const { emitEvent } = servicesOf(t.steward.platform);
  const emit = (length: number) =>
    emitEvent(sql, { type: "invoice.paid", tenantId, data: { number: "x".repeat(length) } });
  const frame = JSON.stringify({ number: "" }).length;
  await emit(64 * 1024 - frame);
  const refusal = /invoice\.paid: expected at most 65536 bytes .* found 65537/;
  await assert.rejects(emit(64 * 1024 - frame + 1), refusal);
  const [row] = await sql`select count(*)::int as count from events where tenant_id = ${tenantId}`;
  assert.equal(row?.count, 1);
});

Deno.test("permissions of an extension are in the catalog, and catalog roles of every tenant hold them", async () => {
  const codes = ["read:invoices", "write:invoices"];
  const { items } = await accepted(t.systemAdmin.get("/api/v1/permissions?search=:invoices&pageSize=50"));
  assert.deepEqual(pluck(items, "code").sort(), codes);
  const tenant = await accepted(t.systemAdmin.post("/api/v1/tenants", { name: "New" }));
  const holders = await sql`
    select r.name, array_agg(p.code order by p.code) as codes from roles r join role_permissions rp on rp.role_id = r.id
    join permissions p on p.id = rp.permission_id
    where r.tenant_id = ${tenant.id} and p.code like '%:invoices' group by r.name order by r.name`;
  assert.deepEqual([...holders], [{ name: "Admin", codes }, { name: "Visitor", codes: codes.slice(0, 1) }]);
});

Deno.test("the API document lists the routes of extensions with their permissions and refusals", async () => {
  const { body: document } = await t.nobody.get("/openapi.json");
  const { post } = document.paths["/api/v1/acme/invoices/{id}/pay"];
  assert.deepEqual(post["x-permissions"], ["write:invoices"]);
  assert.deepEqual(post.tags, ["Invoices"]);
  assert.match(JSON.stringify(post.responses["409"]), /INVOICE_PAID_CONFLICT/);
  assert.ok(document.tags.some(({ name }: { name: string }) => name === "Invoices"));
  assert.equal((await t.nobody.get("/problems/INVOICE_PAID_CONFLICT")).status, 200);
});

Deno.test("a report of an extension reads the database it names", async () => {
  const billing = connectPostgres(billingUrl, { max: 1 });
  await billing`create table payments as select 12.50::numeric as amount union all select 7`;
  await billing.end();
  const admin = await t.actor({ role: "Admin" });
  const { id } = await generateLater(admin, { templateId: "payments" });
  await reached(admin, id, STATUS.Completed);
  const text = new TextDecoder().decode((await fetchDocument(admin, id)).bytes);
  assert.deepEqual(text.trim().split(/\r?\n/).slice(-2), ["7", "12.50"]);
});

Deno.test("the form of a record keeps its reference to a deleted row; a new one names no row until it is chosen", async () => {
  const manager = await t.actor({ role: "Admin" });
  const make = (path: string, body: unknown) => accepted(manager.post(`/api/v1/${path}`, body), 201);
  const gone = await make("customers", { number: "1", name: "Gone" });
  const other = await make("customers", { number: "2", name: "Other" });
  const contact = await make("contacts", { customerId: gone.id, name: "Ana" });
  await accepted(manager.delete(`/api/v1/customers/${gone.id}`), 204);
  const browser = await browseAt(t, manager, `contacts/${contact.id}`);
  (await browser.press("Save", { Name: "Ana Maria" })).shows("Ana Maria was saved.");
  const read = async () => (await manager.get(`/api/v1/contacts/${contact.id}`)).body;
  const { customerId, name } = await read();
  assert.deepEqual([customerId, name], [gone.id, "Ana Maria"]);
  await browser.visit("contacts/new");
  (await browser.press("Create", { Name: "Nobody's" })).shows("Choose one of the list");
  await browser.visit(`contacts/${contact.id}`);
  await browser.press("Save", { "Customer of the contact": other.id });
  assert.equal((await read()).customerId, other.id);
  (await browser.visit("contacts")).shows("Other");
});

Deno.test("the pages of a record name a wrong number, have its words in the viewer's language, and offer readers no action", async () => {
  const admin = await t.actor({ role: "Admin" });
  const browser = await browseAt(t, admin, "customers");
  browser.page.shows("No customers yet");
  await browser.follow("New customer");
  const typed = { Number: "C-1", Name: "<b>Ana</b> Lda.", "Credit limit": "much" };
  (await browser.press("Create", typed)).shows("Enter a number.");
  (await browser.press("Create", { "Credit limit": "12.5" })).shows("<b>Ana</b> Lda. was created.");
  const reader = await t.actor({ tenantId: admin.tenantId ?? "", role: "Visitor" });
  const { items: [customer] } = await accepted(reader.get("/api/v1/customers"));
  assert.equal(customer.credit, 12.5);
  const { page } = await browseAt(t, reader, `customers/${customer.id}`, "pt-PT");
  assert.ok(page.isDisabled("Limite de crédito"));
  assert.deepEqual(page.offers.filter((name) => /^(Salvar|Excluir)/.test(name)), []);
  assert.equal((await (await browse(t, reader, "pt-PT")).visit("customers")).heading, "Clientes");
});

conformsToRecordContract(contacts, () => t);

const assembled = (members: object) =>
  assemble([{ name: "acme", module: "acme", ...members } as never], () => ({}) as never);
const route = (more: object) => ({
  routes: [defineRoute(
    {
      ...{ method: "get", path: "/api/v1/acme", area: "A", id: "readAcme", summary: "s", access: anyone },
      ...{ answers: { 204: { description: "d" } }, problems: [], run: () => noContent(), ...more },
    } as never,
  )],
});
const permission = (code: string) => ({ permissions: [{ code, category: "c", description: "d" }] });

const channel = (name: string) => ({
  channels: [{ name, displayName: "D", address: { expected: "e", fits: () => true }, providers: [] }],
});
const provider = (channel: string, name: string) => ({ providers: [{ channel, name, send() {} }] });

const title = { en: "Card", pt: "Cartão" };
const card = (more: object) => ({
  overview: [{ title, permission: "read:users", read: () => Promise.resolve({}), ...more }],
});
/** A page for each of some changes of it. */
const pages = (...changes: object[]) => ({
  pages: changes.map((change) => ({
    ...{ path: "page/{id}", title, permission: "read:users", render: () => null },
    ...change,
  })),
});
/** A record with an action, and the route that it calls. */
const acting = (action: object, called: object = {}) => ({
  ...route(called),
  resources: [defineRecord({
    ...{
      one: "thing",
      many: "things",
      area: "A",
      managedBy: "read:users",
      table: "acme.things",
      members: {},
    },
    actions: { go: { label: "Go", route: "readAcme", ...action } },
  })],
});

/** Members of the extension acme that are refused, and the mistake that the error names. */
const REFUSED: [members: object, mistake: string][] = [
  [
    { jobs: [defineJob({ name: "steward.echo", args: z.any(), run: async () => {} })] },
    'jobs: "steward.echo" does not match',
  ],
  [
    { jobs: [defineJob({ name: "acme.tick", args: z.object({}), cron: "daily", run: async () => {} })] },
    'jobs[0].cron: "daily" has 1 fields',
  ],
  [permission("read:users"), 'permissions: "read:users" is already used by the service'],
  [permission("switch:any-group-tenant"), 'permissions: "switch:any-group-tenant": this code is reserved'],
  [
    { tenantRoles: { Admin: ["read:nothing"] } },
    'tenantRoles: the permission "read:nothing" is not declared',
  ],
  [
    { tenantRoles: { SystemAdmin: ["read:users"] } },
    'tenantRoles: "SystemAdmin" is not one of Admin, Visitor, GroupAdmin',
  ],
  [
    { tenantRoles: { Visitor: ["admin:system"] } },
    'tenantRoles: the permission "admin:system" acts in all tenants',
  ],
  [
    route({ path: "/api/v1/users/all" }),
    "routes: GET /api/v1/users/all answers the same requests as GET /api/v1/users/{id} of the",
  ],
  [route({ path: "/healthz" }), "routes: GET /healthz does not match"],
  [route({ access: undefined }), "routes[0].access: expected an access such as inTenant"],
  [route({ problems: ["NOTHING"] }), "readAcme names the unknown problem NOTHING; use defineProblems"],
  [
    { events: { [`invoice.${"x".repeat(93)}`]: { description: "d", example: {} } } },
    `events: "invoice.${"x".repeat(93)}" does not match`,
  ],
  [acting({ route: "sendAcme" }), 'the action go of the record thing: "sendAcme" is not the operation id'],
  [acting({}), 'the action go of the record thing: "readAcme" has the path /api/v1/acme; expected'],
  [
    acting({}, { path: "/api/v1/acme/{id}", method: "post", body: z.object({}) }),
    'the action go of the record thing: "readAcme" needs a body',
  ],
  [
    acting({}, { path: "/api/v1/acme/{id}" }),
    'the action go of the record thing: "readAcme" is a GET route that answers no url',
  ],
  [card({ permission: "read:nothing" }), 'overview: "Card" needs the undeclared permission read:nothing'],
  [pages({ permission: undefined }), "pages[0].permission: expected a text"],
  [pages({ permission: "read:nothing" }), 'pages: "page/{id}" needs the undeclared permission read:nothing'],
  [pages({ path: "Page" }), 'pages: "Page" does not match'],
  [pages({}, { path: "page/{key}" }), 'pages: "page/{key}" is already used by extension acme'],
  [pages({ isInNavigation: true }), 'pages: "page/{id}" has a parameter, so the navigation cannot list it'],
  [pages({ script: "./page.js" }), "pages[0].script: expected a URL"],
  [{ databases: { billing: undefined } }, 'databases: "billing" has no URL that starts with postgres:'],
  [channel("pigeon"), 'channels: "pigeon" does not match'],
  [channel("EMail"), 'channels: "EMail" is already used by the service'],
  [provider("Sms", "smtp-2"), 'providers: "smtp-2" does not match'],
  [provider("Fax", "fax"), 'providers: "fax" names the unknown channel Fax'],
];

Deno.test("a service with a foreign key between tables of tenants without the tenant does not start", async () => {
  const folder = await Deno.makeTempDir({ prefix: "steward-extension-" });
  const columns = "id uuid primary key, tenant_id uuid not null";
  await Deno.mkdir(join(folder, "migrations"));
  await Deno.writeTextFile(
    join(folder, "migrations/0001_orders.sql"),
    `create table customers (${columns}); create table orders (${columns}, customer_id uuid references customers)`,
  );
  await Deno.writeTextFile(
    join(folder, "mod.ts"),
    `import { defineExtension } from "@steward/steward";
    export default defineExtension({ name: "shop", migrations: new URL("./migrations/", import.meta.url) });`,
  );
  const start = setup({ STEWARD_EXTENSIONS: join(folder, "mod.ts") });
  const refusal = /^Error: extension shop: .* shop\.orders \(customer_id\) .* leaves out the tenant/;
  await assert.rejects(start, refusal);
});

Deno.test("a foreign key between tables of tenants without the tenant is refused, with what to declare", async () => {
  const shop = async (name: string, columns: string, declared: Partial<WrittenSchema> = {}) => {
    const row = "id uuid primary key, tenant_id uuid not null";
    await sql.unsafe(`create schema ${name}; create table ${name}.customers (${row}, unique (id, tenant_id));
      create table ${name}.orders (${row}, ${columns.replaceAll("customers", `${name}.customers`)})`);
    return await requireTenantInKeys(sql, [{ extension: name, ...declared }]).then(
      () => "",
      (error) => error.message,
    );
  };
  contains(
    await shop("shop", "customer_id uuid references customers"),
    "extension shop: migrations: the foreign key orders_customer_id_fkey of shop.orders (customer_id) to shop.customers",
    "add foreign key (customer_id, tenant_id) references shop.customers (id, tenant_id)",
  );
  const whole = "foreign key (customer_id, tenant_id) references customers (id, tenant_id)";
  const keys = `file_id uuid references public.files, customer_id uuid references customers, ${whole}`;
  assert.equal(await shop("shop2", keys), "");
  const written = await shop("shop3", keys, { written: ["shop3.orders.file_id"] });
  contains(written, "(file_id) to public.files", "leave the member out of the bodies");
  const reference = { table: "shop4.orders", column: "customer_id", parent: "public.settings" };
  contains(
    await shop("shop4", "customer_id uuid", { references: [reference] }),
    "shop4.orders.customer_id is declared as a reference to public.settings, but has no foreign key",
  );
});

checkTenantIsolation({ ...t, sql }, {
  extension: { ...acme, routes: [], jobs: [], reports: [] },
  samples: {
    customer: (text) => ({ name: text, number: text }),
    contact: (text, id) => ({ name: text, customerId: id("customer") }),
  },
});

Deno.test("an extension with a mistake is refused at start by name", () => {
  for (const [members, mistake] of REFUSED) {
    assert.throws(() => assembled(members), ({ message }) => message.includes(`extension acme: ${mistake}`));
  }
  assert.throws(
    () => defineExtension({ name: "acme", job: [] } as never),
    /^Error: extension acme: unknown member job; expected one of name, perm/,
  );
  for (const name of ["Acme", "public"]) {
    assert.throws(() => defineExtension({ name }), /expected a name of 2 to 31 .* that is not reserved/);
  }
});

Deno.test("a module that is missing, or declares no extension, is refused at start by name", async () => {
  const load = async (code: string) => {
    const module = await Deno.makeTempFile({ prefix: "steward-extension-", suffix: ".ts" });
    await Deno.writeTextFile(module, code);
    await loadExtensions([module]);
  };
  await assert.rejects(load("export default 7;"), /the extension .*: expected the result of defineExtension/);
  await assert.rejects(load("throw new Error('no licence')"), /cannot be loaded: no licence/);
  const start = setup({
    STEWARD_EXTENSIONS: "./nowhere.ts",
    DATABASE_URL: t.steward.platform.config.DATABASE_URL ?? "",
  });
  await assert.rejects(start, /the extension \.\/nowhere\.ts cannot be loaded/);
});

Deno.test("a page whose script cannot be read, and a format that a member cannot have, are refused by name", async () => {
  const script = new URL("file:///nowhere/page.js");
  const { loadSections } = assembled(pages({ script }));
  const unreadable = /^Error: extension acme: pages: "page\/\{id\}": file:.* cannot be read/;
  await assert.rejects(loadSections(), unreadable);
  const formatted = (format: object | string, shape: z.ZodType = z.number()) =>
    defineRecord({
      ...{ one: "box", many: "boxes", area: "A", managedBy: "write:boxes", table: "acme.boxes" },
      members: { size: { shape, format: format as "bytes" } },
    });
  const wrong = /record box: .* size: a boolean has no format "bytes"/;
  assert.throws(() => formatted("bytes", z.boolean()), wrong);
  assert.throws(() => formatted("link"), /a number has no format "link"/);
  assert.throws(() => formatted({ currency: "money" }), /its currency money is neither a code nor a member/);
});
