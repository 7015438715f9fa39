import assert from "node:assert/strict";
import { openConsole, setupConsole, type Viewing } from "./support.ts";

const { t, inBrowser } = await setupConsole();

const confirm = (viewing: Viewing) => viewing.page.locator("dialog[open] [data-confirm-yes]").click();

inBrowser(
  "tenants are created, grouped, limited, deactivated and deleted; a group with children cannot be deleted",
  async (b) => {
    const viewing = await openConsole(b, t, t.systemAdmin);
    const { page } = viewing;
    const group = await t.tenant({ name: "Grupo Atlântico", type: "Group" });
    await viewing.open(`tenants/new?parentTenantId=${group}`);
    await page.getByLabel("Name").fill("Atlântico Sul");
    await page.getByLabel("User limit").fill("4");
    await viewing.requireAccessible();
    await page.getByRole("button", { name: "Create" }).click();
    await page.getByText("Atlântico Sul was created").waitFor();
    await page.getByText("0 of 4", { exact: true }).waitFor();
    await page.getByRole("button", { name: "Deactivate" }).click();
    await confirm(viewing);
    await page.getByText("Atlântico Sul is inactive.").waitFor();
    await page.getByText("Optional", { exact: true }).waitFor();
    await page.getByRole("link", { name: "Edit" }).click();
    const required = page.getByRole("checkbox", { name: "Require a second factor" });
    assert.equal(await required.isChecked(), false);
    await required.check();
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByText("Required", { exact: true }).waitFor();
    await page.getByRole("link", { name: "Edit" }).click();
    assert.ok(await required.isChecked(), "the form shows the current value");
    await required.uncheck();
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByText("Optional", { exact: true }).waitFor();
    await viewing.open("tenants?view=tree");
    await page.getByRole("list", { name: "Tenants of the group Grupo Atlântico" }).getByText("Atlântico Sul")
      .waitFor();
    await viewing.open(`tenants/${group}`);
    await page.getByRole("button", { name: "Delete tenant" }).click();
    await confirm(viewing);
    await page.getByText("The group still contains tenants.").waitFor();
    await page.getByRole("link", { name: "Atlântico Sul" }).click();
    await page.getByRole("button", { name: "Delete tenant" }).click();
    await confirm(viewing);
    await page.getByText("Atlântico Sul was deleted.").waitFor();
    await viewing.open(`tenants/${t.platformTenantId}`);
    assert.equal(await page.getByRole("button", { name: "Delete tenant" }).count(), 0);
    await viewing.close();
  },
);

inBrowser("a new tenant can require a second factor", async (b) => {
  const viewing = await openConsole(b, t, t.systemAdmin);
  const { page } = viewing;
  await viewing.open("tenants/new");
  await page.getByLabel("Name").fill("Careful");
  await page.getByRole("checkbox", { name: "Require a second factor" }).check();
  await page.getByRole("button", { name: "Create" }).click();
  await page.getByText("Careful was created").waitFor();
  await page.getByText("Required", { exact: true }).waitFor();
  await viewing.close();
});

inBrowser("a group's administrator manages its child tenants and no others", async (b) => {
  const group = await t.tenant({ name: "Grupo Douro", type: "Group" });
  const child = await t.tenant({ name: "Douro Norte", parentTenantId: group });
  const foreign = await t.tenant({ name: "Foreign" });
  const viewing = await openConsole(b, t, await t.actor({ role: "GroupAdmin", tenantId: group }));
  const { page } = viewing;
  await viewing.open("tenants");
  await page.getByRole("link", { name: "Douro Norte" }).waitFor();
  assert.equal(await page.getByText("Foreign").count(), 0);
  await viewing.open(`tenants/${child}`);
  await page.getByRole("link", { name: "Edit" }).click();
  await page.getByLabel("Name").fill("Douro Sul");
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByRole("heading", { name: "Douro Sul" }).waitFor();
  assert.equal(await viewing.open(`tenants/${foreign}`), 403);
  viewing.forgive();
  await viewing.close();
});

