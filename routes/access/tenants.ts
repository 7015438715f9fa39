import { z } from "zod";
import { inTenant } from "../../domain/rights/checks.ts";
import {
  createTenant,
  deleteTenant,
  NewTenant,
  TenantChange,
  updateTenant,
} from "../../domain/access/tenants/tenant_changes.ts";
import {
  CHANGES_CHILDREN,
  HIERARCHY_SCOPES,
  listTenants,
  lookUpTenants,
  reachForChanging,
  reachForReading,
  readTenant,
  summarizeTenants,
  Tenant,
  TENANT_SORTS,
  TENANT_TYPES,
  TenantsSummary,
} from "../../domain/access/tenants/tenants.ts";
import { created, ok, okEmpty, versionedAnswer } from "../shared/answer.ts";
import { endpointsIn } from "../shared/endpoint.ts";
import { enumName, uuid } from "../../domain/shared/shapes.ts";
import {
  listQuery,
  pagedResultOf,
  pageQuery,
  queryBoolean,
  queryIds,
  queryInteger,
} from "../shared/validation.ts";

/** Maximum number of rows per page and of ids in a lookup. */
export const LOOKUP_LIMIT = 50;

/** `page` and `pageSize` of a list that accepts up to `limit` ids. One page can hold all requested ids. */
export const lookupPageQuery = (limit = LOOKUP_LIMIT) => ({
  ...pageQuery(limit),
  pageSize: queryInteger(1, limit).optional().describe(`Default 20, or ${limit} with \`ids\``),
});
export const lookupPageSize = (o: { pageSize?: number; ids?: string[] }, limit = LOOKUP_LIMIT): number =>
  o.pageSize ?? (o.ids ? limit : 20);

const search = z.string().max(200).optional();

const TenantPage = pagedResultOf(Tenant).meta({ id: "TenantPage" });

export const TenantLookupPage = pagedResultOf(
  Tenant.pick({ id: true, name: true, type: true, isActive: true, parentTenantId: true })
    .meta({ id: "TenantLookupItemDto" }),
).meta({ id: "TenantLookupPage" });

const placed = {
  type: enumName(TENANT_TYPES).optional(),
  hierarchyScope: enumName(HIERARCHY_SCOPES).optional(),
  parentTenantId: uuid.optional(),
};

const tenantsQuery = z.object({ ...listQuery(TENANT_SORTS), isActive: queryBoolean.optional(), ...placed });

export const tenantsSummaryQuery = z.object({ search, isActive: queryBoolean.optional(), ...placed });

export const tenantLookupQuery = z.object({
  ...lookupPageQuery(),
  search,
  ids: queryIds(LOOKUP_LIMIT).optional(),
  ...placed,
}).transform((query) => ({ ...query, pageSize: lookupPageSize(query) }));

const endpoint = endpointsIn("Tenants");

const params = z.object({ id: uuid });
const oneTenant = { 200: { etag: true as const, description: "The tenant", schema: Tenant } };

/**
 * Tenants that the caller reaches: the own tenant; with a group tenant also its children; with a permission across
 * tenants all. The permission that a change needs depends on the tenant, so the reach is checked before the body.
 */
