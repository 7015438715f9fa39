import assert from "node:assert/strict";
import { setupShared } from "../../support/setup.ts";
import { browse } from "./plain_browser.ts";

const t = await setupShared();
const { sql } = t.steward.platform;

Deno.test("a supporter views the console as a user, reading only, with a banner on every page and an end", async () => {
  const support = await t.actor({ permissions: ["act-as:users", "read:users", "update:users"] });
  const permissions = ["read:users", "update:users"];
  const ana = await t.actor({ tenantId: support.tenantId ?? "", permissions });
  await sql`update users set first_name = 'Ana', last_name = 'Silva' where id = ${ana.userId}`;
  const browser = await browse(t, support);
  await browser.visit(`users/${ana.userId}`);
  await browser.follow("View as Ana Silva");
  await browser.press("View as Ana Silva", { reason: "Ticket 4711" });
  assert.ok(browser.page.text.includes("You act as Ana Silva"));
  await browser.visit("account");
  assert.ok(browser.page.text.includes(ana.email));
  await browser.visit(`users/${support.userId}`);
  assert.ok(browser.page.text.includes("You may only read."));
  await browser.press("Deactivate");
  const [row] = await sql`select is_active from users where id = ${support.userId}`;
  assert.equal(row?.isActive, true);
  await browser.press("End");
  await browser.visit("account");
  assert.ok(browser.page.text.includes(support.email));
});

Deno.test("a system administrator works in a tenant without joining it", async () => {
  const tenantId = await t.tenant({ name: `Visited ${crypto.randomUUID().slice(0, 8)}` });
  const browser = await browse(t, await t.signedIn(t.systemAdmin));
  await browser.visit(`work-in/${tenantId}`);
  await browser.press("Work in it for a limited time", { reason: "Ticket 4711", mayWrite: "true" });
  assert.match(browser.page.text, /You work in Visited \w+ without belonging to it/);
  await browser.visit("roles");
  assert.equal(browser.page.status, 200);
  await browser.press("End");
  assert.equal((await sql`select from user_tenants where tenant_id = ${tenantId}`).length, 0);
});

Deno.test("a form that was shown to who acts is refused after the end; the tenant's ban ends it", async () => {
  const support = await t.actor({ permissions: ["act-as:users", "read:users"] });
  const ana = await t.actor({ tenantId: support.tenantId ?? "", permissions: [] });
  const browser = await browse(t, support);
  const banner = () => browser.page.text.includes("You act as");
  await browser.visit(`users/${ana.userId}/act-as`);
  await browser.press("View as Test Actor", { reason: "Ticket 4711" });
  assert.ok(banner());
  const csrf = await browser.csrf();
  await sql`update tenants set act_as = 'forbidden' where id = ${support.tenantId}`;
  await browser.visit("account");
  assert.deepEqual([browser.page.status, banner()], [200, false]);
  const fields = { csrf, do: "profile", firstName: "Ana", lastName: "Silva" };
  assert.equal((await browser.send("account", Object.entries(fields))).status, 403);
  const [row] = await sql`select first_name from users where id = ${support.userId}`;
  assert.equal(row?.firstName, "Test");
});
