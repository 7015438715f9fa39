import { foldCounts } from "../../domain/jobs/statistics/fold_counts.ts";
import type { Sql } from "../../infra/postgres/postgres.ts";

const BATCH_ROWS = 50_000;
/** The messages are spread evenly over this many days. */
const DAYS = 30;
/** Number of the oldest jobs, which belong to the queue `old`. */
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

/**
 * Inserts jobs of 200 tenants, forty types and five queues: a tenth has failed, with as many different errors; the last
 * `waiting` ones wait.
 */
export async function fillJobsOfTenants(sql: Sql, jobs: number, waiting: number): Promise<void> {
  for (let from = jobs; from > 0; from -= BATCH_ROWS) {
    await sql`
      with made as (
        select n, uuidv7(-age) as id, now() - age as at, abs(hashint4(n)) as h from generate_series(
          ${from}::int, ${Math.max(1, from - BATCH_ROWS + 1)}::int, -1) n, make_interval(secs => n / 10.0) age
      ), inserted as (
        insert into jobs (id, tenant_id, job_type_name, serialized_args, type, status, priority, queue, lane, due_at,
          created_at, started_at, completed_at, attempts, max_retries, settled_by, last_error)
        select id, tenant, 'bench.type' || h % 40, '{"lines":[1,2,3]}', 'FireAndForget', status::job_status, h / 7 % 4, queue,
          queue || '||' || tenant, at + case status when 'Failed' then interval '30 days' else interval '0' end, at,
          case when status <> 'Enqueued' then at end, case when status in ('Succeeded', 'DeadLettered') then at end,
          (status <> 'Enqueued')::int, 3, case when status = 'Succeeded' then uuidv7() end,
          case when status in ('Failed', 'DeadLettered') then
            'POST https://partner-' || h % 50 || '.example/orders/' || n || ' answered 503: timed out after 30000 ms' end
        from made, lateral (
          select ('00000000-0000-4000-8000-' || lpad((h / 17 % 200)::text, 12, '0'))::uuid as tenant,
            'queue' || h % 40 / 8 as queue,
            case when n <= ${waiting}::int then 'Enqueued' when h / 13 % 100 < 2 then 'Failed'
              when h / 13 % 100 < 10 then 'DeadLettered' else 'Succeeded' end as status
        ) chosen
        returning id, tenant_id, job_type_name, queue, serialized_args, status, last_error, completed_at
      )
      insert into dead_letter_jobs (id, job_id, tenant_id, job_type_name, queue, serialized_args, attempts, error_message,
        failed_at)
      select id, id, tenant_id, job_type_name, queue, serialized_args, 1, last_error, completed_at
      from inserted where status = 'DeadLettered'`;
    while (!await foldCounts(sql, { always: true }));
  }
  await vacuumAndCheckpoint(sql, ["jobs", "dead_letter_jobs"]);
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
