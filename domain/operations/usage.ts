import { z } from "zod";
import { type Sql, transact } from "../../infra/postgres/postgres.ts";
import { storageByTenant } from "../files/storage_usage.ts";
import { defineJob, type JobContext } from "../jobs/job_type.ts";
import { runsByDay } from "../jobs/statistics/throughput.ts";
import { mailsByDay } from "../notifications/counts.ts";
import { tenantKeyOf } from "../notifications/tenant_key.ts";
import { reportsByDay } from "../reports/counts.ts";
import { type Caller, holds } from "../rights/caller.ts";
import type { PagedResult } from "../shared/paging.ts";
import type { PersonalData } from "../shared/personal_data.ts";
import type { Platform } from "../shared/platform.ts";
import { orderBy, readPage, type SortedPageRequest } from "../shared/lists.ts";
import { time } from "../shared/shapes.ts";
import { sampleDatabase } from "./data_health.ts";

const amounts = {
  storageBytes: z.int().describe("Of files whose content is stored, at the last measurement"),
  mails: z.int(),
  jobs: z.int().describe("Ended runs, also failed ones"),
  reports: z.int(),
};

/** The use of a tenant in a month. */
export const Usage = z.object({
  month: z.string().meta({ description: "UTC, such as 2026-11", example: "2026-11" }),
  tenantId: z.guid().nullable().describe("Null: the service's own use"),
  tenantName: z.string().nullable(),
  ...amounts,
  previous: z.object(amounts).nullable().describe("The month before; null: nothing is known"),
  updatedAt: time.describe("It is measured once an hour"),
}).meta({ id: "UsageDto" });
export type Usage = z.output<typeof Usage>;

/** SQL expression of each sort key. */
const SORTS = {
  month: "u.month",
  storageBytes: "u.storage_bytes",
  mails: "u.mails",
  jobs: "u.jobs",
  reports: "u.reports",
} as const;
export const USAGE_SORTS = Object.keys(SORTS) as [keyof typeof SORTS, ...(keyof typeof SORTS)[]];

interface UsageRequest extends SortedPageRequest<keyof typeof SORTS> {
  /** As `YYYY-MM`. */
  month?: string | undefined;
  /** For callers who reach all tenants. */
  tenantId?: string | undefined;
}

/** Lists the use of tenants by month: of all tenants for who administers them, else of the caller's tenant. */
export async function listUsage(q: Sql, caller: Caller, request: UsageRequest): Promise<PagedResult<Usage>> {
  const tenantId = holds(caller, "manage:all-tenants") ? request.tenantId : caller.tenantId;
  const { month } = request;
  return await readPage(q, {
    columns: q`to_char(u.month, 'YYYY-MM') as month, nullif(u.tenant_key, ${
      tenantKeyOf(null)
    }) as tenant_id, t.name as tenant_name,
      u.storage_bytes, u.mails, u.jobs, u.reports, u.updated_at,
      case when b.month is not null then jsonb_build_object('storageBytes', b.storage_bytes, 'mails', b.mails,
        'jobs', b.jobs, 'reports', b.reports) end as previous`,
    from: q`usage_months u left join tenants t on t.id = u.tenant_key
      left join usage_months b on b.tenant_key = u.tenant_key and b.month = (u.month - interval '1 month')::date
      where ${tenantId === undefined ? q`true` : q`u.tenant_key = ${tenantId}`}
        and ${month === undefined ? q`true` : q`u.month = ${`${month}-01`}::date`}`,
    order: orderBy(q, SORTS[request.sortBy ?? "month"], ["u.tenant_key", "u.month"], request.sortDirection),
  }, request);
}

/** Measures the use of tenants and the size of the database. */
export const measureUseJob = defineJob({
  name: "operations.measure-use",
  args: z.object({}),
  cron: "3 * * * *",
  timeoutMs: 10 * 60_000,
  maxRetries: 0, // the next tick measures again
  async run(_args, { db }: JobContext<Platform>) {
    await measureUse(db);
    await sampleDatabase(db);
    return null;
  },
});

/**
 * Adds up the days since the last measurement, and their months. A count never becomes smaller, because old jobs, messages and
 * reports are deleted. Repeating it changes nothing.
 */
export async function measureUse(q: Sql): Promise<void> {
  await transact(q, async (tx) => {
    const today = tx`(now() at time zone 'UTC')::date`;
    const [since] = await tx<{ day: string }[]>`
      select (coalesce(max(day), ${today} - 6) - 1)::text as day from usage_days`;
    const from = new Date(`${since?.day}T00:00:00Z`);
    await tx`
      insert into usage_days as u (day, tenant_key, mails, jobs, reports)
      select day, tenant_key, sum(mails), sum(jobs), sum(reports) from (
        select day, tenant_key, n as mails, 0 as jobs, 0 as reports from (${mailsByDay(tx, from)}) m
        union all select day, tenant_key, 0, n, 0 from (${runsByDay(tx, from)}) r
        union all select day, tenant_key, 0, 0, n from (${reportsByDay(tx, from)}) e) counted
      group by day, tenant_key having sum(mails) + sum(jobs) + sum(reports) > 0
      on conflict (day, tenant_key) do update set mails = greatest(u.mails, excluded.mails),
        jobs = greatest(u.jobs, excluded.jobs), reports = greatest(u.reports, excluded.reports)`;
    await tx`
      insert into usage_months as u (month, tenant_key, mails, jobs, reports)
      select date_trunc('month', day)::date, tenant_key, sum(mails), sum(jobs), sum(reports) from usage_days
      where day >= date_trunc('month', ${from}::timestamptz at time zone 'UTC') group by 1, 2
      on conflict (month, tenant_key) do update set mails = greatest(u.mails, excluded.mails),
        jobs = greatest(u.jobs, excluded.jobs), reports = greatest(u.reports, excluded.reports), updated_at = now()`;
    await tx`
      with stored as materialized (${storageByTenant(tx)})
      insert into usage_months as u (month, tenant_key, storage_bytes)
      select date_trunc('month', ${today})::date, tenant_key, coalesce(sum(bytes), 0) from (
        select tenant_key, bytes from stored
        union all select tenant_key, 0 from usage_months where month = date_trunc('month', ${today})) known
      group by tenant_key
      on conflict (month, tenant_key) do update set storage_bytes = excluded.storage_bytes, updated_at = now()`;
    await tx`delete from usage_days where day < ${today} - 62`;
  });
}

export const operationsPersonalData: PersonalData = {
  area: "operations",
  tenant: {
    usage: (q, tenantId) =>
      q`select month::text, storage_bytes, mails, jobs, reports from usage_months where tenant_key = ${tenantId} order by 1`,
  },
  async eraseTenant({ sql }, tenantId) {
    await sql`delete from usage_days where tenant_key = ${tenantId}`;
    await sql`delete from usage_months where tenant_key = ${tenantId}`;
  },
};
