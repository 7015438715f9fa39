import assert from "node:assert/strict";
import { accepted } from "../../support/outcomes.ts";
import { setupShared } from "../../support/setup.ts";
import { browse, browseAt } from "./plain_browser.ts";

const t = await setupShared();
const { sql } = t.steward.platform;

const MANAGER = [
  ...["read", "create", "update", "delete"].flatMap((verb) => [`${verb}:roles`, `${verb}:permissions`]),
  "read:users",
];
const named = (userId: string, firstName: string, lastName: string) =>
  sql`update users set first_name = ${firstName}, last_name = ${lastName} where id = ${userId}`;

Deno.test("a role is created with permissions, changed, shown in the matrix, and deleted", async () => {
  const browser = await browseAt(t, await t.actor({ permissions: MANAGER }), "roles/new");
  assert.ok(browser.page.isDisabled("purge:files"), "not held by the viewer");
  await browser.press("Create", { Name: "Support", "read:users": true });
  browser.page.shows(/The role Support was created in Tenant [0-9a-f-]+\./);
  await browser.follow("Edit");
  (await browser.press("Save", { "read:roles": true })).shows("The role was saved.");
  const matrix = await browser.visit("roles/matrix");
  matrix.shows("Support gives read:roles", "Support does not give delete:roles");
  await browser.visit("roles?search=Support");
  await browser.follow("Support");
  (await browser.press("Delete role")).shows("The role Support was deleted.");
});

Deno.test("before a role is saved, the page shows who gains and loses what, and how many sessions end; a built-in one cannot be changed", async () => {
  const admin = await t.actor({ permissions: [...MANAGER, "read:tenants"] });
  const tenantId = admin.tenantId ?? "";
  const ana = await t.actor({ tenantId, permissions: ["read:roles"] });
  await named(ana.userId, "Ana", "Lima");
  await sql`update roles set name = 'Clerks' where id = ${ana.roleId}`;
  const mayReadUsers = async () =>
    (await admin.get(`/api/v1/users/${ana.userId}/permissions`)).body.includes("read:users");
  const browser = await browse(t, admin);
  (await browser.visit(`roles/${ana.roleId}`)).shows("1 user has this role, so it cannot be deleted.");
  const { items: [builtIn] } = (await admin.get("/api/v1/roles?search=Visitor")).body;
  const unchanging = (await browser.visit(`roles/${builtIn.id}`)).shows("cannot be changed or deleted");
  assert.ok(!unchanging.offers.includes("Edit"));
  await browser.begin("Roles", "Clerks", "Edit");
  const review = await browser.press("Save", { permissionIds: ["read:users"] });
  review.shows("1 user is affected.", "1 session ends");
  assert.match(review.rows.find((row) => row.includes("Ana Lima")) ?? "", /read:users read:roles/);
  assert.equal(await mayReadUsers(), false, "the review changes nothing");
  (await browser.press("Save for 1 user")).shows("The role was saved.");
  assert.equal(await mayReadUsers(), true);
});

Deno.test("custom permissions are created, changed and deleted; built-in ones have no actions", async () => {
  const browser = await browseAt(t, await t.actor({ permissions: MANAGER }), "permissions/new");
  const made = await browser.press("Create", { Code: "approve:invoices", Category: "Invoices" });
  const edits = made.shows("approve:invoices was created.").offers.filter((name) => name === "Edit");
  assert.equal(edits.length, 1, "only the own one");
  await browser.follow("Edit");
  const text = "Aprovar faturas até 10 000 €";
  (await browser.press("Save", { Description: text })).shows(text);
  (await browser.press("Delete")).shows("approve:invoices was deleted.");
});

Deno.test("system administrators choose the roles of every tenant that have a permission", async () => {
  const permission = { code: "ship:parcels", category: "Parcels" };
  const { id } = await accepted(t.systemAdmin.post("/api/v1/permissions", permission), 201);
  const browser = await browseAt(t, t.systemAdmin, "permissions?search=ship:parcels");
  await browser.follow("Roles of every tenant");
  (await browser.press("Save", { Visitor: true })).shows("The roles with ship:parcels were saved.");
  (await browser.visit("permissions?search=ship:parcels")).shows("Visitor");
  await browser.follow("Roles of every tenant");
  await browser.press("Save", { Visitor: false });
  await accepted(t.systemAdmin.delete(`/api/v1/permissions/${id}`));
  await browser.visit("permissions?search=read:users");
  await browser.follow("Roles of every tenant");
  (await browser.press("Save", { Admin: false })).shows("read:users cannot be taken from Admin");
});

Deno.test("an import of permissions previews the result of every row before it saves anything", async () => {
  const importer = await t.actor({ permissions: MANAGER });
  const browser = await browse(t, importer);
  const csv =
    'code,description,category\nexport:invoices,"One, two",Invoices\nnot a code,<b>x</b>,Invoices\n';
  await browser.visit("permissions/import");
  const file = new File([csv], "permissions.csv", { type: "text/csv" });
  (await browser.press("Check the file", { File: file })).shows(
    "1 row fails and will be skipped.",
    "not a code Failed",
  );
  const count = async () =>
    (await importer.get("/api/v1/permissions?search=export:invoices")).body.totalCount;
  assert.equal(await count(), 0, "nothing is written by the preview");
  (await browser.press("Import 1 permission")).shows("Imported: 1 new, 0 updated, 1 failed.");
  assert.equal(await count(), 1);
});

