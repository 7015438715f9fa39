import { z } from "zod";
import { ARCHIVE_KINDS } from "../../../infra/areas.ts";
import {
  dayParameter,
  defineReport,
  detail,
  instant,
  tenantName,
  text,
} from "../definition/report_template.ts";
import { TRANSLATIONS } from "./translations.ts";

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