export const tenantRoutes = [
  endpoint("GET /api/v1/tenants", {
    id: "listTenants",
    summary: "List tenants",
    access: inTenant("read:tenants", "read:group-tenants"),
    query: tenantsQuery,
    answers: { 200: { description: "A page of tenants", schema: TenantPage } },
    run: async ({ db, caller, query }) => ok(await listTenants(db, await reachForReading(db, caller), query)),
  }),
  endpoint("GET /api/v1/tenants/summary", {
    id: "summarizeTenants",
    summary: "Count tenants",
    access: inTenant("read:tenants", "read:group-analytics"),
    query: tenantsSummaryQuery,
    answers: { 200: { description: "The counts", schema: TenantsSummary } },
    run: async ({ db, caller, query }) =>
      ok(await summarizeTenants(db, await reachForReading(db, caller, "summary"), query)),
  }),
  endpoint("GET /api/v1/tenants/lookup", {
    id: "lookUpTenants",
    summary: "Look up tenants for a selector, or by ids",
    access: inTenant("read:tenants", "read:group-tenants"),
    query: tenantLookupQuery,
    answers: { 200: { description: "A page of tenants", schema: TenantLookupPage } },
    run: async ({ db, caller, query }) =>
      ok(await lookUpTenants(db, await reachForReading(db, caller), query)),
  }),
  endpoint("GET /api/v1/tenants/{id}", {
    id: "readTenant",
    service: "point read",
    summary: "Read a tenant",
    access: inTenant("read:tenants", "read:group-tenants"),
    params,
    answers: oneTenant,
    problems: ["TENANT_NOT_FOUND", "CROSS_TENANT_FORBIDDEN"],
    run: async ({ db, caller, params }) =>
      versionedAnswer(await readTenant(db, await reachForReading(db, caller), params.id)),
  }),
  endpoint("POST /api/v1/tenants", {
    id: "createTenant",
    summary: "Create a tenant with its catalog roles",
    details:
      "The caller is not linked to the new tenant. POST /api/v1/admin/users/{id}/tenants links a user, and ends the " +
      "sessions of that user.",
    access: inTenant("create:tenants", CHANGES_CHILDREN),
    content: { json: NewTenant },
    creates: "atomically",
    answers: { 201: { description: "The new tenant", schema: Tenant } },
    problems: [
      "CROSS_TENANT_FORBIDDEN",
      "TENANT_NOT_FOUND",
      "TENANT_ALREADY_EXISTS",
      "TENANT_PLATFORM_CONFLICT",
    ],
    async run({ platform, db, caller, call }) {
      const reach = await reachForChanging(db, caller, "create:tenants");
      const { value } = await createTenant(platform, caller, reach, await call.readJson(NewTenant));
      return created(value, `/api/v1/tenants/${value.id}`);
    },
  }),
  endpoint("PUT /api/v1/tenants/{id}", {
    id: "updateTenant",
    summary: "Change, activate or deactivate a tenant",
    access: inTenant("update:tenants", CHANGES_CHILDREN),
    params,
    content: { json: TenantChange },
    answers: oneTenant,
    problems: [
      "TENANT_NOT_FOUND",
      "CROSS_TENANT_FORBIDDEN",
      "PRECONDITION_FAILED",
      "TENANT_ALREADY_EXISTS",
      "TENANT_PLATFORM_CONFLICT",
      "LAST_SYSTEM_ADMIN_CONFLICT",
    ],
    async run({ platform, db, caller, params, call }) {
      const reach = await reachForChanging(db, caller, "update:tenants");
      const change = await call.readJson(TenantChange);
      return versionedAnswer(await updateTenant(platform, caller, reach, params.id, change, call.ifMatch));
    },
  }),
  endpoint("DELETE /api/v1/tenants/{id}", {
    id: "deleteTenant",
    summary: "Delete a tenant without children",
    access: inTenant("delete:tenants", CHANGES_CHILDREN),
    params,
    answers: { 200: { description: "The tenant is deleted" } },
    problems: [
      "TENANT_NOT_FOUND",
      "CROSS_TENANT_FORBIDDEN",
      "PRECONDITION_FAILED",
      "TENANT_HAS_CHILDREN_CONFLICT",
      "TENANT_PLATFORM_CONFLICT",
      "LAST_SYSTEM_ADMIN_CONFLICT",
    ],
    async run({ platform, db, caller, params, call }) {
      const reach = await reachForChanging(db, caller, "delete:tenants");
      await deleteTenant(platform, caller, reach, params.id, call.ifMatch);
      return okEmpty();
    },
  }),
] as const;
