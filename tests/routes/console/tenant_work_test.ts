import assert from "node:assert/strict";
import { continueInJoinedTenant } from "../../../domain/access/sign_in/joined_tenant.ts";
import { openBrowserSession, readBrowserSession } from "../../../domain/access/sign_in/browser_session.ts";
import { until } from "../../support/until.ts";
import { openConsole, setupConsole, type Viewing } from "./support.ts";

const { t, inBrowser } = await setupConsole();
const { platform } = t.steward;

const confirm = (viewing: Viewing) => viewing.page.locator("dialog[open] [data-confirm-yes]").click();
const newAdmin = () => t.actor({ role: "SystemAdmin", tenantId: t.platformTenantId });

inBrowser("an administrator creates a tenant, adds themselves and goes on working in it", async (b) => {
  const admin = await newAdmin();
  const viewing = await openConsole(b, t, admin);
  const { page } = viewing;
  await viewing.open("tenants/new");
  await page.getByLabel("Name").fill("Casa Verde");
  await page.getByRole("button", { name: "Create" }).click();
  await page.getByText("Casa Verde was created").waitFor();
  await page.getByRole("link", { name: "Work in this tenant" }).click();
  await viewing.requireAccessible();
  await page.getByLabel("Admin", { exact: false }).first().check();
  await page.getByRole("button", { name: "Work in this tenant" }).click();
  await page.getByText("You belong to Casa Verde now and work in it.").waitFor();
  await page.getByRole("heading", { name: "Casa Verde" }).waitFor();
  assert.equal(await page.getByRole("link", { name: "Work in this tenant" }).count(), 0);
  assert.equal(await viewing.open("users"), 200);
  await page.locator("main").getByText(admin.email).first().waitFor();
  assert.equal((await admin.get("/api/v1/auth/me")).status, 401, "earlier tokens have ended");
  await viewing.close();
});

inBrowser("a user is exported and erased on their page", async (b) => {
  const { body } = await t.systemAdmin.post("/api/v1/admin/users", {
    email: "leaver@personal.example",
    password: "violet harbour 91 lantern",
    firstName: "Lea",
  });
  const viewing = await openConsole(b, t, t.systemAdmin);
  const { page } = viewing;
  await viewing.open(`users/${body.id}`);
  await page.getByRole("link", { name: "Personal data" }).click();
  await viewing.requireAccessible();
  await page.getByRole("button", { name: "Export data" }).click();
  await page.getByText("The export has begun.").waitFor();
  await viewing.reloadUntil(async () => await page.getByRole("link", { name: "Download" }).count() > 0);
  await page.getByLabel("Reason").fill("left the company");
  await page.getByRole("button", { name: "Erase…" }).click();
  await confirm(viewing);
  await page.getByText("The erasure has begun.").waitFor();
  await viewing.reloadUntil(async () => await page.getByText("Completed").count() > 1);
  await page.getByText("left the company").waitFor();
  const [user] = await platform.sql`select email from users where id = ${body.id}`;
  assert.match(user?.email, /^erased-/);
  await viewing.close();
});

inBrowser("an inactive tenant is erased after its name was repeated", async (b) => {
  const tenantId = await t.tenant({ name: "Casa Azul" });
  const viewing = await openConsole(b, t, t.systemAdmin);
  const { page } = viewing;
  await viewing.open(`tenants/${tenantId}/data`);
  await page.getByLabel("Reason").fill("contract ended");
  await page.getByLabel("Name of the tenant").fill("Casa Azul");
  await page.getByRole("button", { name: "Erase…" }).click();
  await confirm(viewing);
  await page.getByText("The tenant is active. Deactivate it first").waitFor();
  await t.systemAdmin.put(`/api/v1/tenants/${tenantId}`, { isActive: false });
  await page.getByRole("button", { name: "Erase…" }).click();
  await confirm(viewing);
  await page.getByText("The erasure has begun.").waitFor();
  await until(async () =>
    (await platform.sql`select from tenants where id = ${tenantId} and erased_at is not null`).length
  );
  viewing.forgive();
  await viewing.close();
});

Deno.test("after a change besides the new link, the browser must sign in again", async () => {
  for (const alsoChanged of [false, true]) {
    const admin = await newAdmin();
    const tenantId = await t.tenant({});
    const [role] = await platform.sql`select id from roles where tenant_id = ${tenantId} and name = 'Admin'`;
    const secret = await openBrowserSession(platform, admin.token ?? "");
    const path = `/api/v1/admin/users/${admin.userId}/tenants`;
    const linked = await t.systemAdmin.post(path, { tenantId, roleIds: [role?.id] });
    assert.equal(linked.status, 201, JSON.stringify(linked.body));
    if (alsoChanged) {
      await platform.sql`update users set security_version = security_version + 1 where id = ${admin.userId}`;
    }
    assert.equal(await readBrowserSession(platform.sql, secret), "access-changed");
    const o = { secret, userId: admin.userId, tenantId };
    assert.equal(await continueInJoinedTenant(platform, o), !alsoChanged);
    const session = await readBrowserSession(platform.sql, secret);
    if (alsoChanged) assert.equal(session, "access-changed");
    else assert.equal(typeof session === "object" && session?.tenantId, tenantId);
    assert.equal(await continueInJoinedTenant(platform, o), false, "works once");
    const elsewhere = { ...o, tenantId: await t.tenant({}) };
    await assert.rejects(continueInJoinedTenant(platform, elsewhere), { code: "TENANT_FORBIDDEN" });
  }
});
