import { z } from "zod";
import {
  boolean,
  dayParameter,
  defineReport,
  detail,
  filter,
  instant,
  integer,
  tenantName,
  text,
} from "../definition/report_template.ts";
import { TRANSLATIONS } from "./translations.ts";
import { EXPORT_PROFILE } from "../../files/profiles.ts";
import { channelName } from "../../notifications/channels.ts";
import { ARCHIVE_KINDS } from "../../../infra/areas.ts";

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
    status: filter(
      z.enum(["Succeeded", "Failed", "Abandoned"]),
      "Outcome",
      "Only attempts with this outcome",
    ),
    jobTypeName: filter(z.string().min(1).max(200), "Job type", "Only jobs of this type"),
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

/** Messages and their outcome per recipient: one row per recipient, newest first. */
export const notificationDeliveriesReport = defineReport({
  id: "notification-deliveries",
  name: "Notification deliveries",
  description: "The tenant's messages by recipient: channel, state, time sent and error",
  version: 1,
  translations: TRANSLATIONS,
  permissions: ["send:notifications"],
  parameters: z.object({
    from: dayParameter("From", "Only messages created on or after this day (UTC)"),
    to: dayParameter("To", "Only messages created on or before this day (UTC)"),
    channel: filter(channelName, "Channel", "Only messages of this channel"),
    outcome: filter(z.enum(["Owed", "Sent", "Refused"]), "Outcome", "Only recipients with this outcome"),
  }),
  columns: {
    createdAt: instant("Created"),
    channel: text("Channel", 8),
    status: detail(text("Message state", 13)),
    recipient: text("Recipient", 34),
    outcome: text("Outcome", 9),
    sentAt: instant("Sent"),
    errorMessage: text("Error", 40),
    subject: text("Subject", 40),
    templateSlug: detail(text("Template", 20)),
    priority: detail(text("Priority", 9)),
    retryCount: detail(integer("Retries")),
    notificationId: detail(text("Message", 36)),
    tenant: tenantName(),
  },
  chart: { title: "Recipients by outcome", kind: "pie", by: "outcome" },
  query: (sql, { tenantIds, parameters: { from, to, channel, outcome } }) =>
    sql`
    select n.created_at, n.channel, n.status, r.status as outcome, r.sent_at,
      coalesce(r.error_message, case when r.status <> 'Sent' then n.last_error end) as error_message,
      case when not n.is_confidential then n.subject end as subject, n.template_slug, n.priority, n.retry_count,
      case when n.channel in ('Email', 'Push', 'InApp', 'Sms') then r.address
        else regexp_replace(r.address, '^(https?://)([^/?#]*@)?([^/?#]+).*$', '\\1\\3/…') end as recipient,
      n.id as notification_id, t.name as tenant
    from notifications n
    join notification_recipients r on r.notification_id = n.id
    left join tenants t on t.id = n.tenant_id
    where (${tenantIds}::uuid[] is null or n.tenant_id = any(${tenantIds}::uuid[]))
      and (${from}::date is null or n.created_at >= ${from}::date)
      and (${to}::date is null or n.created_at < ${to}::date + 1)
      and (${channel}::text is null or n.channel = ${channel}::text::notification_channel)
      and (${outcome}::text is null or r.status = ${outcome}::text)
    order by n.created_at desc, n.id desc, r.id`,
});

/**
 * Files: one row per file, newest first, without exports, which only who asked for them sees. Without a tenant it shows
 * product files only, because nobody, not even a system administrator, may read the files of another tenant. Uploaders from
 * other tenants are shown by id only.
 */
