import assert from "node:assert/strict";
import { newId } from "../../../domain/shared/ids.ts";
import { accepted } from "../../support/outcomes.ts";
import { type Actor, setup } from "../../support/setup.ts";
import { browse } from "./plain_browser.ts";
import { around, textOf } from "./shown_page.ts";

const t = await setup();
/** No worker runs jobs here, so the counts do not change. */
const idle = await setup({ JOB_CONCURRENCY: "0" });
Deno.test.afterAll(async () => {
  await t.stop();
  await idle.stop();
});

Deno.test("each viewer sees the parts that their permissions open, and no problems of others", async () => {
  const parts = async (actor: Actor, locale?: string) => await (await browse(t, actor, locale)).begin();
  (await parts(await t.actor())).shows("No problems.", "No waiting or running jobs")
    .lacks("Scanner", "Messages of the last 24 hours", "Instances");
  (await parts(await t.actor({ global: true }))).shows("Choose a tenant");
  (await parts(t.systemAdmin, "pt-PT")).shows("Instâncias que executam tarefas");
});

Deno.test("the overview leads from a problem to its page, and shows what changed in the last hour", async () => {
  const admin = await t.actor({ role: "Admin" });
  const failing = { jobTypeName: "steward.fail", serializedArgs: "{}", maxRetries: 0 };
  await t.settled((await accepted(admin.post("/api/v1/jobs", failing))).id);
  const { body: role } = await admin.post("/api/v1/roles", { name: "Billing" });
  const { body: { items: [permission] } } = await admin.get("/api/v1/permissions?search=read:users");
  await accepted(admin.post(`/api/v1/roles/${role.id}/permissions/${permission.id}`));
  const browser = await browse(t, admin);
  const page = await browser.begin();
  page.shows("Scanner").lacks("Instances");
  page.shows("gave role Billing the permission read:users", /1 dead letter is open\. Retry or purge it\./);
  assert.equal((await browser.follow("Billing", "gave role Billing")).heading, "Billing");
  await browser.begin();
  const day = await browser.follow("Last day");
  assert.ok(day.all("*", ({ attribs }) => /day, by hour/.test(attribs["aria-label"] ?? "")).length > 0);
  assert.equal((await browser.follow("1 dead letter is open")).address, "/console/dead-letters");
});

/** Rows of every kind that the overview counts, two days old ones too. */
async function seed(actor: Actor): Promise<void> {
  const { sql } = idle.steward.platform;
  const scheduledAt = "2999-01-01T00:00:00Z";
  const job = async (more: Record<string, unknown> = {}): Promise<string> =>
    (await accepted(actor.post("/api/v1/jobs", { jobTypeName: "steward.echo", ...more }))).id;
  const statuses = { Enqueued: 2, Failed: 3, Cancelled: 1, Succeeded: 1, DeadLettered: 2 };
  for (const [status, count] of Object.entries(statuses)) {
    for (let n = 0; n < count; n++) {
      const id = await job({ queue: n === 0 ? "mail" : "default" });
      await sql`update jobs set status = ${status}::text::job_status,
        completed_at = case when ${["Succeeded", "DeadLettered", "Cancelled"].includes(status)} then now() end
        where id = ${id}`;
      if (status !== "DeadLettered") continue;
      await sql`insert into dead_letter_jobs (id, job_id, tenant_id, job_type_name, queue, serialized_args, attempts,
        error_message)
        values (${newId()}, ${id}, ${actor.tenantId}, 'steward.echo', 'default', '{}', 1, ${`HTTP 40${n} refused`})`;
    }
  }
  await job({ scheduledAt });
  const recurring = { jobId: "r", jobTypeName: "steward.echo", cronExpression: "0 4 * * *" };
  await actor.post("/api/v1/recurring-jobs", recurring);
  await actor.post("/api/v1/recurring-jobs/r/pause");
  await accepted(actor.post("/api/v1/jobs/queues/mail/pause", { reason: "The provider is down" }));
  const recipients = [{ address: "a@example.test" }];
  const notification = { channel: "Email", recipients, textBody: "x", subject: "x" };
  for (const [status, count] of [["Failed", 3], ["DeadLettered", 2], ["Sent", 1]] as const) {
    for (let n = 0; n <= count; n++) {
      const { body } = await actor.post("/api/v1/notifications/schedule", { notification, scheduledAt });
      const age = n === count ? "2 days" : "1 minute"; // the last one is not of the last day
      await sql`update notifications set status = ${status}::text::notification_status,
        created_at = now() - ${age}::text::interval where id = ${body.notificationId}`;
    }
  }
  const suppress = (n: number) => ({ channel: "Email", address: `s${n}@example.test` });
  for (let n = 0; n < 12; n++) await actor.post("/api/v1/notification-suppressions", suppress(n));
  for (const url of ["https://x.test/", "https://y.test/"]) {
    await actor.post("/api/v1/webhook-endpoints", { url, eventTypes: "*" });
  }
  await sql`update webhook_endpoints set failing_since = now()
    where tenant_id = ${actor.tenantId} and url = 'https://x.test/'`;
}

Deno.test("every number of the overview leads to a list with as many rows", async () => {
  const actor = await idle.actor({
    permissions: ["manage:jobs", "manage:webhooks", "send:notifications", "read:users", "read:files"],
  });
  await seed(actor);
  const browser = await browse(idle, actor);
  const page = await browser.begin();
  page.shows("The provider is down");
  const counted = page.all("a").flatMap((link) => {
    const isInMain = around(link, "main").length > 0;
    const statistic = page.all("*", (tag) =>
      tag.attribs.class?.startsWith("statistic-value") === true && around(tag, "a")[0] === link)[0];
    const number = /^([\d,]+)(?=\s|$)/.exec(textOf(statistic ?? link))?.[1];
    return isInMain && number ? [[link.attribs.href ?? "", Number(number.replaceAll(",", ""))] as const] : [];
  });
  const counts = await browser.open("?part=counts");
  assert.equal(counts.headers.get("cache-control"), "private, max-age=15");
  const beside = [...counts.html.matchAll(/class="waiting" href="([^"]+)"[^>]*>([\d,]+)</g)]
    .map(([, href = "", count]) => [href.replaceAll("&amp;", "&"), Number(count)] as const);
  const listOf = (href: string) => href.split("?")[0] ?? "";
  const besides = ["jobs", "dead-letters", "notifications", "webhooks"];
  assert.deepEqual(beside.map(([href]) => listOf(href)), besides);
  counted.push(...beside);
  const lists = "audit dead-letters/list jobs notifications recurring suppressions webhooks".split(" ");
  const kinds = new Set(counted.map(([href]) => listOf(href)));
  assert.deepEqual(lists.filter((list) => !kinds.has(list)), []);
  const wrong: string[] = [];
  for (const [href, count] of counted) {
    if (href === "dead-letters") continue; // shows groups; the statistic leads to the list
    const list = await browser.visit(href);
    const [pager] = list.all("nav", ({ attribs }) => attribs.class === "pager");
    const total = pager && /of ([\d,]+)/.exec(textOf(pager))?.[1]?.replaceAll(",", "");
    const rows = total ? Number(total) : list.rows.length;
    if (rows !== count) wrong.push(`${href}: ${count} on the overview, ${rows} in the list`);
  }
  assert.deepEqual(wrong, []);
});
