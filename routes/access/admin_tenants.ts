import { z } from "zod";
import { acrossTenants } from "../../domain/rights/checks.ts";
import { listRolesOfTenant, lookUpRolesOfTenant } from "../../domain/access/roles/roles.ts";
import {
  EVERYWHERE,
  lookUpTenants,
  summarizeTenants,
  TenantsSummary,
} from "../../domain/access/tenants/tenants.ts";
import { ok } from "../shared/answer.ts";
import { endpointsIn } from "../shared/endpoint.ts";
import { uuid } from "../../domain/shared/shapes.ts";
import { RoleLookupPage, roleLookupQuery, RolePage, rolesQuery } from "./roles.ts";
import { TenantLookupPage, tenantLookupQuery, tenantsSummaryQuery } from "./tenants.ts";

const endpoint = endpointsIn("Admin tenants");

const params = z.object({ tenantId: uuid });

/** Tenants and their roles, across all tenants. */
export const adminTenantRoutes = [
  endpoint("GET /api/v1/admin/tenants/summary", {
    id: "summarizeAllTenants",
    summary: "Count all tenants",
    access: acrossTenants("admin:system", "manage:all-tenants"),
    query: tenantsSummaryQuery,
    answers: { 200: { description: "The counts", schema: TenantsSummary } },
    run: async ({ db, query }) => ok(await summarizeTenants(db, EVERYWHERE, query)),
  }),
  endpoint("GET /api/v1/admin/tenants/lookup", {
    id: "lookUpAllTenants",
    summary: "Look up tenants of the whole service for a selector, or by ids",
    access: acrossTenants("admin:system", "manage:all-tenants"),
    query: tenantLookupQuery,
    answers: { 200: { description: "A page of tenants", schema: TenantLookupPage } },
    run: async ({ db, query }) => ok(await lookUpTenants(db, EVERYWHERE, query)),
  }),
  endpoint("GET /api/v1/admin/tenants/{tenantId}/roles", {
    id: "listRolesOfTenant",
    summary: "List the roles of any tenant",
    access: acrossTenants("admin:system"),
    params,
    query: rolesQuery,
    answers: { 200: { description: "A page of roles", schema: RolePage } },
    problems: ["TENANT_NOT_FOUND"],
    run: async ({ db, params, query }) => ok(await listRolesOfTenant(db, params.tenantId, query)),
  }),
  endpoint("GET /api/v1/admin/tenants/{tenantId}/roles/lookup", {
    id: "lookUpRolesOfTenant",
    summary: "Look up roles of any tenant for a selector, or by ids",
    access: acrossTenants("admin:system"),
    params,
    query: roleLookupQuery,
    answers: { 200: { description: "A page of roles", schema: RoleLookupPage } },
    problems: ["TENANT_NOT_FOUND"],
    run: async ({ db, params, query }) => ok(await lookUpRolesOfTenant(db, params.tenantId, query)),
  }),
] as const;
