import assert from "node:assert/strict";
import { accepted } from "../../support/outcomes.ts";
import { until } from "../../support/until.ts";
import { browse, browseAt } from "../console/plain_browser.ts";
import { setupExtensions } from "./all_extensions.ts";

const t = await setupExtensions();
const admin = await t.actor({ role: "Admin" });
const visitor = await t.actor({ role: "Visitor", tenantId: admin.tenantId ?? "" });
const outsider = await t.actor({ role: "Admin" });
const HOSTILE = '<script>alert(1)</script> & "Söhne"';

const invoiceOf = async (number: string, change = {}): Promise<string> => {
  const invoice = { number, customer: HOSTILE, amount: 1234.5, dueOn: "2026-01-31", ...change };
  return (await accepted(admin.post("/api/v1/invoices", invoice), 201)).id;
};
const statusOf = async (id: string) => (await admin.get(`/api/v1/invoices/${id}`)).body.status;

Deno.test("members are shown in their formats, entered with their unit, and plain in CSV", async () => {
  const address = { site: "https://example.test/?a=1&b", contact: "ana@x.test" };
  const measures = { tax: 19.5, bytes: 13_002_342, took: 90_000, weight: 1234.5 };
  const parcel = { name: "P-1", price: 1234.5, currency: "USD", ...address, ...measures };
  const { id } = await accepted(admin.post("/api/v1/parcels", parcel), 201);
  const unsafe = { ...parcel, name: "P-2", site: "javascript:alert(1)", currency: "?" };
  await accepted(admin.post("/api/v1/parcels", unsafe), 201);
  const browser = await browseAt(t, admin, "parcels");
  const rows = browser.page.rows.join("\n");
  assert.match(rows, /P-1 US\$1,234\.50 USD .*\n*.*P-2 1,234\.5 \? \? javascript:alert/s);
  const links = browser.page.hrefs.filter((href) => /^(https?|mailto|javascript):/.test(href));
  assert.deepEqual(links, ["https://example.test/?a=1&b", "mailto:ana@x.test", "mailto:ana@x.test"]);
  const page = await browser.visit(`parcels/${id}`);
  page.shows("Tax 19.5%", "Bytes 12.4 MiB", "Took 1 min 30 s", "Weight 1,234.5");
  (await browser.visit("parcels/new")).shows("Tax (%)", "Bytes (bytes)", "Took (ms)");
  const { html: csv } = await browser.open("parcels?as=csv&search=P-1");
  assert.match(csv, /Name,Price,Currency,Site,Contact,Created\r\n[^,]+,P-1,1234\.5,USD,/);
  const portuguese = await browseAt(t, admin, "parcels", "pt-BR");
  portuguese.page.shows(/US\$\s1\.234,50/);
  await invoiceOf("CSV-1");
  const { html: invoices } = await browser.open("invoices?as=csv&search=CSV-1");
  assert.match(invoices, /Amount \(EUR\),[^]*,1234\.5,2026-01-31,/);
});

Deno.test("an action of a record is offered to viewers with its permission for the rows it fits, and shows its result", async () => {
  const id = await invoiceOf("A-1");
  const browser = await browseAt(t, admin, "invoices?search=A-1");
  const [row] = browser.page.all("form", ({ attribs }) => attribs.action === `invoices/${id}/actions/send`);
  assert.equal(row?.attribs["data-confirm"], `Send A-1 to ${HOSTILE}?`);
  (await browser.press("Send")).shows("A-1 was sent.", "Status Sent");
  assert.ok(!browser.page.offers.includes("Send"), "a sent invoice is not sent again");
  const again = await browser.submit(`invoices/${id}/actions/send`);
  assert.equal(again.status, 303);
  await browser.visit(`invoices/${id}`);
  browser.page.shows("INVOICE_SENT_CONFLICT");
  const { location } = await until(
    () => browser.open(`invoices/${id}/actions/pdf`),
    ({ location }) => !location.includes("/console/"),
  );
  assert.match(await (await fetch(location)).text(), /^%PDF-/);
  assert.ok((await browser.visit(`invoices/${id}`)).offers.includes("PDF"));
});

