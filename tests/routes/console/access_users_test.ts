import assert from "node:assert/strict";
import { newId } from "../../../domain/shared/ids.ts";
import { pluck } from "../../support/answers.ts";
import { HttpClient } from "../../support/http.ts";
import { accepted } from "../../support/outcomes.ts";
import { setupShared } from "../../support/setup.ts";
import { addApp } from "../auth/factors.ts";
import { Uploading } from "../files/uploading.ts";
import { browse, browseAt } from "./plain_browser.ts";

const t = await setupShared();
const { sql } = t.steward.platform;

const named = (userId: string, firstName: string, lastName: string) =>
  sql`update users set first_name = ${firstName}, last_name = ${lastName} where id = ${userId}`;

Deno.test("an administrator creates a user with a role, then changes, deactivates and removes the user, and sends a password reset", async () => {
  const browser = await browse(t, await t.actor({ role: "Admin" }));
  const email = `${newId()}@example.test`;
  await browser.visit("users/new");
  const refused = await browser.press("Create", {
    Email: email,
    Password: "short",
    "First name": "<b>Ana</b>",
    Visitor: true,
  });
  assert.deepEqual([refused.status, refused.value("Email"), refused.value("Visitor")], [400, email, true]);
  await browser.press("Create", { Password: "a good long password" });
  assert.equal(browser.page.shows(`${email} was created.`).heading, "<b>Ana</b>");
  await browser.follow("Edit roles");
  (await browser.press("Save", { GroupAdmin: true })).shows("ROLE_ASSIGNMENT_ESCALATION_BLOCKED");
  await browser.press("Save", { GroupAdmin: false, Visitor: false, Admin: true });
  browser.page.shows("The roles were saved.");
  (await browser.press("Send password reset")).shows("A link to set a new password was sent to the user.");
  await browser.follow("Edit");
  (await browser.press("Save", { "External id": "E-7" })).shows("E-7");
  (await browser.press("Deactivate")).shows("The user is inactive. Their sessions have ended.");
  await browser.press("Remove from tenant");
  browser.page.shows(`${email} was removed from the tenant.`);
});

Deno.test("one tenant cannot change a user who is active in another; the page says why", async () => {
  const admin = await t.actor({ role: "Admin" });
  const shared = await t.actor({ role: "Visitor", tenantId: admin.tenantId ?? "" });
  await sql`insert into user_tenants (user_id, tenant_id) values (${shared.userId}, ${await t.tenant()})`;
  const browser = await browseAt(t, admin, "users");
  await browser.press("Deactivate", { [shared.email]: true });
  await browser.press("Deactivate (1)");
  browser.page.shows("Deactivate: done for 0. Refused for 1", "Ask an administrator of all tenants");
});

Deno.test("a system administrator adds a tenant to a user, changes roles, unlocks the user and ends sessions", async () => {
  const user = await t.actor({ role: "Visitor" });
  const name = `Contoso ${newId()}`;
  const other = await t.tenant({ name });
  await sql`update users set lockout_expires_at = now() + interval '9 minutes' where id = ${user.userId}`;
  const browser = await browseAt(t, t.systemAdmin, `users/${user.userId}/links/new?tenantId=nowhere`);
  browser.page.shows("No tenant has this name.");
  await browser.press("Show roles", { tenantId: name.slice(0, -2) });
  (await browser.press("Add tenant", { Visitor: true })).shows(`The user was added to ${name}.`);
  await browser.follow("Edit tenants and roles");
  const box = (name: string) => {
    const found = browser.page.all("input", ({ attribs }) => attribs.name?.includes(other) === true)
      .find((tag) => browser.page.nameOf(tag).startsWith(name));
    return found?.attribs.id ?? assert.fail(name);
  };
  await browser.press("Save", { [box("The link is active")]: false, [box("GroupAdmin")]: true });
  browser.page.shows("The tenants and roles were saved.");
  const { body } = await t.systemAdmin.get(`/api/v1/admin/users/${user.userId}/tenants`);
  const link = body.find(({ tenantId }: { tenantId: string }) => tenantId === other);
  assert.equal(link.isActive, false);
  assert.deepEqual(pluck(link.roles, "name"), ["GroupAdmin", "Visitor"]);
  assert.ok(!browser.page.offers.includes("End all sessions"), "the change has ended it");
  await sql`insert into sessions (id, user_id, security_version, expires_at)
    select ${newId()}, id, security_version, now() + interval '1 hour' from users where id = ${user.userId}`;
  (await browser.press("Unlock")).shows("The user is unlocked");
  (await browser.press("End all sessions")).shows("1 session ended.");
});

