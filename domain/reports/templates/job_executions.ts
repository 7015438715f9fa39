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

/** Ended attempts of jobs: one row per attempt, newest first. */
export const jobExecutionsReport = defineReport({
  id: "job-executions",
  name: "Job executions",
  description: "The attempts of the tenant's background jobs: when, how long, how they ended",
  version: 1,
  translations: TRANSLATIONS,
  permissions: [],
  parameters: z.object({
    from: dayParameter("From", "Only attempts that ended on or after this day (UTC)"),
    to: dayParameter("To", "Only attempts that ended on or before this day (UTC)"),
    status: z.enum(["Succeeded", "Failed", "Abandoned"]).optional().meta({
      title: "Outcome",
      description: "Only attempts with this outcome",
    }),
    jobTypeName: z.string().min(1).max(200).optional().meta({
      title: "Job type",
      description: "Only jobs of this type",
    }),
  }),
  columns: {
    startedAt: instant("Started"),
    completedAt: detail(instant("Ended")),
    durationMs: integer("Duration (ms)"),
    jobTypeName: text("Job type", 26),
    queue: detail(text("Queue", 14)),
    status: text("Outcome", 12),
    attemptNumber: integer("Attempt"),
    errorMessage: text("Error", 50),
    jobId: detail(text("Job", 36)),
    tenant: tenantName(),
  },
  totals: { durationMs: ["sum", "average", "max"] },
  chart: { title: "Attempts by outcome", kind: "pie", by: "status" },
  query: (sql, { tenantIds, parameters: { from, to, status, jobTypeName } }) =>
    sql`
    select e.started_at, e.completed_at,
      round(extract(epoch from e.completed_at - e.started_at) * 1000)::bigint as duration_ms, j.job_type_name, j.queue,
      e.status, e.attempt_number, e.error_message, e.job_id, t.name as tenant
    from job_executions e
    join jobs j on j.id = e.job_id
    left join tenants t on t.id = j.tenant_id
    where (${tenantIds}::uuid[] is null or j.tenant_id = any(${tenantIds}::uuid[]))
      and (${from}::date is null or e.completed_at >= ${from}::date)
      and (${to}::date is null or e.completed_at < ${to}::date + 1)
      and (${status}::text is null or e.status = ${status}::text)
      and (${jobTypeName}::text is null or j.job_type_name = ${jobTypeName}::text)
    order by e.job_id desc, e.attempt_number desc`,
});
