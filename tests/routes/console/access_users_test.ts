import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { newId } from "../../../domain/shared/ids.ts";
import { addApp } from "../auth/factors.ts";
import { Uploading } from "../files/uploading.ts";
import { openConsole, setupConsole, type Viewing } from "./support.ts";

const { t, inBrowser } = await setupConsole();

const confirm = (viewing: Viewing) => viewing.page.locator("dialog[open] [data-confirm-yes]").click();

inBrowser(
  "an administrator creates a user with a role, then changes, deactivates and removes the user",
  async (b) => {
    const admin = await t.actor({ role: "Admin" });
    const viewing = await openConsole(b, t, admin);
    const { page } = viewing;
    await viewing.open("users/new");
    await page.getByLabel("Email").fill("ana@example.test");
    await page.getByLabel("Password").fill("short");
    await page.getByLabel("First name").fill("<b>Ana</b>");
    await page.getByRole("checkbox", { name: "Visitor" }).check();
    await page.getByRole("button", { name: "Create" }).click();
    await page.getByRole("alert").first().waitFor();
    viewing.forgive();
    assert.equal(await page.getByLabel("Email").inputValue(), "ana@example.test");
    assert.ok(await page.getByRole("checkbox", { name: "Visitor" }).isChecked());
    await viewing.requireAccessible();
    await page.getByLabel("Password").fill("a good long password");
    await page.getByRole("button", { name: "Create" }).click();
    await page.getByText("ana@example.test was created.").waitFor();
    await page.getByRole("heading", { name: "<b>Ana</b>" }).waitFor();
    await page.getByRole("link", { name: "Edit roles" }).click();
    await page.getByRole("checkbox", { name: "GroupAdmin" }).check();
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByText("ROLE_ASSIGNMENT_ESCALATION_BLOCKED").waitFor();
    viewing.forgive();
    await page.getByRole("checkbox", { name: "Visitor" }).uncheck();
    await page.getByRole("checkbox", { name: "Admin", exact: true }).check();
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByText("The roles were saved.").waitFor();
    await page.getByRole("button", { name: "Deactivate" }).click();
    await confirm(viewing);
    await page.getByText("The user is inactive. Their sessions have ended.").waitFor();
    await page.getByRole("button", { name: "Remove from tenant" }).click();
    await confirm(viewing);
    await page.getByText("ana@example.test was removed from the tenant.").waitFor();
    await viewing.close();
  },
);

inBrowser("one tenant cannot change a user who is active in another; the page says why", async (b) => {
  const admin = await t.actor({ role: "Admin" });
  const shared = await t.actor({ role: "Visitor", tenantId: admin.tenantId ?? "" });
  await t.steward.platform.sql`insert into user_tenants (user_id, tenant_id)
    values (${shared.userId}, ${await t.tenant()})`;
  const viewing = await openConsole(b, t, admin);
  const { page } = viewing;
  await viewing.open("users");
  await page.getByRole("checkbox", { name: shared.email }).check();
  await page.getByRole("button", { name: "Deactivate" }).click();
  await page.getByRole("button", { name: "Deactivate (1)" }).click();
  await page.getByText("Deactivate: done for 0. Refused for 1").waitFor();
  await page.getByText("Ask an administrator of all tenants").waitFor();
  await viewing.close();
});

inBrowser(
  "a system administrator adds a tenant to a user, changes roles, unlocks the user and ends sessions",
  async (b) => {
    const user = await t.actor({ role: "Visitor" });
    const other = await t.tenant({ name: "Contoso Labs" });
    await t.steward.platform.sql`
    update users set lockout_expires_at = now() + interval '9 minutes' where id = ${user.userId}`;
    const viewing = await openConsole(b, t, t.systemAdmin);
    const { page } = viewing;
    await viewing.open(`users/${user.userId}/links/new?tenantId=${other}`);
    await page.getByRole("checkbox", { name: "Visitor" }).check();
    await page.getByRole("button", { name: "Add tenant" }).click();
    await page.getByText("The user was added to Contoso Labs.").waitFor();
    await page.getByRole("link", { name: "Edit tenants and roles" }).click();
    await viewing.requireAccessible();
    const card = page.locator("section.card", { hasText: "Contoso Labs" }).first();
    await card.getByRole("checkbox", { name: "GroupAdmin" }).check();
    await card.getByRole("checkbox", { name: "The link is active" }).uncheck();
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByText("The tenants and roles were saved.").waitFor();
    const { body } = await t.systemAdmin.get(`/api/v1/admin/users/${user.userId}/tenants`);
    const link = body.find(({ tenantId }: { tenantId: string }) => tenantId === other);
    assert.equal(link.isActive, false);
    assert.deepEqual(link.roles.map(({ name }: { name: string }) => name), ["GroupAdmin", "Visitor"]);
    assert.equal(await page.getByRole("button", { name: "End all" }).count(), 0, "the change has ended it");
    await t.steward.platform.sql`insert into sessions (id, user_id, security_version, expires_at)
      select ${newId()}, id, security_version, now() + interval '1 hour' from users where id = ${user.userId}`;
    await page.getByRole("button", { name: "Unlock" }).click();
    await page.getByText("The user is unlocked").waitFor();
    await page.getByRole("button", { name: "End all" }).click();
    await confirm(viewing);
    await page.getByText("1 session ended.").waitFor();
    await viewing.close();
  },
);

