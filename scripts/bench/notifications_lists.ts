import type { Sql } from "../../infra/postgres/postgres.ts";
import { type Ground, tell } from "./ground.ts";
import { load } from "./load.ts";
import { signIn } from "./people.ts";

const MESSAGES = 1_000_000;
const DAYS = 30;
const MOST_MS = 10;

/** Lists, stats and the unread count where a tenant, and one user, have a million. */
export async function notificationsLists(ground: Ground): Promise<void> {
  const { sql } = ground;
  const service = await ground.startService({ JOB_CONCURRENCY: "0" });
  const token = await signIn(service.port, "admin@steward.local", "steward-admin-dev");
  const headers = { authorization: `Bearer ${token}` };
  const [admin] = await sql<{ userId: string; tenantId: string }[]>`
    select user_id, tenant_id from user_tenants join users on users.id = user_id where email = 'admin@steward.local'`;
  const { userId = "", tenantId = "" } = admin ?? {};
  await fill(sql, tenantId, userId);
  const ago = (days: number) => new Date(Date.now() - days * 24 * 60 * 60 * 1000).toISOString();
  const range = `fromDate=${ago(20.3)}&toDate=${ago(3.7)}`;
  const list = "/api/v1/notifications";
  const paths = {
    "list": list,
    "list by channel": `${list}?channel=Sms`,
    "list by status": `${list}?status=DeadLettered`,
    "list by channel and status": `${list}?channel=Push&status=Failed`,
    "list by dates": `${list}?${range}`,
    "list by channel, status and dates": `${list}?channel=Push&status=Failed&${range}`,
    "stats": `${list}/stats`,
    "stats by dates": `${list}/stats?${range}`,
    "stats of an afternoon": `${list}/stats?fromDate=${ago(5.6)}&toDate=${ago(5.4)}`,
    "unread count": `/api/v1/user-notifications/unread-count?userId=${userId}`,
    "in-app list": `/api/v1/user-notifications?userId=${userId}&isRead=false`,
    "last page": `${list}?page=${MESSAGES / 20}`,
  };
  for (const [name, path] of Object.entries(paths)) {
    const run = (seconds: number) =>
      load({ port: service.port, connections: 1, seconds, next: () => ({ path, headers }) });
    await run(0.5);
    const { p50, p95, statuses } = await run(2);
    if (Object.keys(statuses).join() !== "200") {
      throw new Error(`${path} answered ${JSON.stringify(statuses)}`);
    }
    tell(`${name}, p95`, p95, " ms", { most: MOST_MS });
    console.log(`    median ${p50} ms`);
  }
  await service.stop();
}

async function fill(sql: Sql, tenantId: string, userId: string): Promise<void> {
  const STEP = 50_000;
  for (let from = 0; from < MESSAGES; from += STEP) {
    await sql`
      insert into notifications (id, tenant_id, channel, status, subject, html_body, recipient_count, created_at)
      select uuidv7(-age), ${tenantId}, (array['Email', 'Email', 'Email', 'Push', 'InApp', 'Sms'])[1 + n % 6]::notification_channel,
        case when n % 50 = 0 then 'Failed' when n % 97 = 0 then 'DeadLettered' else 'Sent' end::notification_status,
        'Order ' || n, repeat('Your order is on its way. ', 10), 1, now() - age
      from generate_series(${from + 1}::int, ${from + STEP}::int) n,
        make_interval(secs => n * ${DAYS * 24 * 60 * 60 / MESSAGES}::float8) age`;
    await sql`
      insert into user_notifications (id, user_id, seq, title, body, category, is_read, read_at, created_at)
      select uuidv7(), ${userId}, n, 'Order ' || n, 'Your order is on its way.', 'orders', n % 3 = 0,
        case when n % 3 = 0 then now() end, now() from generate_series(${from + 1}::int, ${
      from + STEP
    }::int) n`;
  }
  for (const table of ["notifications", "user_notifications"]) await sql.unsafe(`vacuum analyze ${table}`);
  await sql.unsafe("checkpoint"); // what filling left to write is not to be paid by the requests
}
