import { type Sql, transact } from "../../infra/postgres/postgres.ts";
import { type ErasableTexts, eraseAddresses } from "../shared/erase_text.ts";
import { ofTenant, type PersonalData } from "../shared/personal_data.ts";
import type { ReportPlatform } from "./platform.ts";
import { releaseDocuments } from "./run.ts";

/** Executions, deliveries and schedules. An address in options of others is replaced, not removed. */
export const reportPersonalData: PersonalData<ReportPlatform> = {
  area: "reports",
  user: {
    executions: (q, { userId, tenantId }) =>
      q`
      select id, tenant_id, template_id, report_name, format, status, parameters_json, requested_by, created_at,
        completed_at from report_executions
      where created_by = ${userId} and ${ofTenant(q, tenantId)} order by id`,
    schedules: (q, { userId, tenantId }) =>
      q`
      select id, tenant_id, template_id, name, description, cron_expression, parameters_json, delivery_json,
        created_at from report_schedules
      where created_by = ${userId} and ${ofTenant(q, tenantId)} order by id`,
    deliveries: (q, { addresses, tenantId }) =>
      q`
      select d.id, e.tenant_id, e.report_name, d.method, d.recipient, d.status, d.updated_at
      from report_deliveries d join report_executions e on e.id = d.execution_id
      where lower(d.recipient) = any(${addresses.map((address) => address.toLowerCase())}::text[])
        and ${ofTenant(q, tenantId, "e.tenant_id")} order by d.id`,
  },
  async eraseUsers({ sql }, persons) {
    const { userIds, addresses, beforeId } = persons;
    await sql`update report_deliveries set recipient = 'erased:' || id, error_message = null,
        status = case status when 'Owed' then 'Failed' else status end
      where lower(recipient) = any(${
      addresses.map((address) => address.toLowerCase())
    }::text[]) and id < ${beforeId}`;
    await sql`update report_executions set requested_by = null
      where created_by = any(${userIds}::uuid[]) and requested_by is not null`;
    await eraseAddresses(sql, persons, TEXTS);
  },
  tenant: {
    executions: (q, tenantId) =>
      q`
      select id, template_id, report_name, format, status, parameters_json, requested_by, created_by, created_at,
        completed_at, deleted_at from report_executions where tenant_id = ${tenantId} order by id`,
    schedules: (q, tenantId) =>
      q`
      select id, template_id, name, description, cron_expression, time_zone_id, format, parameters_json,
        delivery_json, is_active, created_by, created_at from report_schedules
      where tenant_id = ${tenantId} order by id`,
    targets: (q, tenantId) =>
      q`
      select id, name, kind, endpoint, region, bucket, prefix, path_style, access_key_id, created_by, created_at
      from report_targets where tenant_id = ${tenantId} order by id`,
    "document-templates": (q, tenantId) =>
      q`
      select id, slug, name, locale, title_template, body_template, required_variables, sample_data, version,
        created_at, updated_at from document_templates where tenant_id = ${tenantId} order by slug, locale`,
  },
  async eraseTenant({ sql }, tenantId) {
    await sql`delete from report_targets where tenant_id = ${tenantId}`;
    await sql`delete from report_webhook_secrets where tenant_id = ${tenantId}`;
    await sql`delete from report_schedules where tenant_id = ${tenantId}`;
    await sql`delete from document_templates where tenant_id = ${tenantId}`;
    await sql`delete from document_template_versions where tenant_id = ${tenantId}`;
    while (await deleteExecutions(sql, tenantId) > 0);
  },
};

const TEXTS: ErasableTexts[] = [
  {
    table: "report_executions",
    columns: { parameters_json: "text", delivery_json: "text", requested_by: "text", error_message: "text" },
  },
  {
    table: "report_schedules",
    columns: { parameters_json: "text", delivery_json: "text", burst_json: "text", description: "text" },
  },
  { table: "report_deliveries", columns: { options_json: "text", error_message: "text" } },
];

/** Deletes one batch of executions and releases their documents. */
async function deleteExecutions(sql: Sql, tenantId: string): Promise<number> {
  return await transact(sql, async (tx) => {
    const rows = await tx<{ id: string; runId: string | null }[]>`
      select id, run_id from report_executions where tenant_id = ${tenantId} order by id limit 200 for update`;
    await releaseDocuments(tx, rows.map(({ runId }) => runId));
    await tx`delete from report_executions where id = any(${rows.map(({ id }) => id)}::uuid[])`;
    return rows.length;
  });
}
