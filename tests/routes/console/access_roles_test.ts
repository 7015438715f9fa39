import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { openConsole, setupConsole, type Viewing } from "./support.ts";

const { t, inBrowser } = await setupConsole();

const confirm = (viewing: Viewing) => viewing.page.locator("dialog[open] [data-confirm-yes]").click();
const MANAGER = [
  ...["read", "create", "update", "delete"].flatMap((verb) => [`${verb}:roles`, `${verb}:permissions`]),
  "read:users",
];

inBrowser("a role is created with permissions, changed, shown in the matrix, and deleted", async (b) => {
  const viewing = await openConsole(b, t, await t.actor({ permissions: MANAGER }));
  const { page } = viewing;
  await viewing.open("roles/new");
  assert.ok(await page.getByRole("checkbox", { name: "purge:files" }).isDisabled(), "not held by the viewer");
  await page.getByLabel("Name").fill("Support");
  await page.getByRole("checkbox", { name: "read:users" }).check();
  await viewing.requireAccessible();
  await page.getByRole("button", { name: "Create" }).click();
  await page.getByText(/^The role Support was created in Tenant [0-9a-f-]+\.$/).waitFor();
  await page.getByRole("link", { name: "Edit" }).click();
  await page.getByRole("checkbox", { name: "read:roles" }).check();
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByText("The role was saved.").waitFor();
  await viewing.open("roles/matrix");
  await page.getByText("Support gives read:roles", { exact: true }).waitFor({ state: "attached" });
  await page.getByText("Support does not give delete:roles", { exact: true }).waitFor({ state: "attached" });
  await viewing.open("roles?search=Support");
  await page.getByRole("link", { name: "Support" }).click();
  await page.getByRole("button", { name: "Delete role" }).click();
  await confirm(viewing);
  await page.getByText("The role Support was deleted.").waitFor();
  await viewing.close();
});

inBrowser(
  "a built-in role cannot be changed, and a role in use cannot be deleted; the pages say why",
  async (b) => {
    const admin = await t.actor({ role: "Admin" });
    const held = await t.actor({ permissions: ["read:users"], tenantId: admin.tenantId ?? "" });
    const viewing = await openConsole(b, t, admin);
    const { page } = viewing;
    await viewing.open(`roles/${admin.roleId}`);
    await page.getByText("cannot be changed or deleted").waitFor();
    assert.equal(await page.getByRole("link", { name: "Edit" }).count(), 0);
    await viewing.open(`roles/${held.roleId}`);
    await page.getByText("1 user has this role, so it cannot be deleted.").waitFor();
    await page.getByRole("list", { name: "Users with this role" }).getByTitle(held.email).waitFor();
    assert.equal(await page.getByRole("button", { name: "Delete role" }).count(), 0);
    await viewing.requireAccessible();
    await viewing.close();
  },
);

inBrowser(
  "before a role is saved, the page shows who gains and loses what, and how many sessions end",
  async (b) => {
    const admin = await t.actor({ permissions: MANAGER });
    const tenantId = admin.tenantId ?? "";
    const ana = await t.actor({ tenantId, permissions: ["read:roles"] });
    const viewing = await openConsole(b, t, admin);
    const { page } = viewing;
    await viewing.open(`roles/${ana.roleId}/edit`);
    const find = page.getByRole("searchbox", { name: "Find permissions" });
    await find.fill("delete users");
    assert.ok(await page.getByRole("checkbox", { name: "read:roles" }).isHidden());
    await find.fill("read the tenant's roles");
    await page.getByRole("checkbox", { name: "read:roles" }).uncheck();
    await find.fill("");
    await page.getByRole("checkbox", { name: "read:users" }).check();
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByText("1 user is affected.").waitFor();
    await page.getByText(/^1 session ends/).waitFor();
    const row = page.getByRole("row").filter({ hasText: ana.email });
    assert.match(await row.innerText(), /read:users\s+read:roles/);
    await viewing.requireAccessible();
    await viewing.requireNoSidewaysScroll();
    const codes = async () =>
      (await t.systemAdmin.get(
        `/api/v1/admin/users/${ana.userId}/access?permission=read:users&tenantId=${tenantId}`,
      ))
        .body.isAllowed as boolean;
    assert.equal(await codes(), false, "the review changes nothing");
    await page.getByRole("button", { name: "Save for 1 user" }).click();
    await page.getByText("The role was saved.").waitFor();
    assert.equal(await codes(), true);
    await page.getByRole("button", { name: "Undo" }).click();
    await page.getByText("The change was undone.").waitFor();
    assert.equal(await codes(), false);
    await viewing.close();
  },
);

