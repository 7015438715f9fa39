import { z } from "zod";
import {
  dayParameter,
  defineReport,
  detail,
  instant,
  integer,
  tenantName,
  text,
} from "../definition/report_template.ts";
import { TRANSLATIONS } from "./translations.ts";

/** Jobs that failed for good: one row per dead-letter entry, newest first. */
export const deadLettersReport = defineReport({
  id: "dead-letters",
  name: "Dead letters",
  description:
    "The tenant's jobs that used up their retries, with the last error and whether they were retried",
  version: 1,
  translations: TRANSLATIONS,
  permissions: [],
  parameters: z.object({
    from: dayParameter("From", "Only jobs that failed for good on or after this day (UTC)"),
    to: dayParameter("To", "Only jobs that failed for good on or before this day (UTC)"),
    onlyOpen: z.boolean().default(false).meta({
      title: "Only open",
      description: "Leave out entries that were retried",
    }),
  }),
  columns: {
    failedAt: instant("Given up"),
    jobTypeName: text("Job type", 26),
    queue: text("Queue", 14),
    attempts: integer("Attempts"),
    errorMessage: text("Last error", 60),
    retriedAt: instant("Retried"),
    jobId: detail(text("Job", 36)),
    tenant: tenantName(),
  },
  totals: { attempts: "sum" },
  chart: { title: "Dead letters by job type", by: "jobTypeName" },
  query: (sql, { tenantIds, parameters: { from, to, onlyOpen } }) =>
    sql`
    select d.failed_at, d.job_type_name, d.queue, d.attempts, d.error_message, d.retried_at, d.job_id, t.name as tenant
    from dead_letter_jobs d
    left join tenants t on t.id = d.tenant_id
    where (${tenantIds}::uuid[] is null or d.tenant_id = any(${tenantIds}::uuid[]))
      and (${from}::date is null or d.failed_at >= ${from}::date)
      and (${to}::date is null or d.failed_at < ${to}::date + 1)
      and (not ${onlyOpen}::boolean or d.retried_at is null)
    order by d.id desc`,
});
