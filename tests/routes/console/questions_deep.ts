// Questions of an operator. The README of the console has the way to each answer.
import assert from "node:assert/strict";
import { accepted } from "../../support/outcomes.ts";
import type { Actor } from "../../support/setup.ts";
import { until } from "../../support/until.ts";
import { answersInReadme, Questioner } from "./questioner.ts";
import { makeWorld, TRACE } from "./questions_world.ts";
import { openConsole, setupConsole } from "./support.ts";

const { t, inBrowser } = await setupConsole();
const { zora, ...w } = await makeWorld(t);
const answers = await answersInReadme();
const asked = new Set<string>();

/** Defines a test that finds the answer, or does what is asked, by the way that the README shows. */
function ask(question: string, find: (q: Questioner) => Promise<void>, by: Actor = t.systemAdmin): void {
  asked.add(question);
  inBrowser(question, async (browser) => {
    const viewing = await openConsole(browser, t, by);
    const q = new Questioner(viewing.page, t.url);
    await q.begin();
    await find(q);
    assert.deepEqual(q.row, answers.get(question), "the row of routes/console/README.md");
    await viewing.close();
  });
}
const read = (path: string, by = zora) => accepted(by.get(`/api/v1/${path}`));

ask("What is the p95 duration of a job type today?", async (q) => {
  await q.go("Job types", ["steward.sleep", "the type"], "Today");
  await q.rows(/^Running 4\d(\.\d)? s 4\d(\.\d)? s 4\d(\.\d)? s$/);
});

ask("Why did a job fail, and what did it log?", async (q) => {
  await q.go("Jobs", "Dead-lettered", ["steward.fail", "the job"]);
  await q.shows("Ledger 9 is closed", "opening ledger 9", "11:30:00.000");
});

ask("How did a deploy change the failure rate?", async (q) => {
  await q.go("Workers", "Deploys", ["Billing 4.2", "the deploy"]);
  await q.rows(/^steward.http-request 100 100 1% 40%/);
});

ask("What happens in the next 24 hours?", async (q) => {
  await q.go("Recurring jobs", "Next 24 hours");
  for (
    const planned of [
      "Recurring job zephyr.hourly",
      "Scheduled jobs steward.http-request",
      "Scheduled messages Email",
    ]
  ) {
    await q.rows(new RegExp(`^(\\d+ \\w+ \\d{4}, )?\\d\\d:\\d\\d .*${planned} \\d`)); // after midnight with its day
  }
}, zora);

ask("Which were the ten slowest jobs of yesterday?", async (q) => {
  await q.go("Jobs", "Period");
  await q.choose("Period", "Yesterday");
  await q.go([/^Duration/, "Duration"], [/^Duration/, "Duration"]);
  const rows = (await q.rows(/1 h 52 min/)).slice(1, 11);
  const durations = rows.map((row) => /\d+ h \d+ min/.exec(row)?.[0]);
  assert.deepEqual(durations, Array.from({ length: 10 }, (_, n) => `1 h ${52 - n} min`));
});

ask("What belongs to one trace?", async (q) => {
  await q.go("Audit log", "Timeline", "Trace id");
  await q.type(TRACE, "Trace id");
  await q.key("Enter");
  await q.shows("Everything of one trace", /created role Traced/, "notifications.deliver", /Invoice 77/);
  assert.ok(!(await q.page.locator("main").innerText()).includes("created role Clerk"));
}, zora);

ask("What did one tenant do today?", async (q) => {
  await q.click("Tenants");
  await q.type("zephyr", "Search tenants");
  await q.go(["Zephyr", "the tenant"], "Show timeline");
  await q.shows("Everything of one tenant", "Today", "You look at Zephyr without working in it.");
  await q.shows(/Zora Lim created webhook/);
  assert.ok(!(await q.page.locator("main").innerText()).includes("Branch"));
});

ask("Tell me when more than ten dead letters are open", async (q) => {
  await q.go("Workers", "Alert rules", "New alert rule");
  await q.type("Dead letters", "Name");
  await q.choose("Value", "Open dead letters");
  await q.type("10", "Threshold");
  await q.click("Create");
  await q.rows(/^Dead letters Open dead letters 10/);
  const { items: [rule] } = await read("alert-rules", t.systemAdmin);
  assert.deepEqual([rule.metric, rule.threshold, rule.isActive], ["DeadLetters", 10, true]);
});

ask("Why did a job fail; pause a queue; who gave a role? By keyboard alone", async (q) => {
  await q.key("Control+k");
  await q.type(w.failed);
  await q.shows("With this id");
  await q.key("Enter");
  await q.shows("Ledger 9 is closed", "opening ledger 9");
  await q.begin();
  await q.key("Control+k");
  await q.type("pause imports");
  await q.shows("Pause queue imports for all tenants");
  await q.key("Enter");
  await q.tabTo("Reason");
  await q.type("By keyboard");
  await q.key("Enter");
  await q.shows("By keyboard");
  await q.begin();
  await q.key("Control+k");
  await q.type("ana prado");
  await q.shows("ana@zephyr.test");
  await q.key("Enter");
  await q.tabTo("Change history");
  await q.key("Enter");
  await q.shows(/Zora Lim gave Ana Prado the role Admin/);
});