inBrowser("an administrator removes the second factors of a user who lost the phone", async (b) => {
  const admin = await t.actor({ role: "Admin" });
  for (const viewer of [admin, t.systemAdmin]) {
    const user = await t.actor({ role: "Visitor", tenantId: admin.tenantId ?? "" });
    const viewing = await openConsole(b, t, viewer);
    const { page } = viewing;
    const remove = page.getByRole("button", { name: "Remove second factors" });
    await viewing.open(`users/${user.userId}`);
    assert.equal(await remove.count(), 0, "the user has none");
    await addApp(user, { now: Date.now });
    await viewing.open(`users/${user.userId}`);
    await remove.click();
    await page.locator("dialog[open]").getByText("All their sessions end").waitFor();
    await confirm(viewing);
    await page.getByText("The second factors of the user were removed.").waitFor();
    assert.equal(await remove.count(), 0);
    assert.equal((await user.get("/api/v1/auth/me")).status, 401, "the sessions have ended");
    await viewing.close();
  }
  const reader = await t.actor({ tenantId: admin.tenantId ?? "", permissions: ["read:users"] });
  const owner = await t.actor({ tenantId: admin.tenantId ?? "" });
  await addApp(owner, { now: Date.now });
  const viewing = await openConsole(b, t, reader);
  await viewing.open(`users/${owner.userId}`);
  assert.equal(await viewing.page.getByRole("button", { name: "Remove second factors" }).count(), 0);
  await viewing.close();
});

inBrowser("two people who edit the same user do not overwrite each other", async (b) => {
  const user = await t.actor({ role: "Visitor" });
  const viewing = await openConsole(b, t, t.systemAdmin);
  const { page } = viewing;
  await viewing.open(`users/${user.userId}/edit`);
  await page.getByLabel("Last name").fill("Mine");
  await t.systemAdmin.put(`/api/v1/admin/users/${user.userId}`, { lastName: "Theirs" });
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByText("Someone else changed this while you were editing").waitFor();
  assert.equal(await page.getByLabel("Last name").inputValue(), "Theirs");
  viewing.forgive();
  await viewing.close();
});

inBrowser("the last system administrator cannot be removed, and the page says so", async (b) => {
  const { sql } = t.steward.platform;
  const admin = await t.actor({ role: "SystemAdmin" });
  await sql`update users set is_active = false where id in (
    select h.user_id from user_tenant_roles h join roles r on r.id = h.role_id where r.name = 'SystemAdmin')
    and id <> ${admin.userId}`;
  const viewing = await openConsole(b, t, admin);
  const { page } = viewing;
  await viewing.open(`users/${admin.userId}`);
  assert.equal(await page.getByRole("button", { name: "Deactivate" }).count(), 0, "not on oneself");
  await viewing.open(`users/${admin.userId}/links`);
  await page.getByRole("checkbox", { name: "SystemAdmin" }).uncheck();
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByText("LAST_SYSTEM_ADMIN_CONFLICT").waitFor();
  viewing.forgive();
  await sql`update users set is_active = true`;
  await viewing.close();
});

inBrowser("an administrator invites a person, sends the invitation again and revokes it", async (b) => {
  const admin = await t.actor({ role: "Admin" });
  const viewing = await openConsole(b, t, admin);
  const { page } = viewing;
  await viewing.open("invitations/new");
  assert.equal(
    await page.locator("#sections [aria-current=page]").textContent(),
    "Users",
    "the section of its breadcrumb",
  );
  await page.getByLabel("Email").fill("guest@example.test");
  await page.getByRole("checkbox", { name: "Visitor" }).check();
  await page.getByRole("button", { name: "Send invitation" }).click();
  await page.getByText("The invitation was sent to guest@example.test.").waitFor();
  await viewing.requireAccessible();
  await page.getByRole("button", { name: "Send again" }).click();
  await page.getByText("The invitation was sent to guest@example.test.").waitFor();
  await page.getByRole("button", { name: "Revoke" }).click();
  await confirm(viewing);
  await page.getByText("The invitation was revoked.").waitFor();
  await viewing.open(`users/${(await t.actor({ tenantId: admin.tenantId ?? "" })).userId}`);
  await page.getByRole("button", { name: "Send password reset" }).click();
  await confirm(viewing);
  await page.getByText("A link to set a new password was sent to the user.").waitFor();
  await page.getByRole("link", { name: "Edit", exact: true }).click();
  await page.getByLabel("External id").fill("E-7");
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByText("E-7", { exact: true }).waitFor();
  await viewing.close();
});

