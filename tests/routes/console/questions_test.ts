// Questions of an operator. The README of the console has the way to each answer, which takes few clicks from the overview.
import assert from "node:assert/strict";
import { EVERYTHING } from "../../../domain/jobs/reach.ts";
import { countTime, printBuckets, type TimeBuckets } from "../../../domain/jobs/statistics/time_buckets.ts";
import { newId } from "../../../domain/shared/ids.ts";
import { accepted } from "../../support/outcomes.ts";
import { type Actor, setupShared } from "../../support/setup.ts";
import { everyTenantPermission } from "../isolation/world.ts";
import { browse, type PlainBrowser } from "./plain_browser.ts";

const t = await setupShared();
const { sql } = t.steward.platform;
const name = `Zephyr ${crypto.randomUUID().slice(0, 8)}`;
const tenantId = await t.tenant({ name });
const zora = await t.actor({ tenantId, permissions: everyTenantPermission });
const post = (path: string, body?: unknown, headers = {}) =>
  accepted(zora.post(`/api/v1/${path}`, body, headers));
const asked = new Set<string>();

/** Defines a test that finds the answer, or does what is asked. */
function ask(question: string, find: (browser: PlainBrowser) => Promise<unknown>, by: Actor = zora): void {
  asked.add(question);
  Deno.test(question, async () => {
    const browser = await browse(t, by);
    await find(browser);
    browser.requireFewClicks();
  });
}

/** The rows that the page shows; one of them is as expected, and none is as `without`. */
function requireRow({ page: { rows } }: PlainBrowser, expected: RegExp, without?: RegExp): void {
  assert.ok(rows.some((row) => expected.test(row)), `${expected} is none of ${rows}`);
  assert.ok(!rows.some((row) => without?.test(row)), `${without} is one of ${rows}`);
}

/** Figures of a job type: runs that each took `ms`. */
async function addRuns(
  scope: string,
  type: string,
  hoursAgo: number,
  counts: [ok: number, failed: number],
  ms: number,
) {
  const durations: TimeBuckets = new Map();
  for (let n = 0; n < counts[0] + counts[1]; n++) countTime(durations, ms);
  for (const grain of ["minute", "hour"]) {
    await sql`insert into job_type_figures (scope, job_type_name, grain, start, instance_id, succeeded, failed,
        dead_lettered, postponed, abandoned, waits, durations)
      values (${scope}, ${type}, ${grain}, date_trunc(${grain}, now() - make_interval(hours => ${hoursAgo})),
        gen_random_uuid(), ${counts[0]}, ${counts[1]}, 0, 0, 0, '{}', ${printBuckets(durations)})`;
  }
}

/** A user of the tenant. */
async function person(firstName: string, lastName: string, role: "Visitor" | "Admin" = "Visitor") {
  const actor = await t.actor({ tenantId, role });
  await sql`update users set first_name = ${firstName}, last_name = ${lastName}, last_login_at = now()
    where id = ${actor.userId}`;
  return actor;
}

ask("What is the p95 duration of a job type today?", async (browser) => {
  await addRuns(tenantId, "steward.sleep", 0, [100, 0], 42_000);
  await addRuns(tenantId, "steward.sleep", 25, [300, 0], 600_000);
  await browser.begin("Job types", "steward.sleep", "Today");
  requireRow(browser, /^Running 4\d(\.\d)? s 4\d(\.\d)? s 4\d(\.\d)? s$/);
});

ask("Why did a job fail, and what did it log?", async (browser) => {
  const fail = {
    jobTypeName: "steward.fail",
    serializedArgs: '{"message":"Ledger 9 is closed"}',
    maxRetries: 0,
  };
  const { id } = await post("jobs", fail);
  await t.settled(id);
  await sql`insert into job_log_lines (job_id, attempt_number, line_number, at, level, message)
    values (${id}, 1, 1, '2026-07-01T10:30:00Z', 'info', 'opening ledger 9')`;
  await browser.begin("Jobs", "Dead-lettered 1", "steward.fail");
  browser.page.shows("Ledger 9 is closed", "opening ledger 9", "11:30:00.000");
});

