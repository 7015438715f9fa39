import assert from "node:assert/strict";
import {
  countByStatus,
  foldDays,
  foldHours,
  type NotificationFilter,
} from "../../../domain/notifications/counts.ts";
import { listNotifications } from "../../../domain/notifications/list.ts";
import { newId } from "../../../domain/shared/ids.ts";
import { setupShared } from "../../support/setup.ts";

const t = await setupShared({ JOB_CONCURRENCY: "0" });
Deno.test.afterAll(() => t.stop());
const { sql } = t.steward.platform;
const tenantId = await t.tenant();

/** Rows of several days, channels and statuses. */
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
  const hours = "02-01 03-02 03-02T00:00:00.001Z 03-03T05:00Z 03-03T13:20Z 03-03T13:37Z 03-05";
  const boundaries = hours.split(" ").map((text) => new Date(`2026-${text}`));
  const instants = [undefined, ...boundaries, new Date("2027-01-01")];
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
});

Deno.test("a range that begins at the maximum time is empty, not out of range", async () => {
  for (const from of ["9999-12-31T00:00Z", "9999-12-31T12:30Z", "9999-12-31T23:59:59.999Z"]) {
    for (const toDate of [undefined, new Date(from), new Date("9999-12-31T23:59:59.999Z")]) {
      assert.deepEqual(await counted({ tenantId, fromDate: new Date(from), toDate }), {});
    }
  }
});

Deno.test("folding the shards of past days changes no sum, also while rows change", async () => {
  const fold = () => Promise.all([foldDays(sql), foldHours(sql)]);
  const before = await counted({ tenantId });
  await Promise.all([
    fold(),
    sql`update notifications set status = 'Cancelled' where tenant_id = ${tenantId} and status = 'DeadLettered'`,
    fold(),
  ]);
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
