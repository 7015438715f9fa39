import assert from "node:assert/strict";
import { jsonRows } from "../../../domain/notifications/json_rows.ts";
import { insertNotifications } from "../../../domain/notifications/store_notification.ts";
import { newId } from "../../../domain/shared/ids.ts";
import { pluck } from "../../support/answers.ts";
import { setupShared } from "../../support/setup.ts";

const t = await setupShared({ JOB_CONCURRENCY: "0" });
Deno.test.afterAll(() => t.stop());
const { sql } = t.steward.platform;
const recipients = [{ address: "ann@x.test" }];

Deno.test("characters that Postgres cannot store are removed from rows, and nothing else", async () => {
  const rows = [{ text: "a\0b\ud800c 😀 \\u0000 \\ud800" }, { text: "plain" }];
  const [row] = await sql<{ texts: string[] }[]>`
    select array_agg(text) as texts from json_to_recordset(${jsonRows(rows)}::text::json) as r (text text)`;
  assert.deepEqual(row?.texts, ["ab\ufffdc 😀 \\u0000 \\ud800", "plain"]);
});

Deno.test("messages and their jobs are written in one statement: if one job fails, nothing is written", async () => {
  const queued = (maxRetries: number) => {
    const [id, jobId] = [newId(), newId()];
    const message = { channel: "Email" as const, recipients, subject: "S" };
    const sender = { tenantId: null, userId: null, traceId: null };
    const state = { status: "Queued" as const, scheduledAt: null, maxRetries: 3, templateVersionId: null };
    const job = { id: jobId, jobTypeName: "notifications.deliver", serializedArgs: "{}", maxRetries };
    return { job, notification: { id, jobId, sender, message, ...state } };
  };
  const both = [queued(3), queued(100_000)];
  const [notifications, jobs] = [pluck(both, "notification"), pluck(both, "job")];
  await assert.rejects(() => insertNotifications(sql, notifications, jobs), /out of range/);
  const [none] = await sql<{ count: number }[]>`select
    (select count(*) from notifications where id = any(${pluck(notifications, "id")}::uuid[]))
    + (select count(*) from notification_recipients where notification_id = any(${
    pluck(notifications, "id")
  }::uuid[]))
    + (select count(*) from jobs where id = any(${pluck(jobs, "id")}::uuid[])) as count`;
  assert.equal(none?.count, 0);
});

Deno.test("of messages sent at the same moment, invalid ones are rejected, each with its own reason", async () => {
  const ann = await t.actor({ permissions: ["send:notifications"] });
  const bob = await t.actor({ permissions: ["send:notifications"] });
  const report = { channel: "Email", recipients, templateSlug: "report-ready" };
  const bodies: [Record<string, unknown>, string][] = [
    [{ channel: "Email", recipients, subject: "S" }, "Queued"],
    [{ ...report, templateSlug: "nowhere" }, "NOTIFICATION_TEMPLATE_NOT_FOUND"],
    [report, "NOTIFICATION_TEMPLATE_VARIABLES_MISSING"],
    [{ ...report, templateData: { reportName: "R" } }, "Queued"],
    [{ ...report, locale: "not a locale!" }, "VALIDATION_ERROR"],
    [{ channel: "Email", recipients: [{ address: "nobody" }], subject: "S" }, "VALIDATION_ERROR"],
  ];
  const senders = Array.from({ length: 6 }, () => [ann, bob]).flat();
  const sent = await Promise.all(
    senders.flatMap((actor) => bodies.map(([body]) => actor.post("/api/v1/notifications/send", body))),
  );
  const answers = sent.map(({ status, body }) => status === 200 ? body.status : body.code);
  assert.deepEqual(answers, senders.flatMap(() => bodies.map(([, expected]) => expected)));
  const ids = sent.flatMap(({ status, body }) => status === 200 ? [body.notificationId] : []);
  const stored = await sql<{ tenantId: string; jobTenantId: string; status: string }[]>`
    select n.tenant_id, j.tenant_id as job_tenant_id, j.status from notifications n join jobs j on j.id = n.job_id
    where n.id = any(${ids}::uuid[]) and j.serialized_args like '%' || n.id || '%'`;
  assert.equal(stored.length, 24, "each message has its own job");
  assert.ok(stored.every((row) => row.tenantId === row.jobTenantId && row.status === "Enqueued"));
  const [all] = await sql<{ count: number }[]>`
    select count(*) from notifications where tenant_id in (${ann.tenantId}, ${bob.tenantId})`;
  assert.equal(all?.count, 24, "nothing was stored of those refused");
});
