import { z } from "zod";
import { requiredName } from "../../domain/shared/name.ts";
import { HIERARCHY_SCOPES, TENANT_SORTS, TENANT_TYPES } from "../../domain/access/tenants/tenants.ts";
import { deletedAt, listQuery, pagedResultOf, pageQuery } from "../shared/paging.ts";
import { enumName, queryBoolean, queryIds, queryInteger, uuid } from "../shared/validation.ts";

/** Maximum number of rows per page and of ids in a lookup. */
export const LOOKUP_LIMIT = 50;
const LARGEST_INTEGER = 2_147_483_647;

/** `page` and `pageSize` of a list that accepts up to `limit` ids. One page can hold all requested ids. */
export const lookupPageQuery = (limit = LOOKUP_LIMIT) => ({
  ...pageQuery(limit),
  pageSize: queryInteger(1, limit).optional().meta({ description: `Default 20, or ${limit} with \`ids\`` }),
});
export const lookupPageSize = (o: { pageSize?: number; ids?: string[] }, limit = LOOKUP_LIMIT): number =>
  o.pageSize ?? (o.ids ? limit : 20);

const timestamp = z.iso.datetime();
const search = z.string().max(200).optional();

export const TenantDto = z.object({
  id: z.guid(),
  name: z.string(),
  type: z.enum(TENANT_TYPES),
  isActive: z.boolean(),
  parentTenantId: z.guid().nullable(),
  maxUsers: z.int().nullable().meta({ description: "Maximum number of active users; null: no limit" }),
  userCount: z.int(),
  requireSecondFactor: z.boolean().meta({
    description: "Sessions without a second factor are good only for adding one",
  }),
  createdAt: timestamp,
  updatedAt: timestamp,
  deletedAt,
}).meta({ id: "TenantDto" });

export const TenantPage = pagedResultOf(TenantDto).meta({ id: "TenantPage" });

export const TenantLookupPage = pagedResultOf(
  TenantDto.pick({ id: true, name: true, type: true, isActive: true, parentTenantId: true })
    .meta({ id: "TenantLookupItemDto" }),
).meta({ id: "TenantLookupPage" });

const name = requiredName(200);
const maxUsers = z.int().min(1).max(LARGEST_INTEGER);
const parentTenantId = uuid.meta({ description: "A tenant of type Group" });

export const CreateTenantDto = z.object({
  name,
  type: enumName(TENANT_TYPES).default("Standard"),
  parentTenantId: parentTenantId.nullish().transform((id) => id ?? null),
  maxUsers: maxUsers.nullish().transform((value) => value ?? null),
  isActive: z.boolean().nullish().transform((value) => value ?? true),
  requireSecondFactor: z.boolean().nullish().transform((value) => value ?? false),
}).meta({ id: "CreateTenantDto" });

export const UpdateTenantDto = z.object({
  name: name.nullish().transform((value) => value ?? undefined),
  parentTenantId: parentTenantId.nullable().optional(),
  maxUsers: maxUsers.nullable().optional(),
  isActive: z.boolean().nullish().transform((value) => value ?? undefined),
  requireSecondFactor: z.boolean().nullish().transform((value) => value ?? undefined),
}).meta({
  id: "UpdateTenantDto",
  description: "Omitted fields keep their values; null removes the parent or the limit",
});

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