inBrowser(
  "access is explained by the role that gives it, or by the conditions that are not met",
  async (b) => {
    const user = await t.actor({ role: "Admin" });
    const viewing = await openConsole(b, t, t.systemAdmin);
    const { page } = viewing;
    await viewing.open("explain-access");
    await page.getByRole("searchbox", { name: "User" }).fill(user.email);
    await page.getByLabel("Permission").fill("update:users");
    await page.getByRole("button", { name: "Explain" }).click();
    const has = `${user.email} has update:users (Change, activate and deactivate the tenant's users)`;
    await page.getByText(has, { exact: true }).waitFor(); // in the user's own tenant
    await page.getByRole("list", { name: "Roles that give the permission" }).getByText("Admin").waitFor();
    await viewing.requireAccessible();
    await page.getByLabel("Tenant", { exact: true }).last().selectOption({ label: "Platform" });
    await page.getByRole("button", { name: "Explain" }).click();
    await page.getByText("The user does not belong to the tenant. Add the tenant to the user.").waitFor();
    await page.getByRole("list", { name: "Roles that would give it" }).getByText("SystemAdmin").waitFor();
    await t.steward.platform.sql`insert into tenants (id, name, type)
    select gen_random_uuid(), 'A first ' || n, 'Standard' from generate_series(1, 60) n`;
    const chosen = page.getByLabel("Tenant", { exact: true }).last().locator("option:checked");
    await viewing.open("explain-access");
    assert.equal(await chosen.textContent(), "The user's own tenant");
    await viewing.open(`explain-access?userId=${user.userId}&tenantId=${user.tenantId}`);
    assert.equal(await chosen.getAttribute("value"), user.tenantId);
    await viewing.open("explain-access?user=nobody-like-this&permission=x:y");
    await page.getByText("No user matches.").waitFor();
    await viewing.close();
  },
);

inBrowser("the audit log shows the changes of the viewer's tenant, and can be filtered", async (b) => {
  const admin = await t.actor({ role: "Admin" });
  const foreign = await t.actor({ role: "Admin" });
  const made = await admin.post("/api/v1/roles", { name: "<i>Auditors</i>", permissionIds: [] });
  await admin.put(`/api/v1/roles/${made.body.id}`, { name: "Readers" });
  await foreign.post("/api/v1/roles", { name: "Of another tenant", permissionIds: [] });
  const viewing = await openConsole(b, t, admin);
  const { page } = viewing;
  await viewing.open(`audit?action=role.update&actor=${admin.email}`);
  assert.equal(await page.locator(".audit > li").count(), 1);
  await page.locator("summary", { hasText: "1 field" }).click();
  await page.getByRole("cell", { name: "<i>Auditors</i>" }).waitFor();
  await page.getByRole("cell", { name: "Readers" }).waitFor();
  await viewing.requireAccessible();
  await viewing.open("audit");
  assert.equal(await page.getByText("Of another tenant").count(), 0);
  await page.locator(".audit").waitFor();
  await t.steward.platform
    .sql`update users set first_name = 'Ana', last_name = 'Lima' where id = ${admin.userId}`;
  await viewing.open("audit?action=role.update");
  await page.getByRole("searchbox", { name: "User" }).fill("ana lima");
  await page.getByText("Ana Lima changed").waitFor();
  const twin = await t.actor({ tenantId: admin.tenantId ?? "" });
  await t.steward.platform
    .sql`update users set first_name = 'Ana', last_name = 'Limeira' where id = ${twin.userId}`;
  await viewing.open("audit?action=role.update&actor=ana");
  await page.getByRole("list", { name: "Which of these people?" }).getByRole("link", {
    name: "Ana Lima",
    exact: true,
  })
    .click();
  assert.equal(await page.locator(".audit > li").count(), 1);
  await viewing.open("audit?actor=nobody@example.test");
  await page.getByText("No user has this name or email, or you cannot see the user").waitFor();
  await viewing.close();
});
