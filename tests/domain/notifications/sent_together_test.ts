import assert from "node:assert/strict";
import { jsonRows } from "../../../domain/notifications/json_rows.ts";
import { insertNotifications } from "../../../domain/notifications/store_notification.ts";
import { newId } from "../../../domain/shared/ids.ts";
import { setup } from "../../support/setup.ts";

const t = await setup({ JOB_CONCURRENCY: "0" });
Deno.test.afterAll(() => t.stop());
const { sql } = t.steward.platform;

Deno.test("characters that Postgres cannot store are removed from rows, and nothing else", async () => {
  const rows = [{ text: "a\0b\ud800c 😀 \\u0000 \\ud800" }, { text: "plain" }];
  const [row] = await sql<{ texts: string[] }[]>`
    select array_agg(text) as texts from json_to_recordset(${jsonRows(rows)}::text::json) as r (text text)`;
  assert.deepEqual(row?.texts, ["ab\ufffdc 😀 \\u0000 \\ud800", "plain"]);
});

Deno.test("messages and their jobs are written in one statement: if one job fails, nothing is written", async () => {
  const queued = (maxRetries: number) => {
    const [id, jobId, sender] = [newId(), newId(), { tenantId: null, userId: null, traceId: null }];
    const message = { channel: "Email" as const, recipients: [{ address: "ann@x.test" }], subject: "S" };
    return {
      job: { id: jobId, jobTypeName: "notifications.deliver", serializedArgs: "{}", maxRetries },
      notification: {
        id,
        jobId,
        sender,
        message,
        status: "Queued" as const,
        scheduledAt: null,
        maxRetries: 3,
        templateVersionId: null,
      },
    };
  };
  const both = [queued(3), queued(100_000)];
  const write = () =>
    insertNotifications(sql, both.map(({ notification }) => notification), both.map(({ job }) => job));
  await assert.rejects(write, /out of range/);
  const [none] = await sql<{ count: number }[]>`select (select count(*) from notifications)
    + (select count(*) from notification_recipients) + (select count(*) from jobs
      where id = any(${both.map(({ job }) => job.id)}::uuid[])) as count`;
  assert.equal(none?.count, 0);
});

Deno.test("of messages sent at the same moment, invalid ones are rejected, each with its own reason", async () => {
  const ann = await t.actor({ permissions: ["send:notifications"] });
  const bob = await t.actor({ permissions: ["send:notifications"] });
  const recipients = [{ address: "ann@x.test" }];
  const bodies = [
    { channel: "Email", recipients, subject: "S" },
    { channel: "Email", recipients, templateSlug: "nowhere" },
    { channel: "Email", recipients, templateSlug: "report-ready" },
    { channel: "Email", recipients, templateSlug: "report-ready", templateData: { reportName: "R" } },
    { channel: "Email", recipients, templateSlug: "report-ready", locale: "not a locale!" },
    { channel: "Email", recipients: [{ address: "nobody" }], subject: "S" },
  ];
  const sent = await Promise.all(
    Array.from({ length: 10 }, () => [ann, bob]).flat().flatMap((actor) =>
      bodies.map((body) => actor.post("/api/v1/notifications/send", body))
    ),
  );
  const answers = sent.map(({ status, body }) => status === 200 ? body.status : body.code);
  const expected = [
    ...["Queued", "NOTIFICATION_TEMPLATE_NOT_FOUND", "NOTIFICATION_TEMPLATE_VARIABLES_MISSING", "Queued"],
    ...["VALIDATION_ERROR", "VALIDATION_ERROR"],
  ];
  assert.deepEqual(answers, Array.from({ length: 20 }, () => expected).flat());
  const ids = sent.flatMap(({ status, body }) => status === 200 ? [body.notificationId] : []);
  const stored = await sql<{ tenantId: string; jobTenantId: string; status: string }[]>`
    select n.tenant_id, j.tenant_id as job_tenant_id, j.status from notifications n join jobs j on j.id = n.job_id
    where n.id = any(${ids}::uuid[]) and j.serialized_args::json ->> 'notificationId' = n.id::text`;
  assert.equal(stored.length, 40, "each message has its own job");
  assert.ok(stored.every((row) => row.tenantId === row.jobTenantId && row.status === "Enqueued"));
  const [all] = await sql<{ count: number }[]>`select count(*) from notifications`;
  assert.equal(all?.count, 40, "nothing was stored of those refused");
});