export const fileInventoryReport = defineReport({
  id: "file-inventory",
  name: "File inventory",
  description: "The tenant's files: state, size, retention, holds and who uploaded them",
  version: 2,
  translations: TRANSLATIONS,
  permissions: ["read:files"],
  parameters: z.object({
    createdFrom: dayParameter("Created from", "Only files reserved on or after this day (UTC)"),
    createdTo: dayParameter("Created to", "Only files reserved on or before this day (UTC)"),
    status: filter(
      z.enum(["Pending", "Scanning", "Available", "Infected", "Failed", "Purged"]),
      "State",
      "Only files in this state",
    ),
    profile: filter(z.string().min(1).max(64), "Profile", "Only files of this upload profile"),
  }),
  columns: {
    createdAt: instant("Reserved"),
    fileName: text("File name", 32),
    profile: detail(text("Profile", 12)),
    status: text("State", 10),
    sizeBytes: integer("Bytes", 12),
    contentType: detail(text("Content type", 24)),
    retentionClass: detail(text("Retention", 10)),
    retainUntil: instant("Keep until"),
    isOnLegalHold: boolean("Legal hold"),
    referenceCount: detail(integer("References")),
    createdBy: text("Uploaded by", 30),
    purgedAt: detail(instant("Purged")),
    purgeReason: detail(text("Why purged", 20)),
    sha256: detail(text("SHA-256", 38)),
    fileId: detail(text("File", 38)),
    tenant: tenantName(),
  },
  totals: { sizeBytes: "sum" },
  chart: { title: "Bytes by profile", kind: "pie", by: "profile", sum: "sizeBytes" },
  query: (sql, { tenantIds, parameters: { createdFrom, createdTo, status, profile } }) =>
    sql`
    select f.created_at, f.file_name, f.profile, f.status, f.size_bytes,
      coalesce(f.detected_content_type, f.declared_content_type) as content_type, f.retention_class, f.retain_until,
      f.legal_hold as is_on_legal_hold, f.reference_count, coalesce(u.email, f.created_by::text) as created_by,
      f.purged_at, f.purge_reason, f.sha256, f.id as file_id, t.name as tenant
    from files f
    left join users u on u.id = f.created_by and (${tenantIds}::uuid[] is null or exists (
      select from user_tenants l where l.user_id = u.id and l.tenant_id = any(${tenantIds}::uuid[])))
    left join tenants t on t.id = f.tenant_id
    where case when ${tenantIds}::uuid[] is null then f.tenant_id is null else f.tenant_id = any(${tenantIds}::uuid[]) end
      and f.profile <> ${EXPORT_PROFILE}
      and (${createdFrom}::date is null or f.created_at >= ${createdFrom}::date)
      and (${createdTo}::date is null or f.created_at < ${createdTo}::date + 1)
      and (${status}::text is null or f.status = ${status}::text::file_status)
      and (${profile}::text is null or f.profile = ${profile}::text)
    order by f.id desc`,
});

/** Rows that were deleted after their retention, from the archives in the bucket: one row each, oldest archive first. */
export const archivedRowsReport = defineReport({
  id: "archived-rows",
  name: "Archived rows",
  description: "Old jobs, messages or events of the tenant, from the archives",
  version: 1,
  translations: TRANSLATIONS,
  permissions: ["send:notifications", "read:events"],
  readsArchive: true,
  parameters: z.object({
    kind: z.enum(ARCHIVE_KINDS).meta({ title: "Kind", description: "The kind of rows" }),
    from: dayParameter("From", "Only rows on or after this day (UTC)"),
    to: dayParameter("To", "Only rows on or before this day (UTC)"),
  }),
  columns: {
    at: instant("At"),
    type: text("Type", 26),
    status: text("State", 13),
    facts: text("Facts", 60),
    id: detail(text("Id", 36)),
    tenant: tenantName(),
  },
  query: (sql, { tenantIds, parameters: { from, to }, archived = "[]" }) =>
    sql`
    select r.occurred_at as at, r.type, r.status, r.facts, r.id, coalesce(t.name, r.tenant_id::text) as tenant
    from json_to_recordset(${archived}::text::json)
      r (id uuid, tenant_id uuid, occurred_at timestamptz(3), type text, status text, facts text)
    left join tenants t on t.id = r.tenant_id
    where (${tenantIds}::uuid[] is null or r.tenant_id = any(${tenantIds}::uuid[]))
      and (${from}::date is null or r.occurred_at >= ${from}::date)
      and (${to}::date is null or r.occurred_at < ${to}::date + 1)
    order by r.occurred_at, r.id`,
});