Deno.test("an action is not offered, and does nothing, without its permission or in another tenant", async () => {
  const id = await invoiceOf("A-2");
  const reader = await browseAt(t, visitor, `invoices/${id}`);
  assert.ok(!reader.page.offers.includes("Send"));
  assert.equal((await reader.submit(`invoices/${id}/actions/send`)).status, 403);
  const foreign = await browse(t, outsider);
  await foreign.submit(`invoices/${id}/actions/send`);
  (await foreign.visit("")).shows("INVOICE_NOT_FOUND");
  assert.equal((await foreign.open(`invoices/${id}/actions/pdf`)).status, 404);
  assert.equal(await statusOf(id), "Draft");
});

Deno.test("cards show the numbers of the viewer's tenant; a slow or failing one shows a line instead", async () => {
  await invoiceOf("C-1", { amount: 0.5 });
  const browser = await browseAt(t, admin, "");
  await browser.waitFor("Open amount");
  browser.page.shows(
    "Invoices by month",
    /Slow card .*?The numbers did not come in time\./,
    /Failing card .*?The numbers could not be read\./,
    /Malformed card .*?could not be read/,
    /Foreign card .*?could not be read/,
    "<script>label</script> <script>value</script>",
  ).lacks("Secret card");
  assert.deepEqual(browser.page.hrefs.filter((href) => /^(parcels|javascript)/.test(href)), [
    "parcels?search=x",
  ]);
  assert.ok(
    t.logs.some((line) => line.includes("Failing card") && line.includes("no connection to the scales")),
  );
  const stranger = await browseAt(t, outsider, "");
  (await stranger.waitFor("Open amount")).shows("Drafts 0 Sent 0 Open amount €0.00");
  const bare = await t.actor({ permissions: [], tenantId: admin.tenantId ?? "" });
  (await browseAt(t, bare, "")).page.lacks("Invoices by month", "Slow card");
});

Deno.test("a page of an extension escapes its values, and its forms act with the viewer's rights", async () => {
  const id = await invoiceOf("D-1");
  const browser = await browseAt(t, admin, "x/invoicing/drafts");
  browser.page.shows(`${HOSTILE} (D-1)`, "€1,234.50");
  (await browser.press("Send the chosen invoices")).shows("Choose at least one invoice.");
  const sent = await browser.press("Send the chosen invoices", { [`${HOSTILE} (D-1)`]: true });
  sent.shows("Invoices sent: 1.");
  assert.equal(await statusOf(id), "Sent");
  const assets = sent.all("*").map(({ attribs }) => attribs.src ?? attribs.href ?? "");
  const types: string[] = [];
  for (const at of assets.filter((at) => at.includes("invoicing-0"))) {
    const { status, headers } = await browser.open(at);
    types.push(`${status} ${headers.get("content-type")?.split(";")[0]}`);
  }
  assert.deepEqual(types.sort(), ["200 text/css", "200 text/javascript"]);
});

Deno.test("a page of an extension is closed without its permission, in another tenant and for forms without their token", async () => {
  const id = await invoiceOf("D-2");
  assert.equal((await (await browse(t, visitor)).open("x/invoicing/drafts")).status, 403);
  const foreign = await browseAt(t, outsider, "x/invoicing/drafts");
  foreign.page.shows("There are no drafts.");
  await foreign.submit("x/invoicing/drafts", { id });
  (await foreign.visit("")).shows("INVOICE_NOT_FOUND");
  assert.equal((await (await browse(t, admin)).send("x/invoicing/drafts", [["id", id]])).status, 403);
  assert.equal(await statusOf(id), "Draft");
  const alone = await browse(t, await t.actor({ role: "SystemAdmin", global: true }));
  (await alone.visit("x/invoicing/drafts")).lacks("Send the chosen");
  assert.equal((await (await browse(t, admin)).open("x/parcels/text")).status, 500, "a text is no HTML");
  const hostile = encodeURIComponent(`"><script>alert('1')</script>`);
  const { html } = await (await browse(t, admin)).open(`x/parcels/names/ana?q=${hostile}`);
  assert.match(
    html,
    /<p title="&quot;&gt;&lt;script&gt;alert\(&#39;1&#39;\)&lt;\/script&gt;">ana: &quot;&gt;&lt;script/,
  );
  assert.match(html, /7<\/p>\s*<b id="raw">raw<\/b>/);
});