ask("Who gave a user a role, and when?", async (q) => {
  await q.click("Users");
  await q.type("ana@", "Search name or email");
  await q.go(["Ana Prado", "the user"], "Change history");
  await q.shows(/Zora Lim gave Ana Prado the role Admin/);
});

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

ask("How does a template look on a phone in the dark?", async (q) => {
  await q.go("Templates", ["Welcome", "the template"], [/^Version \d$/, "Version"], [
    "Version 1",
    "the version",
  ], "Dark");
  const body = q.page.getByRole("figure", { name: /^Phone/ }).frameLocator("iframe").locator("body");
  const colour = () => body.evaluate((it) => Reflect.get(globalThis, "getComputedStyle")(it).color);
  await until(colour, (shown) => shown === "rgb(250, 250, 250)");
}, zora);

ask("When are the next five runs of every schedule, in my time zone?", async (q) => {
  await q.go("Recurring jobs", "Next 24 hours");
  const { nextRunAt } = await read(`reports/schedules/${w.schedule}`);
  const zone = { timeZone: "Europe/Lisbon" };
  const next = new Intl.DateTimeFormat("en-GB", { dateStyle: "medium", timeStyle: "short", ...zone })
    .format(
      Date.parse(nextRunAt),
    );
  await q.shows("Next runs (Europe/Lisbon)");
  const rows = await q.rows(
    new RegExp(`^Monthly users Report · Zephyr ${next}( \\d+ \\w+ \\d+, 1[23]:00){4}$`),
  );
  assert.ok(rows.some((row) => /^zephyr.hourly Recurring job · Zephyr( .*\d\d:05){5}$/.test(row)));
}, zora);

/** These questions need no script of a page, so a test of the gate asks them. */
const IN_GATE: Record<string, string> = {
  "Is it healthy, and what changed in the last hour?":
    "overview: the overview leads from a problem to its page",
  "Which worker on which host holds a job?": "jobs: workers are shown by host with what they hold",
  "Retry all failed jobs of a tenant that have one error": "jobs: dead letters are grouped by error",
  "Pause a queue with a reason; resume it": "jobs: the pages of jobs say what is paused and why",
  "Find anything by an email, an id or a trace id": "search: pages, users, tenants, roles, job types",
  "Why can a user not do something? Grant it": "access: access is explained by the role that gives it",
  "Reset a password; end all sessions; unlock a user": "access_users: a system administrator adds a tenant",
  "Import users from a CSV file, with a preview": "access_users: an administrator checks a file of users",
  "Which mails to an address failed, and why? Send one again": "notifications: a message shows attachments",
  "Who is affected if a permission leaves a role?":
    "access: before a role is saved, the page shows who gains",
  "Invite a user; send the invitation again; revoke it": "access_users: an administrator invites a person",
  "Give a tenant's administrator a restricted console":
    "access_users: an administrator creates a user with a role",
  "See the product as a user": "acting: a supporter views the console as a user",
  "Undo what I just did": "undo: what is paused, held, deactivated or given is as before",
  "Work in a tenant as an administrator of the platform": "scope: an administrator finds a tenant among many",
  "Why can a file not be downloaded?": "files: the page of a file with malware says what was found",
  "Put a legal hold on a file; release it": "files: references and a legal hold are explained",
  "Compare two versions of a template; restore one": "templates: versions of a template are compared",
  "Why did a scheduled report not arrive? Deliver it again":
    "reports: a report that was not delivered leads from",
  "Redeliver all failed webhook deliveries of yesterday": "integration: all failed deliveries of yesterday",
  "Download a filtered list as CSV": "lists: a list is downloaded as CSV with its filters",
  "How much does each tenant store, and how fast does it grow?":
    "../operations/usage: what a tenant uses is counted",
  "How many mails did each tenant send in a month?": "../operations/usage: what a tenant uses is counted",
  "What fills the database?": "../operations/usage: the state of the database names its largest tables",
};

Deno.test("the README of the console has the ways to these forty answers and to no others", async () => {
  for (const named of Object.values(IN_GATE)) {
    const [file = "", test = ""] = named.split(": ");
    const source = await Deno.readTextFile(new URL(`${file}_test.ts`, import.meta.url));
    assert.ok(source.includes(`Deno.test("${test}`), named);
  }
  assert.deepEqual(new Set(answers.keys()), asked.union(new Set(Object.keys(IN_GATE))));
  assert.equal(answers.size, 40);
});