Deno.test("tenants are created, grouped, limited, deactivated and deleted; a group with children cannot be deleted", async () => {
  const browser = await browse(t, t.systemAdmin);
  const suffix = crypto.randomUUID();
  const [groupName, name] = [`Grupo ${suffix}`, `Atlântico Sul ${suffix}`];
  const group = await t.tenant({ name: groupName, type: "Group" });
  await browser.visit(`tenants/new?parentTenantId=${group}`);
  await browser.press("Create", { Name: name, "User limit": "4", "Require a second factor": true });
  const own = browser.page.shows(`${name} was created`, "0 of 4", "Required").address;
  (await browser.press("Deactivate")).shows(`${name} is inactive.`);
  await browser.follow("Edit");
  assert.equal(browser.page.value("Require a second factor"), true, "the form shows the current value");
  (await browser.press("Save", { "Require a second factor": false })).shows("Optional");
  (await browser.visit(`tenants?view=tree&search=${suffix}`)).shows(groupName, name);
  await browser.visit(`tenants/${group}`);
  (await browser.press("Delete tenant")).shows("The group still contains tenants.");
  assert.equal((await browser.follow(name)).address, own);
  (await browser.press("Delete tenant")).shows(`${name} was deleted.`);
  assert.ok(!(await browser.visit(`tenants/${t.platformTenantId}`)).offers.includes("Delete tenant"));
});

Deno.test("access is explained by the role that gives it, or by the conditions that are not met", async () => {
  const admin = await t.actor({ role: "Admin" });
  const tenantId = admin.tenantId ?? "";
  const ana = await t.actor({ tenantId, role: "Visitor" });
  const own = await browse(t, admin);
  await own.begin("Explain access");
  await own.press("Explain", { user: ana.email, Permission: "create users in the tenant" });
  own.page.shows(`${ana.email} does not have create:users`, "None of the user's roles gives it.");
  const browser = await browse(t, t.systemAdmin);
  const asked = `explain-access?userId=${admin.userId}&permission=update:users`;
  (await browser.visit(asked)).shows(`${admin.email} has update:users`, /Roles that give.* Admin/i);
  (await browser.visit(`${asked}&tenantId=${t.platformTenantId}`)).shows(
    "The user does not belong to the tenant. Add the tenant to the user.",
    "SystemAdmin",
  );
  (await browser.visit("explain-access?user=nobody-like-this&permission=x:y")).shows("No user matches.");
});

Deno.test("the audit log shows changes, and can be filtered by action and person", async () => {
  const admin = await t.actor({ role: "Admin" });
  const made = await admin.post("/api/v1/roles", { name: "<i>Auditors</i>", permissionIds: [] });
  await admin.put(`/api/v1/roles/${made.body.id}`, { name: "Readers" });
  const browser = await browse(t, admin);
  const isEntry = ({ parent }: { parent: object | null }) =>
    parent !== null && "attribs" in parent && (parent.attribs as { class?: string }).class === "audit";
  const entries = () => browser.page.all("li", isEntry).length;
  await browser.visit(`audit?action=role.update&actor=${admin.email}`);
  assert.equal(entries(), 1);
  browser.page.shows("1 field", "<i>Auditors</i>", "Readers");
  (await browser.visit("audit?action=role.create")).shows("created role");
  (await browser.follow("Trace")).shows("Timeline", "created role");
  await browser.visit("audit");
  await named(admin.userId, "Ana", "Lima");
  (await browser.visit("audit?action=role.update&actor=ana+lima")).shows("Ana Lima changed");
  const twin = await t.actor({ tenantId: admin.tenantId ?? "" });
  await named(twin.userId, "Ana", "Limeira");
  (await browser.visit("audit?action=role.update&actor=ana")).shows("Which of these people?", "Ana Limeira");
  await browser.follow("Ana Lima");
  assert.equal(entries(), 1);
  await browser.visit("audit?actor=nobody@example.test");
  browser.page.shows("No user has this name or email, or you cannot see the user");
});

Deno.test("an address of a page with something else than an id is not found, and leads on", async () => {
  const admin = await browse(t, t.systemAdmin);
  const kinds = "jobs users roles tenants templates webhooks applications reports recurring work-in";
  for (const kind of kinds.split(" ")) {
    const page = await admin.visit(`${kind}/no-id-at-all`);
    assert.equal(page.shows("There is no such page in Platform", "Go to the overview").status, 404, kind);
  }
  for (const address of ["users/7/edit", "permissions/x/default-roles", "explain-access?userId=x"]) {
    assert.equal((await admin.visit(address)).heading, "Not found", address);
  }
});
