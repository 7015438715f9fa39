import assert from "node:assert/strict";
import {
  countByStatus,
  foldDays,
  foldHours,
  type NotificationFilter,
} from "../../../domain/notifications/counts.ts";
import { jsonRows } from "../../../domain/shared/storable.ts";
import { listNotifications } from "../../../domain/notifications/list.ts";
import { insertNotifications } from "../../../domain/notifications/store_notification.ts";
import { newId } from "../../../domain/shared/ids.ts";
import { pluck } from "../../support/answers.ts";
import { setupShared } from "../../support/setup.ts";

const t = await setupShared({ JOB_CONCURRENCY: "0" });
const { sql } = t;
const tenantId = await t.tenant();

async function seed(tenant: string | null, rows: number): Promise<void> {
  const ids = Array.from({ length: rows }, newId);
  await sql`
    insert into notifications (id, tenant_id, channel, status, recipient_count, created_at)
    select id, ${tenant}, (array['Email', 'Push', 'InApp', 'Sms'])[1 + n % 4]::notification_channel,
      (array['Sent', 'Failed', 'Queued', 'Sent', 'DeadLettered'])[1 + n % 5]::notification_status, 1,
      timestamptz '2026-03-01T00:00Z' + n * interval '37 minutes'
    from unnest(${ids}::uuid[]) with ordinality as given (id, n)`;
}

const counted = async (filter: NotificationFilter) =>
  Object.fromEntries([...await countByStatus(sql, filter)].filter(([, count]) => count !== 0).sort());

async function plainly({ tenantId, channel, status, fromDate, toDate }: NotificationFilter) {
  const rows = await sql<{ status: string; count: number }[]>`
    select status::text, count(*) from notifications
    where tenant_id is not distinct from ${tenantId}::uuid
      and (${channel ?? null}::text is null or channel::text = ${channel ?? null})
      and (${status ?? null}::text is null or status::text = ${status ?? null})
      and created_at between ${fromDate?.toISOString() ?? "-infinity"}::text::timestamptz
        and ${toDate?.toISOString() ?? "infinity"}::text::timestamptz
    group by status order by status::text`;
  return Object.fromEntries(rows.map((row) => [row.status, row.count]));
}

Deno.test("stored counts equal counted rows, for every filter and every boundary of a day or an hour", async () => {
  await seed(tenantId, 300);
  await seed(null, 50);
  await sql`update notifications set status = 'Sent' where status = 'Queued' and channel = 'Push'`;
  await sql`update notifications set channel = 'Sms' where channel = 'InApp' and status = 'Failed'`;
  await sql`delete from notifications where status = 'Failed' and channel = 'Email'`;
  const hours = "03-02 03-02T00:00:00.001Z 03-03T05:00Z 03-03T13:20Z 03-05";
  const instants = [undefined, ...hours.split(" ").map((text) => new Date(`2026-${text}`))];
  const ranges = instants.flatMap((fromDate) => instants.map((toDate) => ({ fromDate, toDate })));
  const filters = [{ channel: "Sms" as const }, { status: "Sent" as const }, { tenantId: null }];
  for (const [n, range] of ranges.entries()) {
    for (const filter of [{ tenantId, ...range }, { tenantId, ...range, ...filters[n % filters.length] }]) {
      assert.deepEqual(await counted(filter), await plainly(filter), JSON.stringify(filter));
    }
  }
  const filter = { tenantId, status: "DeadLettered" as const, fromDate: new Date("2026-03-02T05:00Z") };
  const page = await listNotifications(sql, filter, { page: 1, pageSize: 100 });
  assert.equal(page.items.length, page.totalCount);
  const last = new Date("9999-12-31T23:59:59.999Z");
  for (const fromDate of [new Date("9999-12-31T12:30Z"), last]) {
    for (const toDate of [undefined, last]) {
      assert.deepEqual(await counted({ tenantId, fromDate, toDate }), {});
    }
  }
});

Deno.test("folding the shards of past days changes no sum, also while rows change", async () => {
  const fold = () => Promise.all([foldDays(sql), foldHours(sql)]);
  const before = await counted({ tenantId });
  const cancelling = sql`update notifications set status = 'Cancelled'
    where tenant_id = ${tenantId} and status = 'DeadLettered'`;
  await Promise.all([fold(), cancelling, fold()]);
  await fold();
  const { DeadLettered, ...rest } = before;
  assert.deepEqual(await counted({ tenantId }), { ...rest, Cancelled: DeadLettered });
  const [fromDate, toDate] = [new Date("2026-03-03T01:00Z"), new Date("2026-03-03T22:00Z")];
  const withinADay = { tenantId, fromDate, toDate };
  assert.deepEqual(await counted(withinADay), await plainly(withinADay));
  const [row] = await sql<{ shards: number }[]>`
    select count(distinct shard)::int as shards from (
      select shard from notification_counts where tenant_key = ${tenantId}
      union all select shard from notification_hour_counts where tenant_key = ${tenantId}) counted`;
  assert.equal(row?.shards, 1);
});

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
  const senders = Array.from({ length: 2 }, () => [ann, bob]).flat();
  const sent = await Promise.all(
    senders.flatMap((actor) => bodies.map(([body]) => actor.post("/api/v1/notifications/send", body))),
  );
  const answers = sent.map(({ status, body }) => status === 200 ? body.status : body.code);
  assert.deepEqual(answers, senders.flatMap(() => bodies.map(([, expected]) => expected)));
  const ids = sent.flatMap(({ status, body }) => status === 200 ? [body.notificationId] : []);
  const stored = await sql<{ tenantId: string; jobTenantId: string; status: string }[]>`
    select n.tenant_id, j.tenant_id as job_tenant_id, j.status from notifications n join jobs j on j.id = n.job_id
    where n.id = any(${ids}::uuid[]) and j.serialized_args like '%' || n.id || '%'`;
  assert.equal(stored.length, 8, "each message has its own job");
  assert.ok(stored.every((row) => row.tenantId === row.jobTenantId && row.status === "Enqueued"));
  const [all] = await sql<{ count: number }[]>`
    select count(*) from notifications where tenant_id in (${ann.tenantId}, ${bob.tenantId})`;
  assert.equal(all?.count, 8, "nothing was stored of those refused");
});
