// A service with more tenants, jobs and failures than the first page of a list shows.
import { countTime, printBuckets, type TimeBuckets } from "../../../domain/jobs/statistics/time_buckets.ts";
import { EVERYTHING } from "../../../domain/jobs/reach.ts";
import { newId } from "../../../domain/shared/ids.ts";
import { eicar } from "../../support/content.ts";
import { accepted } from "../../support/outcomes.ts";
import type { TestService } from "../../support/setup.ts";
import { Uploading } from "../files/uploading.ts";
import { everyTenantPermission } from "../isolation/world.ts";
import { FakeServer } from "../../domain/notifications/delivering.ts";
import { delivered } from "../reports/support.ts";

const BRANCHES = 65;
const CSV = 3;
export const TRACE = "0af7651916cd43dd8448eb211c80319c";

export type World = Awaited<ReturnType<typeof makeWorld>>;

/** Fills a service. Most questions are about the tenant Zephyr, the last of 67 by name; its administrator is Zora. */
export async function makeWorld(t: TestService, receiver: string) {
  const { sql } = t.steward.platform;
  const mails = new FakeServer();
  for (const address of ["bob@example.test", "board@example.test"]) {
    mails.refusals.set(address, "550 mailbox full");
  }
  t.replace((p): Record<number, unknown> => p.mail, { 0: mails });
  const branches: string[] = [];
  for (let n = 1; n <= BRANCHES; n++) branches.push(await t.tenant({ name: `Branch ${n}` }));
  const zephyr = await t.tenant({ name: "Zephyr" });
  const zora = await t.actor({ tenantId: zephyr, permissions: everyTenantPermission });
  await sql`update users set first_name = 'Zora', last_name = 'Lim', email = 'zora@zephyr.test' where id = ${zora.userId}`;
  const post = async (path: string, body?: unknown, headers = {}) =>
    await accepted(zora.post(`/api/v1/${path}`, body, headers));
  const insert = async (table: string, row: Record<string, unknown>) => {
    const id = newId();
    await sql`insert into ${sql(table)} ${sql({ id, ...row })}`;
    return id;
  };

  await makeJobs();
  await makeFigures();
  const people = await makePeople();
  return {
    t,
    admin: t.systemAdmin,
    sql,
    mails,
    zora,
    zephyr,
    branches,
    keeper: await t.actor({ tenantId: zephyr, permissions: ["admin:system", "read:files", "retain:files"] }),
    operator: await t.actor({ role: "SystemAdmin" }),
    ...people,
    waiting: await makeWaitingJob(),
    failed: await makeFailedJob(),
    ...await makeMessages(),
    ...await makeFiles(),
    ...await makeReports(),
    ...await makeKeysAndWebhooks(),
  };

  /** Jobs of all tenants: dead letters of two errors, and the slow ones of today, yesterday and the day before. */
  async function makeJobs(): Promise<void> {
    const tenants = [...branches, zephyr];
    await sql`
      with made as (
        insert into jobs (id, tenant_id, job_type_name, serialized_args, type, status, priority, queue, lane, due_at,
          created_at, started_at, completed_at, attempts, max_retries, last_error, settled_by)
        select uuidv7(-age), tenant, 'steward.echo', '{}', 'FireAndForget', status::job_status, 2, 'default',
          'default||' || tenant, at, at, at, at + interval '40 ms', 1, 3,
          case when status = 'DeadLettered' then (array['Partner answered 503 to order ', 'Disk full at block '])[1 + n / 66 % 2] || n end,
          case when status = 'Succeeded' then uuidv7() end
        from generate_series(1, 3000) n, lateral (
          select (${tenants}::uuid[])[1 + n % ${tenants.length}] as tenant, make_interval(mins => n) as age,
            case when n / 66 % 5 < 2 then 'DeadLettered' else 'Succeeded' end as status
        ) c, lateral (select now() - age as at) times
        returning *
      )
      insert into dead_letter_jobs (id, job_id, tenant_id, job_type_name, queue, serialized_args, attempts, error_message, failed_at)
      select id, id, tenant_id, job_type_name, queue, serialized_args, 1, last_error, completed_at from made
      where status = 'DeadLettered'`;
    await sql`
      insert into jobs (id, tenant_id, job_type_name, serialized_args, type, status, priority, queue, lane, due_at,
        created_at, started_at, completed_at, attempts, max_retries, settled_by)
      select uuidv7(-age), ${zephyr}, 'steward.sleep', json_build_object('milliseconds', 1000 * n), 'FireAndForget', 'Succeeded',
        1, 'slow', 'slow||' || ${zephyr}, at, at, at, at + make_interval(mins => days * 100 + n), 1, 3, uuidv7()
      from generate_series(1, 12) n, (values (0), (1), (2)) d (days), lateral (select
        case days when 1 then 24 when 2 then 48 else 0 end * interval '1 hour' + make_interval(secs => n) as age
      ) ages, lateral (select now() - age as at) times`;
  }

  /** Figures of two job types: of today with a known p95, and a deploy after which more runs fail. */
  async function makeFigures(): Promise<void> {
    const write = async (name: string, hoursAgo: number, ok: number, failed: number, ms: number) => {
      const durations: TimeBuckets = new Map();
      for (let n = 0; n < ok + failed; n++) countTime(durations, ms);
      for (const grain of ["minute", "hour"]) {
        await sql`insert into job_type_figures (scope, job_type_name, grain, start, instance_id, succeeded, failed,
            dead_lettered, postponed, abandoned, waits, durations)
          values (${EVERYTHING}, ${name}, ${grain}, date_trunc(${grain}, now() - make_interval(hours => ${hoursAgo})),
            gen_random_uuid(), ${ok}, ${failed}, 0, 0, 0, '{}', ${printBuckets(durations)})`;
      }
    };
    await write("steward.sleep", 0, 100, 0, 42_000);
    await write("steward.sleep", 25, 300, 0, 600_000);
    await write("steward.http-request", 25, 99, 1, 100);
    await write("steward.http-request", 23, 60, 40, 100);
    await insert("deploy_marks", { label: "Billing 4.2", at: new Date(Date.now() - 24 * 3_600_000) });
    for (const [months, bytes, mails] of [[1, 4 * 2 ** 30, 900], [0, 6 * 2 ** 30, 1234]] as const) {
      await sql`insert into usage_months (month, tenant_key, storage_bytes, mails)
        values (date_trunc('month', now() at time zone 'UTC') - make_interval(months => ${months}), ${zephyr}, ${bytes}, ${mails})`;
    }
    await sql`insert into database_samples (day, bytes, tables)
      values (current_date - 10, 40000000, '{}')`;
  }

  /** Ana and 210 clerks; some administrators have a second factor, some people have not signed in for long. */
  async function makePeople() {
    await post("permissions", { code: "read:invoices", category: "Invoices" });
    await sql`insert into role_permissions (role_id, permission_id)
      select ${zora.roleId}, id from permissions where code = 'read:invoices'`;
    const role = async (name: string, ...codes: string[]) => {
      const asked = codes.map((code) => accepted(zora.get(`/api/v1/permissions/by-code/${code}`)));
      const permissionIds = (await Promise.all(asked)).map(({ id }) => id);
      return (await post("roles", { name, permissionIds })).id as string;
    };
    const clerk = await role("Clerk", "send:notifications");
    const reader = await role("Reader", "read:users");
    await role("Accountant", "read:invoices");
    await role("Helpdesk", "read:users");
    await sql`
      with made as (
        insert into users (id, email, first_name, last_name, last_login_at)
        select uuidv7(), 'clerk' || n || '@zephyr.test', 'Clerk', 'No ' || n,
          now() - case n when 7 then interval '120 days' else interval '1 hour' end
        from generate_series(1, 210) n returning id
      ), linked as (
        insert into user_tenants (user_id, tenant_id, is_default) select id, ${zephyr}, true from made
      )
      insert into user_tenant_roles (user_id, tenant_id, role_id) select id, ${zephyr}, ${clerk} from made`;
    const person = async (
      firstName: string,
      lastName: string,
      role?: "Visitor" | "Admin",
    ) => {
      const actor = await t.actor({ tenantId: zephyr, ...role && { role } });
      const email = `${firstName}@zephyr.test`.toLowerCase();
      await sql`update users set first_name = ${firstName}, last_name = ${lastName}, email = ${email}, last_login_at = now()
        where id = ${actor.userId}`;
      return actor;
    };
    const ana = await person("Ana", "Prado", "Visitor");
    const { items: [admins] } = await accepted(zora.get("/api/v1/roles?search=Admin"));
    const give = (roleIds: unknown[]) => accepted(zora.put(`/api/v1/users/${ana.userId}/roles`, { roleIds }));
    await give([ana.roleId, admins.id]);
    await give([ana.roleId]);
    const rui = await person("Rui", "Costa");
    const safe = await person("Safira", "Reis", "Admin");
    await insert("user_factors", {
      user_id: safe.userId,
      kind: "totp",
      name: "Phone",
      confirmed_at: new Date(),
      secret: "x",
    });
    return { ana: ana.userId, rui, safe: safe.userId, clerk, reader };
  }

  /** A job that waits for a worker. */
  async function makeWaitingJob(): Promise<string> {
    await accepted(zora.put("/api/v1/job-types/zephyr.mail", {}));
    return (await post("jobs", { jobTypeName: "zephyr.mail", serializedArgs: "{}", queue: "imports" })).id;
  }

  /** A job that failed after it logged a line. */
  async function makeFailedJob(): Promise<string> {
    const body = {
      jobTypeName: "steward.fail",
      serializedArgs: `{"message":"Ledger 9 is closed"}`,
      maxRetries: 0,
    };
    const { id } = await post("jobs", body);
    await t.settled(id);
    await sql`insert into job_log_lines (job_id, attempt_number, line_number, at, level, message)
      values (${id}, 1, 1, '2026-07-01T10:30:00Z', 'info', 'opening ledger 9')`;
    return id;
  }

  async function makeMessages() {
    const traceparent = `00-${TRACE}-b7ad6b7169203331-01`;
    const send = async (address: string, subject: string) =>
      (await post("notifications/send", {
        channel: "Email",
        recipients: [{ address }],
        subject,
        textBody: "text",
      }, { traceparent })).notificationId as string;
    const mail = await send("bob@example.test", "Invoice 77");
    await post("roles", { name: "Traced" }, { traceparent });
    const template = await post("notification-templates", {
      slug: "welcome",
      name: "Welcome",
      subjectTemplate: "Welcome",
      htmlBodyTemplate:
        `<style>@media (prefers-color-scheme: dark) { body { color: #fafafa } }</style><p>First text</p>`,
    });
    await accepted(
      zora.put(`/api/v1/notification-templates/${template.id}`, { htmlBodyTemplate: "<p>Second text</p>" }),
    );
    const jobOf = async () =>
      (await sql<{ jobId: string }[]>`select job_id from notifications where id = ${mail}`)[0]?.jobId;
    await t.settled(await jobOf() ?? "");
    return { template: template.id as string };
  }

  async function makeFiles() {
    const files = new Uploading(t);
    await files.uploadAndScan(zora, { bytes: eicar(), fileName: "payroll.txt" });
    const contract = await files.uploadAndScan(zora, {
      bytes: new TextEncoder().encode("a"),
      fileName: "contract.txt",
    });
    return { contract: contract.id as string };
  }

  /** A schedule whose last document did not reach its recipient. */
  async function makeReports() {
    const delivery = { method: 2, recipients: ["board@example.test"] };
    const schedule = await post("reports/schedules", {
      templateId: "users",
      name: "Monthly users",
      format: CSV,
      cronExpression: "0 8 1 * *",
      timeZoneId: "America/New_York",
      delivery,
    });
    const { trackingId: run } = await post(`reports/schedules/${schedule.id}/trigger`);
    await delivered(zora, run);
    await sql`delete from notification_suppressions`;
    const soon = (hours: number) => new Date(Date.now() + hours * 3_600_000).toISOString();
    await post("recurring-jobs", {
      jobId: "zephyr.hourly",
      jobTypeName: "steward.echo",
      cronExpression: "5 * * * *",
      serializedArgs: "{}",
    });
    await post("jobs", {
      jobTypeName: "steward.http-request",
      serializedArgs: `{"url":"https://example.test"}`,
      scheduledAt: soon(3),
    });
    const notification = {
      channel: "Email",
      recipients: [{ address: "eve@example.test" }],
      subject: "Reminder",
      textBody: "x",
    };
    await post("notifications/schedule", { notification, scheduledAt: soon(2) });
    return { schedule: schedule.id as string };
  }

  async function makeKeysAndWebhooks() {
    const key = await post("api-keys", { name: "Old importer", permissions: ["read:users"] });
    await sql`update api_keys set last_used_at = now() - interval '90 days', created_at = now() - interval '100 days'
      where id = ${key.id}`;
    await post("api-keys", {
      name: "Expiring soon",
      permissions: ["read:users"],
      expiresAt: new Date(Date.now() + 5 * 86_400_000),
    });
    await post("api-keys", { name: "Used today", permissions: ["read:users"] });
    await sql`update api_keys set last_used_at = now() where name = 'Used today' or name = 'Expiring soon'`;
    await post("service-accounts", { name: "Old sync", permissions: ["read:users"], tenants: [zephyr] });
    await sql`update service_accounts set created_at = now() - interval '100 days'`;
    for (const [path, daysAgo] of [["orders", 3], ["orders", 1], ["stock", 1]] as const) {
      const url = `${receiver}/${path}`;
      const { id } = await post("webhook-endpoints", { url, eventTypes: ["role.deleted"] });
      const at = new Date(Date.now() - daysAgo * 86_400_000);
      await insert("webhook_deliveries", {
        endpoint_id: id,
        event_type: "role.deleted",
        body: "{}",
        job_id: newId(),
        status: "Failed",
        attempt_count: 3,
        created_at: at,
        completed_at: at,
        next_attempt_at: null,
      });
    }
    const failing = {
      tenant_id: branches[6],
      url: "https://down.example.test",
      event_types: ["*"],
      failing_since: new Date(),
    };
    await insert("webhook_endpoints", failing);
    return {};
  }
}
