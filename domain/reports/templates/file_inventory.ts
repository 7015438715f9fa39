import { z } from "zod";
import {
  boolean,
  dayParameter,
  defineReport,
  detail,
  instant,
  integer,
  tenantName,
  text,
} from "../definition/report_template.ts";
import { TRANSLATIONS } from "./translations.ts";

/**
 * Files: one row per file, newest first. Without a tenant it shows product files only, because nobody, not even a
 * system administrator, may read the files of another tenant. Uploaders from other tenants are shown by id only.
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
    status: z.enum(["Pending", "Scanning", "Available", "Infected", "Failed", "Purged"]).optional().meta({
      title: "State",
      description: "Only files in this state",
    }),
    profile: z.string().min(1).max(64).optional().meta({
      title: "Profile",
      description: "Only files of this upload profile",
    }),
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
      and (${createdFrom}::date is null or f.created_at >= ${createdFrom}::date)
      and (${createdTo}::date is null or f.created_at < ${createdTo}::date + 1)
      and (${status}::text is null or f.status = ${status}::text::file_status)
      and (${profile}::text is null or f.profile = ${profile}::text)
    order by f.id desc`,
});
