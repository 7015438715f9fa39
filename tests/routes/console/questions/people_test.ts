import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { Uploading } from "../../files/uploading.ts";
import { setupConsole } from "../support.ts";
import { answerQuestion } from "./support.ts";

const { t, inBrowser } = await setupConsole();
const { sql } = t.steward.platform;
const named = (userId: string, firstName: string, lastName: string) =>
  sql`update users set first_name = ${firstName}, last_name = ${lastName} where id = ${userId}`;

inBrowser("why can Ana not create users, and which role would let her", async (browser) => {
  const admin = await t.actor({ role: "Admin" });
  const ana = await t.actor({ tenantId: admin.tenantId ?? "", role: "Visitor" });
  await named(ana.userId, "Ana", "Lima");
  for (const viewer of [admin, t.systemAdmin]) {
    await answerQuestion(browser, t, viewer, async ({ page }) => {
      await page.getByRole("link", { name: "Explain access" }).click();
      await page.getByRole("searchbox", { name: "User" }).fill(ana.email);
      await page.getByLabel("Permission").fill("create users in the tenant");
      await page.getByRole("button", { name: "Explain" }).click();
      await page.getByText(`${ana.email} does not have create:users`).waitFor();
      await page.getByText("None of the user's roles gives it.").waitFor();
      await page.getByRole("list", { name: "Roles that would give it" }).getByText("Admin", { exact: true })
        .waitFor();
    });
  }
});

inBrowser("who is affected if I change this role", async (browser) => {
  const admin = await t.actor({
    permissions: ["read:roles", "update:roles", "read:permissions", "read:users", "read:tenants"],
  });
  const ana = await t.actor({ tenantId: admin.tenantId ?? "", permissions: ["read:tenants"] });
  await named(ana.userId, "Ana", "Lima");
  await sql`update roles set name = 'Clerks' where id = ${ana.roleId}`;
  await answerQuestion(browser, t, admin, async ({ page }) => {
    await page.getByRole("navigation", { name: "Sections" }).getByRole("link", { name: "Roles" }).click();
    await page.getByRole("link", { name: "Clerks" }).click();
    await page.getByRole("link", { name: "Edit" }).click();
    await page.getByRole("checkbox", { name: "read:tenants" }).uncheck();
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByText("1 user is affected.").waitFor();
    const row = page.getByRole("table", { name: "Affected users" }).getByRole("row")
      .filter({ hasText: "Ana Lima" });
    assert.match(await row.innerText(), /read:tenants/);
  });
});

inBrowser("invite a colleague", async (browser) => {
  const admin = await t.actor({ role: "Admin" });
  await answerQuestion(browser, t, admin, async ({ page }) => {
    await page.getByRole("navigation", { name: "Sections" }).getByRole("link", { name: "Users" }).click();
    await page.getByRole("link", { name: "Invite a person" }).click();
    await page.getByLabel("Email").fill("colleague@example.test");
    await page.getByRole("checkbox", { name: "Visitor" }).click();
    await page.getByRole("button", { name: "Send invitation" }).click();
    await page.getByText("The invitation was sent to colleague@example.test.").waitFor();
  });
  const { body } = await admin.get("/api/v1/users/invitations?email=colleague@example.test");
  assert.equal(body.items[0].status, "Pending");
});

inBrowser("send a password reset", async (browser) => {
  const admin = await t.actor({ role: "Admin" });
  const ana = await t.actor({ tenantId: admin.tenantId ?? "", role: "Visitor" });
  await named(ana.userId, "Ana", "Lima");
  await answerQuestion(browser, t, admin, async ({ page }) => {
    await page.getByRole("navigation", { name: "Sections" }).getByRole("link", { name: "Users" }).click();
    await page.getByRole("link", { name: "Ana Lima" }).click();
    await page.getByRole("button", { name: "Send password reset" }).click();
    await page.locator("dialog[open]").getByRole("button", { name: "Send password reset" }).click();
    await page.getByText("A link to set a new password was sent to the user.").waitFor();
  });
});

