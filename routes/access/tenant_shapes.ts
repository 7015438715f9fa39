import { z } from "zod";
import { HIERARCHY_SCOPES, Tenant, TENANT_SORTS, TENANT_TYPES } from "../../domain/access/tenants/tenants.ts";
import { listQuery, pagedResultOf, pageQuery } from "../shared/paging.ts";
import { enumName, uuid } from "../../domain/shared/shapes.ts";
import { queryBoolean, queryIds, queryInteger } from "../shared/validation.ts";

/** Maximum number of rows per page and of ids in a lookup. */
export const LOOKUP_LIMIT = 50;

/** `page` and `pageSize` of a list that accepts up to `limit` ids. One page can hold all requested ids. */
export const lookupPageQuery = (limit = LOOKUP_LIMIT) => ({
  ...pageQuery(limit),
  pageSize: queryInteger(1, limit).optional().meta({ description: `Default 20, or ${limit} with \`ids\`` }),
});
export const lookupPageSize = (o: { pageSize?: number; ids?: string[] }, limit = LOOKUP_LIMIT): number =>
  o.pageSize ?? (o.ids ? limit : 20);

const search = z.string().max(200).optional();

export const TenantPage = pagedResultOf(Tenant).meta({ id: "TenantPage" });

export const TenantLookupPage = pagedResultOf(
  Tenant.pick({ id: true, name: true, type: true, isActive: true, parentTenantId: true })
    .meta({ id: "TenantLookupItemDto" }),
).meta({ id: "TenantLookupPage" });

const placed = {
  type: enumName(TENANT_TYPES).optional(),
  hierarchyScope: enumName(HIERARCHY_SCOPES).optional(),
  parentTenantId: uuid.optional(),
};

export const tenantsQuery = z.object({
  ...listQuery(TENANT_SORTS),
  isActive: queryBoolean.optional(),
  ...placed,
});

export const tenantsSummaryQuery = z.object({ search, isActive: queryBoolean.optional(), ...placed });

export const tenantLookupQuery = z.object({
  ...lookupPageQuery(),
  search,
  ids: queryIds(LOOKUP_LIMIT).optional(),
  ...placed,
}).transform((query) => ({ ...query, pageSize: lookupPageSize(query) }));
