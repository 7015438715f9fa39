import assert from "node:assert/strict";
import process from "node:process";
import { checkTenantIsolation, startForTest, until } from "@steward/steward/testing";
import invoicing from "../../../scripts/example/mod.ts";

const modules = ["extensions/slack/mod.ts", "example/mod.ts"];
const INVOICES = "/api/v1/invoices";
const CSV = 3;

const announced: string[] = [];
const slack = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen() {} }, async (request) => {
  announced.push((await request.json()).text);
  return new Response("ok");
});
process.env.INVOICING_SLACK_URL = `http://127.0.0.1:${slack.addr.port}/hook`;
const t = await startForTest({
  extensions: modules.map((module) => new URL(`../../../scripts/${module}`, import.meta.url).href),
  env: { OUTBOUND_ALLOW: `127.0.0.1:${slack.addr.port}` },
});
Deno.test.afterAll(async () => {
  await t.stop();
  await slack.shutdown();
});
const { tenantAdmin, visitor, outsider } = t;

const invoice = (number: string, change = {}) => ({
  number,
  customer: "Café Müller",
  amount: 1234.5,
  dueOn: "2026-01-31",
  ...change,
});
const created = async (number: string, change = {}): Promise<string> => {
  const { status, body } = await tenantAdmin.post(INVOICES, invoice(number, change));
  assert.equal(status, 201, JSON.stringify(body));
  return body.id;
};
/** The text of a PDF; null if this machine has no pdftotext. */
async function textOf(pdf: Uint8Array): Promise<string | null> {
  const path = await Deno.makeTempFile({ suffix: ".pdf" });
  await Deno.writeFile(path, pdf);
  try {
    const { stdout } = await new Deno.Command("pdftotext", { args: [path, "-"] }).output();
    return new TextDecoder().decode(stdout);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return null;
    throw error;
  } finally {
    await Deno.remove(path);
  }
}

Deno.test("an invoice is created as a draft with an exact amount, and read only with read:invoices", async () => {
  const id = await created("2026-1");
  const { body } = await visitor.get(`${INVOICES}/${id}`);
  const { number, customer, amount, dueOn, status, fileId } = body;
  assert.deepEqual({ number, customer, amount, dueOn }, invoice("2026-1"));
  assert.deepEqual([status, fileId], ["Draft", null]);
  const member = await t.actor({ tenantId: tenantAdmin.tenantId ?? "" });
  assert.equal((await member.get(`${INVOICES}/${id}`)).body.code, "MISSING_PERMISSION");
  assert.equal((await visitor.post(`${INVOICES}/${id}/send`)).body.code, "MISSING_PERMISSION");
  assert.equal((await tenantAdmin.post(INVOICES, invoice("2026-1"))).body.code, "INVOICE_ALREADY_EXISTS");
  const imprecise = await tenantAdmin.post(INVOICES, invoice("2026-2", { amount: 1.005 }));
  assert.deepEqual(Object.keys(imprecise.body.errors), ["amount"]);
});

Deno.test("sending an invoice stores its PDF, which the tenant downloads, and announces it in Slack and to webhooks", async () => {
  const manager = await t.actor({ tenantId: tenantAdmin.tenantId ?? "", permissions: ["manage:webhooks"] });
  const { body: endpoint } = await manager.post("/api/v1/webhook-endpoints", {
    url: "https://hooks.example.test/invoices",
    eventTypes: ["invoice.rendered"],
  });
  const id = await created("2026-10");
  assert.equal((await visitor.get(`${INVOICES}/${id}/pdf`)).body.code, "INVOICE_NOT_RENDERED_CONFLICT");
  const sent = await tenantAdmin.post(`${INVOICES}/${id}/send`);
  assert.equal(sent.status, 202, JSON.stringify(sent.body));
  assert.equal(await t.settled(sent.body.jobId), "Succeeded");
  const pdf = await until(() => visitor.get(`${INVOICES}/${id}/pdf`), ({ status }) => status === 200);
  const bytes = new Uint8Array(await (await fetch(pdf.body.url)).arrayBuffer());
  assert.match(new TextDecoder("latin1").decode(bytes), /^%PDF-[^]+%%EOF\s*$/);
  const printed = await textOf(bytes);
  for (const part of ["Invoice 2026-10", "Café Müller", "1234.50", "2026-01-31"]) {
    assert.ok(printed?.includes(part) ?? true, `${part} is missing in ${printed}`);
  }
  assert.equal((await visitor.get(`${INVOICES}/${id}`)).body.status, "Sent");
  const again = await tenantAdmin.post(`${INVOICES}/${id}/send`);
  assert.deepEqual([again.status, again.body.code], [409, "INVOICE_SENT_CONFLICT"]);
  await until(() => announced.length > 0);
  assert.deepEqual(announced, ["*Invoice sent*\nInvoice 2026-10 was sent to Café Müller"]);
  const [delivery] = await t.sql`
    select event_type, body from webhook_deliveries where endpoint_id = ${endpoint.id}`;
  const { data } = JSON.parse(delivery?.body);
  assert.deepEqual([delivery?.eventType, data.invoiceId, data.number], ["invoice.rendered", id, "2026-10"]);
  const audited = await t.sql`select action from audit_log where target_id = ${id} order by id`;
  assert.deepEqual(audited.map(({ action }) => action), ["invoice.create", "invoice.send"]);
});

Deno.test("the aging report lists overdue sent invoices with their exact amounts", async () => {
  const generated = async (): Promise<string[]> => {
    const { body } = await tenantAdmin.post("/api/v1/reports/generate-async", {
      templateId: "invoice-aging",
      format: CSV,
      parameters: { asOf: "2025-02-10" },
    });
    const { body: { url } } = await until(
      () => tenantAdmin.get(`/api/v1/reports/${body.id}/download`),
      ({ status }) => status === 200,
    );
    return (await (await fetch(url)).text()).trim().split(/\r?\n/).slice(1);
  };
  for (
    const [number, dueOn] of [["A-1", "2025-01-31"], ["A-2", "2025-02-10"], ["A-3", "2025-01-01"]] as const
  ) {
    const id = await created(number, { dueOn, amount: 99999.99 });
    if (number !== "A-3") await t.sql`update invoicing.invoices set status = 'Sent' where id = ${id}`;
  }
  assert.deepEqual(await generated(), ["A-1,Café Müller,2025-01-31,10,99999.99"]);
  assert.equal((await outsider.get(`${INVOICES}?search=A-1`)).body.totalCount, 0);
});

checkTenantIsolation(t, {
  extension: invoicing,
  samples: { invoice: (text) => invoice(text, { customer: text }) },
  rows: {
    sendInvoice: { names: (id) => ({ params: { id: id("invoice") } }), code: "INVOICE_NOT_FOUND" },
    summarizeInvoices: { own: () => ({}) },
    giveInvoicePdf: { names: (id) => ({ params: { id: id("invoice") } }), code: "INVOICE_NOT_FOUND" },
  },
  reports: { "invoice-aging": {} },
  async objects(victim, text) {
    const { body } = await victim.post(INVOICES, invoice("Overdue", { customer: text }));
    await t.sql`update invoicing.invoices set status = 'Sent' where id = ${body.id}`;
    return { overdue: body.id };
  },
});
