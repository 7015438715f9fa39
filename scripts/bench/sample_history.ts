import type { Sql } from "../../infra/postgres/postgres.ts";

const BATCH_ROWS = 50_000;
/** The messages are spread evenly over this many days. */
const DAYS = 30;
/** How many of the jobs, the oldest ones, belong to the queue `old`. */
const OLD_QUEUE_JOBS = 100;

/** Inserts ended jobs of twenty types and all priorities, with their executions. */
export async function fillJobs(sql: Sql, finished: number): Promise<void> {
  await sql`
    insert into jobs (id, job_type_name, serialized_args, type, status, priority, queue, lane, due_at, created_at,
      started_at, completed_at, attempts, max_retries, settled_by)
    select uuidv7(make_interval(secs => -n / 10.0)), 'bench.type' || n % 20, '{}', 'FireAndForget',
      case when n % 50 = 0 then 'Failed' when n % 97 = 0 then 'DeadLettered' else 'Succeeded' end::job_status,
      n % 4, case when n > ${finished - OLD_QUEUE_JOBS}::int then 'old' else 'default' end, 'default||',
      now() + interval '1 day', now() - make_interval(secs => n / 10.0),
      now() - make_interval(secs => n / 10.0), now() - make_interval(secs => n / 10.0), 1, 3,
      case when n % 50 <> 0 and n % 97 <> 0 then uuidv7() end
    from generate_series(1, ${finished}::int) n`;
  await sql`
    insert into job_attempts (job_id, attempt_number, status, started_at, completed_at, worker_id)
    select id, 1, 'Failed', started_at, completed_at, id from jobs
    where job_type_name like 'bench.type%' and status in ('Failed', 'DeadLettered')`;
  await vacuumAndCheckpoint(sql, ["jobs", "job_attempts"]);
}

/** Inserts `messages` notifications of a tenant over all channels, and as many in-app messages of one of its users. */
export async function fillMessages(
  sql: Sql,
  messages: number,
  { tenantId, userId }: { tenantId: string; userId: string },
): Promise<void> {
  for (let from = 0; from < messages; from += BATCH_ROWS) {
    const to = Math.min(from + BATCH_ROWS, messages);
    await sql`
      insert into notifications (id, tenant_id, channel, status, subject, html_body, recipient_count, created_at)
      select uuidv7(-age), ${tenantId}, (array['Email', 'Email', 'Email', 'Push', 'InApp', 'Sms'])[1 + n % 6]::notification_channel,
        case when n % 50 = 0 then 'Failed' when n % 97 = 0 then 'DeadLettered' else 'Sent' end::notification_status,
        'Order ' || n, repeat('Your order is on its way. ', 10), 1, now() - age
      from generate_series(${from + 1}::int, ${to}::int) n,
        make_interval(secs => n * ${DAYS * 24 * 60 * 60 / messages}::float8) age`;
    await sql`
      insert into user_notifications (id, user_id, seq, title, body, category, is_read, read_at, created_at)
      select uuidv7(), ${userId}, n, 'Order ' || n, 'Your order is on its way.', 'orders', n % 3 = 0,
        case when n % 3 = 0 then now() end, now() from generate_series(${from + 1}::int, ${to}::int) n`;
  }
  await vacuumAndCheckpoint(sql, ["notifications", "user_notifications"]);
}

/** Runs vacuum and a checkpoint now, so that this work does not slow down the measurement. */
async function vacuumAndCheckpoint(sql: Sql, tables: string[]): Promise<void> {
  for (const table of tables) await sql.unsafe(`vacuum analyze ${table}`);
  await sql.unsafe("checkpoint");
}