ask("How did a deploy change the failure rate?", async (browser) => {
  const [type, label] = [`deployed.${newId()}`, `Billing ${newId()}`];
  await addRuns(EVERYTHING, type, 25, [99, 1], 100);
  await addRuns(EVERYTHING, type, 23, [60, 40], 100);
  const at = new Date(Date.now() - 24 * 3_600_000);
  await sql`insert into deploy_marks ${sql({ id: newId(), label, at })}`;
  await browser.begin("Workers", "Deploys", label);
  requireRow(browser, new RegExp(`^${type} 100 100 1% 40%`));
}, t.systemAdmin);

ask("Which were the ten slowest jobs of yesterday?", async (browser) => {
  await sql`
    insert into jobs (id, tenant_id, job_type_name, serialized_args, type, status, priority, queue, lane, due_at,
      created_at, started_at, completed_at, attempts, max_retries, settled_by)
    select uuidv7(-age), ${tenantId}, 'steward.sleep', '{}', 'FireAndForget', 'Succeeded', 1, 'slow', 'slow||' || ${tenantId},
      at, at, at, at + make_interval(mins => days * 100 + n), 1, 3, uuidv7()
    from generate_series(1, 12) n, (values (0), (1), (2)) d (days), lateral (select
      case days when 1 then 24 when 2 then 48 else 0 end * interval '1 hour' + make_interval(secs => n) as age
    ) ages, lateral (select now() - age as at) times`;
  await browser.begin("Jobs");
  await browser.press("Filter", { Period: "Yesterday" });
  await browser.go("Duration", "Duration");
  const durations = browser.page.rows.slice(0, 10).map((row) => /\d+ h \d+ min/.exec(row)?.[0]);
  assert.deepEqual(durations, Array.from({ length: 10 }, (_, n) => `1 h ${52 - n} min`));
});

ask("What belongs to one trace?", async (browser) => {
  const trace = crypto.randomUUID().replaceAll("-", "");
  const traced = { traceparent: `00-${trace}-b7ad6b7169203331-01` };
  const mail = { channel: "Email", recipients: [{ address: "bob@example.test" }], textBody: "x" };
  await post("notifications/send", { ...mail, subject: "Invoice 77" }, traced);
  await post("roles", { name: "Traced" }, traced);
  await post("roles", { name: "Untraced" });
  await browser.begin("Audit log", "Timeline");
  await browser.press("Filter", { "Trace id": trace });
  browser.page.shows("Everything of one trace", /created role Traced/, "notifications.deliver", /Invoice 77/);
  browser.page.lacks("Untraced");
});

ask("What did one tenant do today?", async (browser) => {
  await post("webhook-endpoints", { url: "https://hooks.example.test/stock", eventTypes: ["role.deleted"] });
  await browser.begin("Tenants");
  await browser.press("Filter", { "Search tenants": name });
  await browser.go(name, "Show timeline");
  browser.page.shows("Everything of one tenant", "Today", `You look at ${name} without working in it.`);
  browser.page.shows(/created webhook/);
}, t.systemAdmin);

ask("Tell me when more than ten dead letters are open", async (browser) => {
  await browser.begin("Workers", "Alert rules", "New alert rule");
  await browser.press("Create", { Name: "Dead letters", Value: "Open dead letters", Threshold: "10" });
  requireRow(browser, /^Dead letters Open dead letters 10/);
  await sql`delete from alert_rules where name = 'Dead letters'`;
}, t.systemAdmin);

ask("Who gave a user a role, and when?", async (browser) => {
  const ana = await person("Ana", "Prado");
  const { id } = await post("roles", { name: "Clerk" });
  await accepted(zora.put(`/api/v1/users/${ana.userId}/roles`, { roleIds: [ana.roleId, id] }));
  await browser.begin("Users");
  await browser.press("Filter", { "Search name or email": "prado" });
  await browser.go("Ana Prado", "Change history");
  browser.page.shows(/gave Ana Prado the role Clerk/);
});