Deno.test("a system administrator creates a user in any tenant, which is found by its name", async () => {
  const name = `Fabrikam ${newId()}`;
  const tenantId = await t.tenant({ name });
  const email = `${newId()}@fabrikam.test`;
  const browser = await browseAt(t, t.systemAdmin, `users/new?tenantId=${encodeURIComponent(name)}`);
  await browser.press("Create", { email, password: "violet tortoise 42 lamp", Visitor: true });
  browser.page.shows(name, "Visitor");
  await browser.visit(
    `explain-access?user=${email}&permission=read:users&tenantId=${encodeURIComponent(name)}`,
  );
  browser.page.shows(`in ${name}`);
  await browser.visit(`users/new?tenantId=${tenantId}`);
  await browser.press("Create", { email: `2${email}`, password: "violet tortoise 42 lamp" });
  browser.page.shows(`2${email}`, name);
});

Deno.test("an administrator removes the second factors of a user who lost the phone", async () => {
  const admin = await t.actor({ role: "Admin" });
  const tenantId = admin.tenantId ?? "";
  const user = await t.actor({ role: "Visitor", tenantId });
  const address = `users/${user.userId}`;
  const [browser, service] = [await browse(t, admin), await browse(t, t.systemAdmin)];
  (await browser.visit(address)).lacks("Remove second factors"); // the user has none
  await addApp(user, { now: Date.now, step: 0 });
  const reader = await browse(t, await t.actor({ tenantId, permissions: ["read:users"] }));
  (await reader.visit(address)).lacks("Remove second factors");
  (await service.visit(address)).shows("Remove second factors");
  await browser.visit(address);
  await browser.press("Remove second factors");
  browser.page.shows("The second factors of the user were removed.").lacks("Remove second factors");
  assert.equal((await user.get("/api/v1/auth/me")).status, 401, "the sessions have ended");
});

Deno.test("an administrator invites a person, sends the invitation again and revokes it", async () => {
  const admin = await t.actor({ role: "Admin" });
  const browser = await browse(t, admin);
  await browser.begin("Users", "Invite a person");
  const [current] = browser.page.all("a", ({ attribs }) => attribs["aria-current"] === "page");
  assert.equal(current && browser.page.nameOf(current), "Users", "the section of its breadcrumb");
  const email = `${newId()}@example.test`;
  await browser.press("Send invitation", { Email: email, Visitor: true });
  browser.page.shows(`The invitation was sent to ${email}.`);
  const invited = async () =>
    (await admin.get(`/api/v1/users/invitations?email=${email}`)).body.items[0].status;
  assert.equal(await invited(), "Pending");
  assert.doesNotMatch(browser.page.rows[0] ?? "", /time/);
  (await browser.press("Send again")).shows(`The invitation was sent to ${email} again.`);
  assert.match(browser.page.rows[0] ?? "", /1 time/);
  await browser.press("Send again");
  assert.match(browser.page.rows[0] ?? "", /2 times/);
  (await browser.press("Revoke")).shows("The invitation was revoked.");
});

Deno.test("an administrator checks a file of users, sees the rows with errors, then imports", async () => {
  const importer = await t.actor({
    permissions: ["read:users", "create:users", "upload:files", "read:files", "read:roles"],
  });
  const email = `${newId()}@example.test`;
  const bytes = new TextEncoder().encode(`email,firstName\n${email},<b>Ana</b>\nnot-an-email,Bo\n`);
  await new Uploading(t).uploadAndScan(importer, { bytes, fileName: "people.csv", contentType: "text/csv" });
  const browser = await browse(t, importer);
  await browser.begin("Users", "Import users");
  await browser.press("Check the file", { fileId: "people.csv" });
  await browser.waitFor("Rows with errors");
  browser.page.shows(
    "1 created, 0 updated, 0 unchanged, 1 failed",
    "email: expected an email address",
    "<b>Ana</b>",
    "would be created",
  );
  const isThere = async () => (await importer.get(`/api/v1/users/by-email/${email}`)).status === 200;
  assert.equal(await isThere(), false, "nothing is written");
  await browser.press("Import now");
  await browser.waitFor("1 created, 0 updated, 0 unchanged, 1 failed");
  assert.equal(await isThere(), true);
});