inBrowser("an administrator uploads a file, sees the rows with errors, then imports", async (b) => {
  const importer = await t.actor({
    permissions: ["read:users", "create:users", "upload:files", "read:files", "read:roles"],
  });
  const viewing = await openConsole(b, t, importer);
  const { page } = viewing;
  await viewing.open("user-imports/new");
  await viewing.requireAccessible();
  const csv = "email,firstName\nimported@example.test,<b>Ana</b>\nnot-an-email,Bo\n";
  const file = { name: "people.csv", mimeType: "text/csv", buffer: Buffer.from(csv) };
  await page.locator("#f-file").setInputFiles(file);
  await page.getByRole("button", { name: "Upload and check" }).click();
  await page.getByText("people.csv").waitFor();
  await page.getByRole("button", { name: "Check the file" }).click();
  await page.getByText("1 created, 0 updated, 0 unchanged, 1 failed").waitFor();
  const failed = page.getByRole("table", { name: "Rows with errors" });
  await failed.getByText("email: expected an email address").waitFor();
  await page.getByRole("cell", { name: "<b>Ana</b>" }).waitFor();
  await page.getByText("would be created").waitFor();
  await viewing.requireAccessible();
  assert.equal((await importer.get("/api/v1/users/by-email/imported@example.test")).status, 404);
  await page.getByRole("button", { name: "Import now" }).click();
  await confirm(viewing);
  await page.getByRole("heading", { name: "User import", exact: true }).waitFor();
  await page.getByText("1 created, 0 updated, 0 unchanged, 1 failed").waitFor();
  await viewing.requireAccessible();
  const found = await importer.get("/api/v1/users/by-email/imported@example.test");
  assert.equal(found.status, 200);
  await viewing.open("user-imports/new");
  await page.getByText("Or choose a file that is uploaded already").click();
  await page.getByLabel("File").last().selectOption({ label: "people.csv" });
  await page.getByRole("button", { name: "Check the file" }).click();
  await page.getByText("0 created, 0 updated, 1 unchanged, 1 failed").waitFor();
  await viewing.close();
});

inBrowser("a person with an account is added by email: at once, or by an invitation", async (b) => {
  const admin = await t.actor({ role: "Admin" });
  const person = await t.actor({ role: "Visitor" });
  const viewing = await openConsole(b, t, admin);
  const { page } = viewing;
  const add = async () => {
    await page.getByLabel("Email").fill(person.email.toUpperCase());
    await page.getByRole("checkbox", { name: "Visitor" }).check();
    await page.getByRole("button", { name: "Add an existing user" }).click();
  };
  await viewing.open("users/bring-in");
  await add();
  await page.getByText("was invited and joins with their account").waitFor();
  const links = async () =>
    (await t.systemAdmin.get(`/api/v1/admin/users/${person.userId}/tenants`)).body.length as number;
  assert.equal(await links(), 1, "nobody is added without agreeing");
  await viewing.close();
  const platform = await openConsole(b, t, t.systemAdmin);
  await platform.open("users/bring-in");
  await platform.page.getByLabel("Email").fill("nobody-like-this@example.test");
  await platform.page.getByRole("checkbox", { name: "Visitor" }).check();
  await platform.page.getByRole("button", { name: "Add an existing user" }).click();
  await platform.page.getByText("No user has this email.").first().waitFor();
  platform.forgive();
  await platform.page.getByLabel("Email").fill(person.email);
  await platform.page.getByRole("button", { name: "Add an existing user" }).click();
  await platform.page.getByText("The user was added to this tenant.").waitFor();
  assert.equal(await links(), 2);
  await platform.close();
});

inBrowser("a user's page shows what the user received and uploaded, and the open sessions", async (b) => {
  const admin = await t.actor({
    permissions: ["read:users", "update:users", "send:notifications", "read:files"],
  });
  const tenantId = admin.tenantId ?? "";
  const user = await t.actor({ tenantId, permissions: ["upload:files", "read:files"] });
  await new Uploading(t).uploadAndScan(user, { bytes: new TextEncoder().encode("a"), fileName: "notes.txt" });
  const send = (subject: string) =>
    admin.post("/api/v1/notifications/send", {
      channel: "InApp",
      recipients: [{ address: user.userId }],
      subject,
      textBody: "text",
    });
  for (let n = 1; n <= 6; n++) assert.equal((await send(`Message ${n}`)).status, 200);
  const viewing = await openConsole(b, t, admin);
  const { page } = viewing;
  await viewing.open(`users/${user.userId}`);
  await page.getByRole("link", { name: "notes.txt" }).waitFor();
  await page.getByRole("link", { name: "Message 6" }).waitFor();
  assert.equal(await page.getByRole("link", { name: "Message 1" }).count(), 0, "the newest five");
  await viewing.requireAccessible();
  await page.getByRole("link", { name: "Show all" }).click();
  await page.getByRole("link", { name: "Message 1" }).waitFor();
  await viewing.open(`files?createdBy=${user.userId}`);
  await page.getByRole("link", { name: "notes.txt" }).waitFor();
  await viewing.open(`files?createdBy=${admin.userId}`);
  assert.equal(await page.getByRole("link", { name: "notes.txt" }).count(), 0);
  await viewing.open(`users/${user.userId}`);
  await page.getByRole("button", { name: "End all sessions" }).click();
  await confirm(viewing);
  await page.getByText("1 session ended.").waitFor();
  assert.equal((await user.get("/api/v1/auth/me")).status, 401);
  await viewing.close();
});