inBrowser("custom permissions are created, changed and deleted; built-in ones have no actions", async (b) => {
  const viewing = await openConsole(b, t, await t.actor({ permissions: MANAGER }));
  const { page } = viewing;
  await viewing.open("permissions/new");
  await page.getByLabel("Code").fill("Approve Invoices");
  await page.getByLabel("Category").fill("Invoices");
  await page.getByRole("button", { name: "Create" }).click();
  await page.getByText("expected action:resource").waitFor();
  viewing.forgive();
  await page.getByLabel("Code").fill("approve:invoices");
  await page.getByRole("button", { name: "Create" }).click();
  await page.getByText("approve:invoices was created.").waitFor();
  assert.equal(await page.getByRole("link", { name: "Edit" }).count(), 1, "only the own one");
  await page.getByRole("link", { name: "Edit" }).click();
  await page.getByLabel("Description").fill("Aprovar faturas até 10 000 €");
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByText("Aprovar faturas até 10 000 €").waitFor();
  await page.getByRole("button", { name: "Delete" }).click();
  await confirm(viewing);
  await page.getByText("approve:invoices was deleted.").waitFor();
  await viewing.close();
});

inBrowser("system administrators choose the roles of every tenant that have a permission", async (b) => {
  const permission = { code: "ship.parcels", category: "Parcels" };
  assert.equal((await t.systemAdmin.post("/api/v1/permissions", permission)).status, 201);
  const viewing = await openConsole(b, t, await t.actor({ role: "SystemAdmin" }));
  const { page } = viewing;
  await viewing.open("permissions?search=ship.parcels");
  await page.getByRole("link", { name: "Roles of every tenant" }).click();
  await page.getByLabel("Visitor").check();
  await viewing.requireAccessible();
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByText("The roles with ship.parcels were saved.").waitFor();
  await viewing.open("permissions?search=ship.parcels");
  await page.getByText("Visitor", { exact: true }).waitFor();
  await viewing.open("permissions?search=read:users");
  await page.getByRole("link", { name: "Roles of every tenant" }).click();
  await page.getByLabel("Admin", { exact: true }).uncheck();
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByText("read:users cannot be taken from Admin").waitFor();
  viewing.forgive();
  await viewing.close();
});

inBrowser("an import previews the result of every row before it saves anything", async (b) => {
  const importer = await t.actor({ permissions: MANAGER });
  const viewing = await openConsole(b, t, importer);
  const { page } = viewing;
  await viewing.open("permissions/import");
  const csv =
    'code,description,category\r\nexport:invoices,"One, two",Invoices\r\nnot a code,<b>x</b>,Invoices\r\n';
  await page.getByLabel("File").setInputFiles({
    name: "permissions.csv",
    mimeType: "text/csv",
    buffer: Buffer.from(csv),
  });
  await page.getByRole("button", { name: "Check the file" }).click();
  await page.getByText("1 row fails and will be skipped.").waitFor();
  await viewing.requireAccessible();
  const count = async () =>
    (await importer.get("/api/v1/permissions?search=export:invoices")).body.totalCount as number;
  assert.equal(await count(), 0, "nothing is written by the preview");
  await page.getByRole("button", { name: "Import 1 permission" }).click();
  await page.getByText("Imported: 1 new, 0 updated, 1 failed.").waitFor();
  assert.equal(await count(), 1);
  await viewing.close();
});
