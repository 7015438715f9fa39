import assert from "node:assert/strict";
import { newId } from "../../../domain/shared/ids.ts";
import type { Actor } from "../../support/setup.ts";
import { openConsole, setupConsole, type Viewing } from "./support.ts";

// No worker runs jobs, so the counts do not change.
const { t, inBrowser } = await setupConsole({ JOB_CONCURRENCY: "0" });
const { sql } = t.steward.platform;

/** Rows of every kind that the overview counts, two days old ones too. */
async function seed(actor: Actor): Promise<void> {
  const job = async (more: Record<string, unknown> = {}) =>
    (await actor.post("/api/v1/jobs", { jobTypeName: "steward.echo", serializedArgs: "{}", ...more })).body
      .id;
  const statuses = { Enqueued: 2, Failed: 3, Cancelled: 1, Succeeded: 4, DeadLettered: 2 };
  for (const [status, count] of Object.entries(statuses)) {
    for (let n = 0; n < count; n++) {
      const id = await job({ queue: n === 0 ? "mail" : "default" });
      await sql`update jobs set status = ${status}::text::job_status,
        completed_at = case when ${["Succeeded", "DeadLettered", "Cancelled"].includes(status)} then now() end
        where id = ${id}`;
      if (status !== "DeadLettered") continue;
      await sql`insert into dead_letter_jobs (id, job_id, tenant_id, job_type_name, queue, serialized_args, attempts, error_message)
        values (${newId()}, ${id}, ${actor.tenantId}, 'steward.echo', 'default', '{}', 1, ${`HTTP 40${n} refused`})`;
    }
  }
  await job({ scheduledAt: "2999-01-01T00:00:00Z" });
  await actor.post("/api/v1/recurring-jobs", {
    jobId: "r",
    jobTypeName: "steward.echo",
    cronExpression: "0 4 * * *",
  });
  await actor.post("/api/v1/recurring-jobs/r/pause");
  const paused = await actor.post("/api/v1/jobs/queues/mail/pause", { reason: "The provider is down" });
  assert.equal(paused.status, 200);
  for (const [status, count] of [["Failed", 3], ["DeadLettered", 2], ["Sent", 4]] as const) {
    for (let n = 0; n <= count; n++) {
      const { body } = await actor.post("/api/v1/notifications/schedule", {
        notification: {
          channel: "Email",
          recipients: [{ address: "a@example.test" }],
          textBody: "x",
          subject: "x",
        },
        scheduledAt: "2999-01-01T00:00:00Z",
      });
      const age = n === count ? "2 days" : "1 minute"; // the last one is not of the last day
      await sql`update notifications set status = ${status}::text::notification_status,
        created_at = now() - ${age}::text::interval where id = ${body.notificationId}`;
    }
  }
  for (let n = 0; n < 12; n++) {
    await actor.post("/api/v1/notification-suppressions", {
      channel: "Email",
      address: `s${n}@example.test`,
    });
  }
  const { body: hook } = await actor.post("/api/v1/webhook-endpoints", {
    url: "https://x.test/",
    eventTypes: "*",
  });
  await actor.post("/api/v1/webhook-endpoints", { url: "https://y.test/", eventTypes: "*" });
  await sql`update webhook_endpoints set failing_since = now() where id = ${hook.id}`;
}

/** The number of rows that the page's list has: of the pager, or of the rows of the table. */
async function listed({ page }: Viewing): Promise<number> {
  const pager = page.locator("nav.pager span.muted").first();
  if (await pager.count() > 0) {
    const total = /of ([\d,]+)$/.exec((await pager.textContent() ?? "").trim());
    assert.ok(total?.[1], `${page.url()}: a pager with a total`);
    return Number(total[1].replaceAll(",", ""));
  }
  return await page.locator("main table.data tbody tr").count();
}

inBrowser("every number of the overview leads to a list with as many rows", async (b) => {
  const actor = await t.actor({
    permissions: ["manage:jobs", "manage:webhooks", "send:notifications", "read:users", "read:files"],
  });
  await seed(actor);
  const viewing = await openConsole(b, t, actor);
  const { page } = viewing;
  await viewing.open("");
  await page.getByText("The provider is down").first().waitFor({ timeout: 20_000 });
  const links = await page.locator("#overview a").evaluateAll((found) =>
    found.map((link) => ({
      href: link.getAttribute("href") ?? "",
      text: (link.querySelector(".figure-value") ?? link).textContent ?? "",
    }))
  );
  const counted = links.flatMap(({ href, text }) => {
    const number = /^\s*([\d,]+)(?=\s|$)/.exec(text)?.[1];
    return number === undefined ? [] : [{ href, count: Number(number.replaceAll(",", "")) }];
  });
  const kinds = new Set(counted.map(({ href }) => href.split("?")[0]));
  for (
    const kind of [
      "jobs",
      "dead-letters/list",
      "recurring",
      "notifications",
      "suppressions",
      "webhooks",
      "audit",
    ]
  ) assert.ok(kinds.has(kind), `the overview has a number with a link to ${kind}`);
  const wrong: string[] = [];
  for (const { href, count } of counted) {
    if (href === "dead-letters") continue; // shows groups; the figure leads to the list
    assert.equal(await viewing.open(href), 200, href);
    const rows = await listed(viewing);
    if (rows !== count) wrong.push(`${href}: ${count} on the overview, ${rows} in the list`);
  }
  assert.deepEqual(wrong, []);
  await viewing.close();
});