inBrowser("import users from CSV and see the errors before anything is written", async (browser) => {
  const admin = await t.actor({ role: "Admin" });
  const csv = "email,firstName,roles\nnew@example.test,Nia,Visitor\nwrong,Bo,Visitor\n";
  await answerQuestion(browser, t, admin, async ({ page }) => {
    await page.getByRole("navigation", { name: "Sections" }).getByRole("link", { name: "Users" }).click();
    await page.getByRole("link", { name: "Import users" }).click();
    const file = { name: "people.csv", mimeType: "text/csv", buffer: Buffer.from(csv) };
    await page.locator("#f-file").setInputFiles(file);
    await page.getByRole("button", { name: "Upload and check" }).click();
    await page.getByRole("button", { name: "Check the file" }).click();
    await page.getByRole("table", { name: "Rows with errors" }).getByText("email: expected an email address")
      .waitFor();
    const first = page.getByRole("table", { name: "First rows and the columns they are read into" });
    for (const text of ["new@example.test", "Nia", "would be created"]) await first.getByText(text).waitFor();
  });
  assert.equal(
    (await admin.get("/api/v1/users/by-email/new@example.test")).status,
    404,
    "nothing is written",
  );
});

inBrowser("what did this user receive and upload, and when did they last sign in", async (browser) => {
  const admin = await t.actor({
    permissions: ["read:users", "send:notifications", "read:files"],
  });
  const ana = await t.actor({
    tenantId: admin.tenantId ?? "",
    permissions: ["upload:files", "read:files"],
  });
  await named(ana.userId, "Ana", "Lima");
  await sql`update users set last_login_at = now() - interval '3 hours' where id = ${ana.userId}`;
  await new Uploading(t).uploadAndScan(ana, { bytes: new TextEncoder().encode("a"), fileName: "notes.txt" });
  await admin.post("/api/v1/notifications/send", {
    channel: "InApp",
    recipients: [{ address: ana.userId }],
    subject: "Your invoice",
    textBody: "text",
  });
  await answerQuestion(browser, t, admin, async ({ page }) => {
    await page.getByRole("navigation", { name: "Sections" }).getByRole("link", { name: "Users" }).click();
    await page.getByRole("link", { name: "Ana Lima" }).click();
    await page.getByRole("table", { name: "Messages to this user" }).getByText("Your invoice").waitFor();
    await page.getByRole("table", { name: "Files of this user" }).getByText("notes.txt").waitFor();
    await page.getByText("3 hours ago").waitFor();
  });
});

inBrowser("Ana is locked out: until when, and unlock her", async (browser) => {
  const admin = await t.actor({ role: "Admin" });
  const ana = await t.actor({ tenantId: admin.tenantId ?? "", role: "Visitor" });
  await named(ana.userId, "Ana", "Lima");
  const until = new Date(Date.now() + 9 * 60_000);
  await sql`update users set lockout_expires_at = ${until} where id = ${ana.userId}`;
  const time = (options: Intl.DateTimeFormatOptions) =>
    new Intl.DateTimeFormat("en-GB", { timeZone: "Europe/Lisbon", ...options }).format(until);
  await answerQuestion(browser, t, admin, async ({ page }) => {
    await page.getByRole("navigation", { name: "Sections" }).getByRole("link", { name: "Users" }).click();
    const row = page.getByRole("row").filter({ hasText: "Ana Lima" });
    await row.getByText(/^Locked until /).waitFor();
    assert.ok((await row.innerText()).includes(time({ timeStyle: "short" })));
    await page.getByRole("link", { name: "Ana Lima" }).click();
    await page.getByRole("button", { name: "Unlock" }).click();
    await page.getByText("The user is unlocked and can sign in.").waitFor();
  });
  assert.equal((await admin.get(`/api/v1/users/${ana.userId}`)).body.isLockedOut, false);
});