ask("Who has not signed in for 90 days?", async (browser) => {
  const { userId } = await person("Long", "Away");
  await sql`update users set last_login_at = now() - interval '120 days' where id = ${userId}`;
  await person("Back", "Again");
  await browser.begin("Users");
  await browser.press("Filter", { "No sign-in for … days": "90" });
  requireRow(browser, /Long Away/, /Back Again/);
});

ask("Which administrators have no second factor?", async (browser) => {
  await person("Rita", "Careless", "Admin");
  const { userId } = await person("Safira", "Reis", "Admin");
  const factor = { kind: "totp", name: "Phone", confirmed_at: new Date(), secret: "x" };
  await sql`insert into user_factors ${sql({ id: newId(), user_id: userId, ...factor })}`;
  await person("Vera", "Visitor");
  await browser.begin("Users");
  await browser.press("Filter", { Rights: "Administrators", "Second factor": "Without" });
  requireRow(browser, /Rita Careless/, /Safira|Vera/);
});

ask("Which keys and service accounts are unused for 60 days, or expire?", async (browser) => {
  const permissions = ["read:users"];
  const { id } = await post("api-keys", { name: "Old importer", permissions });
  await sql`update api_keys set created_at = now() - interval '100 days' where id = ${id}`;
  await post("api-keys", {
    name: "Expiring soon",
    permissions,
    expiresAt: new Date(Date.now() + 5 * 86_400_000),
  });
  const account = await post("service-accounts", { name: "Old sync", permissions, tenants: [tenantId] });
  await sql`update service_accounts set created_at = now() - interval '100 days' where id = ${account.id}`;
  const filters: [list: string, label: string, days: string, found: RegExp, others?: RegExp][] = [
    ["API keys", "Unused for … days", "60", /Old importer/, /Expiring soon/],
    ["API keys", "Expires within … days", "7", /Expiring soon/, /Old importer/],
    ["Service accounts", "Unused for … days", "60", /Old sync/],
  ];
  for (const [list, label, days, found, others] of filters) {
    await browser.begin(list);
    await browser.press("Filter", { [label]: days });
    requireRow(browser, found, others);
  }
});

Deno.test("users are moved to another role after a preview", async () => {
  const browser = await browse(t, zora);
  const reader = await post("roles", { name: "Reader" });
  const movers = [await person("Mover", "One"), await person("Mover", "Two")];
  await browser.begin("Users");
  await browser.press("Move to another role", { id: movers.map(({ userId }) => userId) });
  (await browser.press("Move to another role (2)", { roleId: "Reader" })).shows("2 users are affected.");
  (await browser.press("Move to another role (2)")).shows("Move to another role: done for 2.");
  assert.equal((await accepted(zora.get(`/api/v1/roles/${reader.id}`))).userCount, 2);
});

const UPCOMING = [
  "What happens in the next 24 hours?",
  "When are the next five runs of every schedule, in my time zone?",
];
for (const question of UPCOMING) {
  ask(question, async (browser) => {
    const tail = newId().slice(-8);
    await post("recurring-jobs", { jobId: tail, jobTypeName: "steward.echo", cronExpression: "5 * * * *" });
    const scheduledAt = new Date(Date.now() + 2 * 3_600_000);
    await post("jobs", { jobTypeName: "steward.echo", scheduledAt });
    const mail = {
      channel: "Email",
      recipients: [{ address: "eve@example.test" }],
      textBody: "x",
      subject: "x",
    };
    await post("notifications/schedule", { notification: mail, scheduledAt });
    const cron = { cronExpression: "0 8 1 * *", timeZoneId: "America/New_York" };
    await post("reports/schedules", { templateId: "users", name: `Users ${tail}`, format: 3, ...cron });
    await browser.begin("Recurring jobs", "Next 24 hours");
    browser.page.shows("Next runs (Europe/Lisbon)");
    for (
      const planned of [`Recurring job ${tail}`, "Scheduled jobs steward.echo", "Scheduled messages Email"]
    ) {
      requireRow(browser, new RegExp(`\\d\\d:\\d\\d .*${planned} \\d`));
    }
    requireRow(browser, new RegExp(`^Users ${tail} Report · ${name}( \\d+ \\w+ \\d+, 1[23]:00){5}$`));
    requireRow(browser, new RegExp(`^${tail} Recurring job · ${name}( .*\\d\\d:05){5}$`));
  });
}