Deno.test("a person with an account is added by email: at once, or by an invitation", async () => {
  const admin = await t.actor({ role: "Admin" });
  const person = await t.actor({ role: "Visitor" });
  const links = async () =>
    (await t.systemAdmin.get(`/api/v1/admin/users/${person.userId}/tenants`)).body.length as number;
  const add = async (viewer: typeof admin, Email: string) => {
    const browser = await browse(t, viewer);
    await browser.visit("users/bring-in");
    return await browser.press("Add an existing user", { Email, Visitor: true });
  };
  (await add(admin, person.email.toUpperCase())).shows("was invited and joins with their account");
  assert.equal(await links(), 1, "nobody is added without agreeing");
  (await add(t.systemAdmin, "nobody-like-this@example.test")).shows("No user has this email.");
  (await add(t.systemAdmin, person.email)).shows("The user was added to this tenant.");
  assert.equal(await links(), 2);
  const browser = await browse(t, await t.actor({ role: "SystemAdmin", global: true }));
  (await browser.visit("users/bring-in")).shows("Choose a tenant");
});

Deno.test("a user's page shows what the user received and uploaded, and the last sign-in", async () => {
  const admin = await t.actor({ permissions: ["read:users", "send:notifications", "read:files"] });
  const user = await t.actor({ tenantId: admin.tenantId ?? "", permissions: ["upload:files", "read:files"] });
  await named(user.userId, "Ana", "Lima");
  await sql`update users set last_login_at = now() - interval '3 hours' where id = ${user.userId}`;
  await new Uploading(t).uploadAndScan(user, { bytes: new TextEncoder().encode("a"), fileName: "notes.txt" });
  const message = { channel: "InApp", recipients: [{ address: user.userId }], textBody: "x" };
  for (let n = 1; n <= 6; n++) {
    await accepted(admin.post("/api/v1/notifications/send", { ...message, subject: `Message ${n}` }));
  }
  const browser = await browse(t, admin);
  (await browser.visit(`users/${admin.userId}`)).shows("Password resets and other mails about the account");
  const page = await browser.begin("Users", "Ana Lima");
  page.shows("notes.txt", "Message 6", "3 hours ago").lacks("Message 1"); // the newest five
  (await browser.follow("Show all")).shows("Message 1");
});

Deno.test("a supporter views the console as a user, reading only, with a banner on every page and an end", async () => {
  const support = await t.actor({ permissions: ["act-as:users", "read:users", "update:users"] });
  const permissions = ["read:users", "update:users"];
  const ana = await t.actor({ tenantId: support.tenantId ?? "", permissions });
  await named(ana.userId, "Ana", "Silva");
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

Deno.test("the list of who acted as users leads to what was changed meanwhile, and to nothing else", async () => {
  const support = await t.actor({ permissions: ["act-as:users", "read:users", "create:roles"] });
  const permissions = ["read:users", "create:roles"];
  const ana = await t.actor({ tenantId: support.tenantId ?? "", permissions });
  await named(support.userId, "Sam", "Help");
  await named(ana.userId, "Ana", "Reis");
  const makeRole = (by: HttpClient, name: string) =>
    accepted(by.post("/api/v1/roles", { name, permissionIds: [] }));
  await makeRole(support, "Own");
  const asked = { reason: "Ticket 12", mayWrite: true };
  const { accessToken } = await accepted(support.post(`/api/v1/users/${ana.userId}/act-as`, asked));
  await makeRole(new HttpClient(t.url, accessToken), "Reviewers");
  const page = await (await browse(t, support)).begin("Users", "Acting as users", "Changes made");
  page.shows("Sam Help as Ana Reis created role Reviewers").lacks("created role Own");
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
