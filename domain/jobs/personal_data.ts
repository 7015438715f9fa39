import { transact } from "../../infra/postgres/postgres.ts";
import { type ErasableTexts, eraseAddresses } from "../shared/erase_text.ts";
import { untilDone } from "../shared/batches.ts";
import { ERASED_AT_ONCE, ofTenant, type PersonalData } from "../shared/personal_data.ts";

/** Every text of a job in which callers or handlers may have put an address. */
const TEXTS: ErasableTexts[] = [
  {
    table: "jobs",
    columns: {
      serialized_args: "text",
      last_error: "text",
      unique_key: "text",
      wait_reason: "text",
      output: "text",
      search_keys: "text[]",
    },
  },
  {
    table: "dead_letter_jobs",
    columns: { serialized_args: "text", error_message: "text" },
  },
  { table: "recurring_jobs", columns: { serialized_args: "text", unique_key: "text" } },
  {
    table: "job_attempts",
    key: { job_id: "uuid", attempt_number: "integer" },
    columns: { error_message: "text", output: "text" },
  },
  {
    table: "job_log_lines",
    key: { job_id: "uuid", attempt_number: "integer", line_number: "integer" },
    columns: { message: "text", fields: "jsonb" },
  },
  { table: "job_progress", key: { job_id: "uuid", attempt_number: "integer" }, columns: { note: "text" } },
  { table: "job_batches", columns: { name: "text", on_all_succeeded: "jsonb", on_any_failed: "jsonb" } },
];

/** Jobs that a person created. Arguments are left out of exports, because they may contain secrets. */
export const jobPersonalData: PersonalData = {
  area: "jobs",
  user: {
    jobs: (q, { userId, tenantId }) =>
      q`
      select id, tenant_id, job_type_name, type, status, queue, created_at, started_at, completed_at
      from jobs where id = any(array(select job_id from job_search_keys
          where key = md5(${`createdBy=${userId}`})::uuid))
        and ${ofTenant(q, tenantId)} order by id`,
    "recurring-jobs": (q, { userId, tenantId }) =>
      q`
      select id, tenant_id, job_id, job_type_name, cron_expression, time_zone_id, created_at from recurring_jobs
      where created_by = ${userId} and ${ofTenant(q, tenantId)} order by id`,
  },
  async eraseUsers({ sql }, persons) {
    await eraseAddresses(sql, persons, TEXTS);
  },
  tenant: {
    jobs: (q, tenantId) =>
      q`
      select id, job_type_name, type, status, priority, queue, attempts, created_by, created_at, started_at,
        completed_at from jobs where tenant_id = ${tenantId} order by id`,
    "recurring-jobs": (q, tenantId) =>
      q`
      select id, job_id, job_type_name, cron_expression, time_zone_id, queue, is_paused, created_by, created_at
      from recurring_jobs where tenant_id = ${tenantId} order by id`,
    "job-types": (q, tenantId) =>
      q`
      select id, name, description, args_schema, created_by, created_at, deleted_at from job_types
      where tenant_id = ${tenantId} order by id`,
  },
  async eraseTenant({ sql }, tenantId) {
    await sql`delete from recurring_jobs where tenant_id = ${tenantId}`;
    await untilDone(() =>
      transact(sql, async (tx) => {
        const jobs = await tx<{ id: string }[]>`
          delete from jobs where id = any(array(
            select id from jobs where tenant_id = ${tenantId} limit ${ERASED_AT_ONCE})) returning id`;
        const ids = jobs.map(({ id }) => id);
        // These follow the jobs, because a running attempt adds no lines once its job is deleted: see `AttemptLog`.
        for (const table of ["job_log_lines", "job_progress", "job_attempts", "dead_letter_jobs"]) {
          await tx`delete from ${tx(table)} where job_id = any(${ids}::uuid[])`;
        }
        return jobs;
      })
    );
    await sql`delete from dead_letter_jobs where tenant_id = ${tenantId}`;
    await sql`delete from job_batch_counts where batch_id in (select id from job_batches where tenant_id = ${tenantId})`;
    await sql`delete from job_batches where tenant_id = ${tenantId}`;
    await sql`delete from job_type_figures where scope = ${tenantId}`;
    await sql`delete from job_throughput where scope = ${tenantId}`;
    await sql`delete from job_pauses where tenant_id = ${tenantId}`;
    await sql`delete from job_type_old_secrets
      where job_type_id in (select id from job_types where tenant_id = ${tenantId})`;
    await sql`delete from job_types where tenant_id = ${tenantId}`;
  },
};
