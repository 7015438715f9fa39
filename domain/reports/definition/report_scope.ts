import type { Sql } from "../../../infra/postgres/postgres.ts";
import { GROUP_DATA, type ReportScope, type ReportTemplate } from "./report_template.ts";

/**
 * The tenants whose rows an execution of `tenantId` shows, and the tenant name in its document. A null `tenantId` is
 * the service itself: all tenants.
 */
export async function readScope(
  q: Sql,
  template: ReportTemplate,
  tenantId: string | null,
  parameters: Record<string, unknown>,
): Promise<ReportScope & { tenantName: string | null }> {
  if (template.isGlobal || tenantId === null) return { tenantIds: null, tenantName: null };
  const withChildren = parameters.includeChildTenants === true;
  const tenants = await q<{ id: string; name: string }[]>`
    select id, name from tenants
    where id = ${tenantId}
      or (${withChildren} and parent_tenant_id = ${tenantId} and deleted_at is null
        and exists (select from tenants g where g.id = ${tenantId} and g.type = 'Group'))`;
  const own = tenants.find((tenant) => tenant.id === tenantId);
  return {
    tenantIds: [tenantId, ...tenants.filter((t) => t !== own).map((t) => t.id)],
    tenantName: own?.name ?? null,
  };
}

/** The permissions needed to run the report, and later to see its execution. */
export function requiredPermissions(
  template: ReportTemplate,
  tenantId: string | null,
  parameters: Record<string, unknown>,
): string[] {
  return [
    ...template.permissions,
    ...(parameters.includeChildTenants === true ? [GROUP_DATA] : []),
    ...(tenantId === null && !template.permissions.includes("admin:system") ? ["admin:system"] : []),
  ];
}
