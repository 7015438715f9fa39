import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { until } from "../../support/until.ts";
import type { Asking } from "./questioner.ts";

/** Questions about the users of a tenant, their files, messages, reports and webhooks. */
export function askAboutTenants({ ask, read, w }: Asking): void {
  const { sql, zora } = w;
  ask("Who gave a user a role, and when?", async (q) => {
    await q.click("Users");
    await q.type("ana@", "Search name or email");
    await q.go(["Ana Prado", "the user"], "Change history");
    await q.shows(/Zora Lim gave Ana Prado the role Admin/);
  });

  ask("Why can a user not do something? Grant it", async (q) => {
    await q.click("Explain access");
    await q.type("ana@zephyr.test", "User");
    await q.type("read:invoices", "Permission");
    await q.click("Explain");
    await q.shows("ana@zephyr.test does not have read:invoices", "None of the user's roles gives it.");
    await q.go("Change the user's roles", ["Accountant", "a role"], "Save");
    await q.shows("The roles were saved.");
  }, zora);

  ask("Who is affected if a permission leaves a role?", async (q) => {
    await q.go("Roles", ["Clerk", "the role"], "Edit", ["send:notifications", "the permission"], "Save");
    await q.shows("210 users are affected.");
  }, zora);

  ask("Invite a user; send the invitation again; revoke it", async (q) => {
    await q.go("Users", "Invite a person");
    await q.type("iris@example.test", "Email");
    await q.go(["Visitor", "a role"], "Send invitation");
    await q.shows("The invitation was sent to iris@example.test.");
    await q.begin("Users", "Invitations", "Send again", ["Send again", "confirm"]);
    await q.shows(/sent to iris@example.test again/);
    await q.begin("Users", "Invitations", "Revoke", [/^Revoke/, "confirm"]);
    await q.shows("The invitation was revoked.");
  }, zora);

  ask("Reset a password; end all sessions; unlock a user", async (q) => {
    await sql`update users set lockout_expires_at = now() + interval '1 hour' where id = ${w.ana}`;
    await sql`insert into sessions (id, user_id, security_version, expires_at)
      select uuidv7(), id, security_version, now() + interval '1 hour' from users where id = ${w.ana}`;
    const toUser = async () => {
      await q.click("Users");
      await q.type("ana@", "Search name or email");
      await q.click("Ana Prado", { as: "the user" });
    };
    await toUser();
    await q.go("Send password reset", ["Send password reset", "confirm"]);
    await q.shows("A link to set a new password was sent to the user.");
    await until(() => w.mails.takenBy("ana@zephyr.test").length > 0);
    await q.begin();
    await toUser();
    await q.go("End all sessions", ["End all sessions", "confirm"]);
    await q.shows("1 session ended.");
    await q.begin();
    await toUser();
    await q.click("Unlock");
    await q.shows("The user is unlocked and can sign in.");
  }, zora);

  ask("Import users from a CSV file, with a preview", async (q) => {
    const csv = "email,firstName\nnia@example.test,Nia\nnot-an-email,Bo\n";
    await q.go("Users", "Import users");
    const chosen = q.page.waitForEvent("filechooser");
    await q.click("File");
    await (await chosen).setFiles({ name: "people.csv", mimeType: "text/csv", buffer: Buffer.from(csv) });
    await q.go("Upload and check", "Check the file");
    await q.shows("1 created, 0 updated, 0 unchanged, 1 failed", "email: expected an email address");
  }, zora);

  ask("See the product as a user", async (q) => {
    await q.click("Users");
    await q.type("rui@", "Search name or email");
    await q.go(["Rui Costa", "the user"], ["View as Rui Costa", "View as …"]);
    await q.type("Ticket 5", "Reason");
    await q.click("View as Rui Costa", { as: "View as …" });
    await q.shows("You act as Rui Costa (Zephyr). You may only read.");
    assert.equal(await q.page.getByRole("link", { name: "Roles", exact: true }).count(), 0);
  }, zora);

  ask("Who has not signed in for 90 days?", async (q) => {
    await q.go("Users", "No sign-in for … days");
    await q.type("90", "No sign-in for … days");
    await q.key("Enter");
    await q.rows(/Clerk No 7 /, /Clerk No 8 |Ana Prado/);
  }, zora);

  ask("Which administrators have no second factor?", async (q) => {
    await q.go("Users", "Rights");
    await q.choose("Rights", "Administrators");
    await q.click("Second factor");
    await q.choose("Second factor", "Without");
    await q.page.waitForURL(/isAdministrator=true/);
    await q.rows(/Zora Lim/, /Safira|Ana Prado|Clerk/);
  });

  ask("Which keys and service accounts are unused for 60 days, or expire?", async (q) => {
    const filter = async (label: string, days: string, found: RegExp, others: RegExp) => {
      await q.click(label);
      await q.type(days, label);
      await q.key("Enter");
      await q.rows(found, others);
    };
    await q.click("API keys");
    await filter("Unused for … days", "60", /Old importer/, /Used today|Expiring soon/);
    await q.begin("API keys");
    await filter("Expires within … days", "7", /Expiring soon/, /Used today|Old importer/);
    await q.begin("Service accounts");
    await filter("Unused for … days", "60", /Old sync/, /New sync/);
  }, zora);

  ask("Move 200 users to another role, with a preview", async (q) => {
    await q.click("Users");
    await q.type("Clerk No", "Search name or email");
    await q.go([/^All 210 that match/, "All that match"], "Move to another role");
    await q.type("Reader");
    await q.type("210", "Type 210 to confirm");
    await q.click("Move to another role (210)", { as: "Move to another role" });
    await q.shows("210 users are affected.");
    await q.click("Move to another role (210)", { as: "Move to another role" });
    await until(async () => (await read(`roles/${w.reader}`)).userCount === 210);
  }, zora);

  ask("Give a tenant's administrator a restricted console", async (q) => {
    await q.click("Users");
    await q.type("rui@", "Search name or email");
    await q.go(["Rui Costa", "the user"], "Edit roles", ["Helpdesk", "a role"], "Save");
    await q.shows("The roles were saved.");
  }, zora);

  ask("Undo what I just did", async (q) => {
    await q.click("Users");
    await q.type("safira@", "Search name or email");
    await q.go(["Safira Reis", "the user"], "Deactivate", ["Deactivate Safira Reis", "confirm"]);
    await q.click("Undo");
    await q.shows("The change was undone.");
  }, zora);

  ask("Work in a tenant as an administrator of the platform", async (q) => {
    await q.click(/^Scope/, { as: "the scope" });
    await q.type("branch 65");
    await q.shows("1 found");
    await q.key("Enter");
    await q.go(["Admin", "a role"], "Work in this tenant");
    await q.shows(
      "You belong to Branch 65 now and work in it.",
      "18 dead letters are open. Retry or purge them.",
    );
  }, w.operator);

  ask("Why can a file not be downloaded?", async (q) => {
    await q.go("Files", ["payroll.txt", "the file"]);
    await q.shows("Infected", /The scan found Eicar.*The content was deleted\./);
  }, zora);

  ask("Put a legal hold on a file; release it", async (q) => {
    const toFile = () => q.go("Files", ["contract.txt", "the file"]);
    await toFile();
    await q.click("Legal hold");
    await q.type("Court 12", "Reason");
    await q.click("Save");
    await q.shows("Under legal hold", /Court 12/);
    await q.begin();
    await toFile();
    await q.go("Legal hold", "Save");
    await q.shows("The retention was changed.");
  }, w.keeper);

  ask("Which mails to an address failed, and why? Send one again", async (q) => {
    await q.click("Messages");
    await q.type("bob@", "Recipient");
    await q.click("Invoice 77", { as: "the message" });
    await q.shows("550 mailbox full");
    w.mails.refusals.clear();
    await q.go("Send again", ["Send again", "confirm"]);
    await until(() => w.mails.takenBy("bob@example.test").length > 0);
  }, zora);

  ask("Compare two versions of a template; restore one", async (q) => {
    await q.go("Templates", ["Welcome", "the template"], ["Version 2", "Version"]);
    await q.shows("Second text", "First text");
    await q.click("Restore", { within: "Version 1" });
    await q.click("Restore", { as: "confirm" });
    await q.shows(/Version 3/);
  }, zora);

  ask("How does a template look on a phone in the dark?", async (q) => {
    await q.go("Templates", ["Welcome", "the template"], [/^Version \d$/, "Version"], [
      "Version 1",
      "the version",
    ], "Dark");
    const body = q.page.getByRole("figure", { name: /^Phone/ }).frameLocator("iframe").locator("body");
    const colour = () => body.evaluate((it) => Reflect.get(globalThis, "getComputedStyle")(it).color);
    await until(colour, (shown) => shown === "rgb(250, 250, 250)");
  }, zora);

  ask("Why did a scheduled report not arrive? Deliver it again", async (q) => {
    await q.go("Report schedules", ["Monthly users", "the schedule"], [/ago/, "Last run"]);
    await q.rows(/^board@example.test By email Failed 550 mailbox full/);
    w.mails.refusals.clear();
    await q.go("Deliver again", ["Deliver again", "confirm"]);
    await q.shows("The deliveries were queued again.");
    await until(() => w.mails.takenBy("board@example.test").length > 0);
  }, zora);

  ask("When are the next five runs of every schedule, in my time zone?", async (q) => {
    await q.go("Recurring jobs", "Next 24 hours");
    const { nextRunAt } = await read(`reports/schedules/${w.schedule}`);
    const zone = { timeZone: "Europe/Lisbon" };
    const format = new Intl.DateTimeFormat("en-GB", { dateStyle: "medium", timeStyle: "short", ...zone });
    const [today] = format.format(Date.now()).split(", ");
    const next = format.format(Date.parse(nextRunAt)).replace(`${today}, `, ""); // without the date if it is today
    await q.shows("Next runs (Europe/Lisbon)");
    const rows = await q.rows(
      new RegExp(`^Monthly users Report · Zephyr ${next}( \\d+ \\w+ \\d+, 1[23]:00){4}$`),
    );
    assert.ok(rows.some((row) => /^zephyr.hourly Recurring job · Zephyr( .*\d\d:05){5}$/.test(row)));
  }, zora);

  ask("Redeliver all failed webhook deliveries of yesterday", async (q) => {
    await q.go("Webhook deliveries", "Period");
    await q.choose("Period", "Yesterday");
    await q.rows(/yesterday/, /days ago/);
    await q.go("Send failed events again", ["2 events: send again", "… events: send again"]);
    await q.shows("2 events were queued again.");
    const statuses = async () =>
      (await sql<{ status: string }[]>`select status from webhook_deliveries
      where created_at < now() - interval '1 hour' order by created_at`).map(({ status }) => status);
    await until(statuses, (all) => all.join() === "Failed,Delivered,Delivered");
  }, zora);
}