/** Other tests ask these. */
const ELSEWHERE: Record<string, string> = {
  "Move 200 users to another role, with a preview": "questions_test: users are moved to another role",
  "How does a template look on a phone in the dark?": "templates_test: versions of a template are compared",
  "Why did a job fail; pause a queue; who gave a role? By keyboard alone":
    "scripts_deep: questions are answered by keyboard alone",
  "Is it healthy, and what changed in the last hour?":
    "overview_test: the overview leads from a problem to its page",
  "Which worker on which host holds a job?": "jobs_test: workers are shown by host with what they hold",
  "Retry all failed jobs of a tenant that have one error": "jobs_test: dead letters are grouped by error",
  "Pause a queue with a reason; resume it": "jobs_test: the pages of jobs say what is paused and why",
  "Find anything by an email, an id or a trace id": "search_test: pages, users, tenants, roles, job types",
  "Why can a user not do something? Grant it": "access_test: access is explained by the role that gives it",
  "Reset a password; end all sessions; unlock a user":
    "access_users_test: a system administrator adds a tenant",
  "Import users from a CSV file, with a preview":
    "access_users_test: an administrator checks a file of users",
  "Which mails to an address failed, and why? Send one again":
    "notifications_test: a message shows attachments",
  "Who is affected if a permission leaves a role?":
    "access_test: before a role is saved, the page shows who gains",
  "Invite a user; send the invitation again; revoke it":
    "access_users_test: an administrator invites a person",
  "Give a tenant's administrator a restricted console":
    "access_users_test: an administrator creates a user with a role",
  "See the product as a user": "acting_test: a supporter views the console as a user",
  "Undo what I just did": "undo_test: what is paused, held, deactivated or given is as before",
  "Work in a tenant as an administrator of the platform":
    "scope_test: an administrator finds a tenant among many",
  "Why can a file not be downloaded?": "files_test: the page of a file with malware says what was found",
  "Put a legal hold on a file; release it": "files_test: references and a legal hold are explained",
  "Compare two versions of a template; restore one": "templates_test: versions of a template are compared",
  "Why did a scheduled report not arrive? Deliver it again":
    "reports_test: a report that was not delivered leads from",
  "Redeliver all failed webhook deliveries of yesterday":
    "integration_test: all failed deliveries of yesterday",
  "Download a filtered list as CSV": "lists_test: a list is downloaded as CSV with its filters",
  "How much does each tenant store, and how fast does it grow?":
    "../operations/usage_test: what a tenant uses is counted",
  "How many mails did each tenant send in a month?":
    "../operations/usage_test: what a tenant uses is counted",
  "What fills the database?": "../operations/usage_test: the state of the database names its largest tables",
};

Deno.test("the README of the console has the ways to these forty answers and to no others", async () => {
  for (const named of Object.values(ELSEWHERE)) {
    const [file = "", test = ""] = named.split(": ");
    const source = await Deno.readTextFile(new URL(`${file}.ts`, import.meta.url));
    assert.ok(source.includes(`"${test}`), named);
  }
  const readme = await Deno.readTextFile("routes/console/README.md");
  const [, section = ""] = readme.split("## Ways to answers");
  const rows = section.split("\n## ")[0]?.matchAll(/^\| (.+?) \| .+? \| ([\d, ]+) \|$/gm) ?? [];
  const answers = new Set<string>();
  for (const [, question = "", clicks = ""] of rows) {
    answers.add(question);
    for (const count of clicks.split(", ")) assert.ok(Number(count) <= 5, question);
  }
  assert.deepEqual(answers, asked.union(new Set(Object.keys(ELSEWHERE))));
  assert.equal(answers.size, 40);
});
