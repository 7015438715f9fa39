import type { z } from "zod";
import type { TenantLookupItem } from "../../../domain/access/tenants/tenants.ts";
import type { RoleDto } from "../../access/role_shapes.ts";
import { type Page, type Query, searchOf } from "../shared/api.ts";
import { translateBuiltin } from "../shared/builtin_translations.ts";
import { may, type Visit } from "../shared/page.ts";

/** A resource with its ETag. Sent back as If-Match, the ETag prevents lost updates. */
export interface Versioned<T> {
  value: T;
  etag: string;
}

export type TenantChoice = Pick<TenantLookupItem, "id" | "name" | "type" | "isActive">;
export type RoleChoice = Pick<z.output<typeof RoleDto>, "id" | "name"> & { description: string | null };

/** Reads one resource with its ETag. */
export async function readVersioned<T>(v: Visit, path: string): Promise<Versioned<T>> {
  const answer = await v.api.request("GET", `/api/v1/${path}`);
  return { value: await answer.json(), etag: answer.headers.get("etag") ?? "" };
}

/** The If-Match header: the change fails with 412 if someone else changed the resource. */
export const ifUnchanged = (etag: string): Record<string, string> => etag ? { "if-match": etag } : {};

/** Whether the viewer may administer the users of all tenants. */
export const managesAllUsers = (v: Visit): boolean => may(v.viewer, "manage:all-users");

/** Whether the viewer may administer all tenants. */
export const managesAllTenants = (v: Visit): boolean => may(v.viewer, "manage:all-tenants");

/** Tenants to choose from: those that match the query if the viewer manages all tenants, else the viewer's own. */
export async function tenantChoices(v: Visit, query: Query = {}): Promise<TenantChoice[]> {
  if (managesAllTenants(v)) {
    return (await v.api.get<Page<TenantChoice>>(
      `admin/tenants/lookup${searchOf({ pageSize: 50, ...query })}`,
    ))
      .items;
  }
  const own = v.viewer.tenants.length > 0 ? v.viewer.tenants : v.viewer.tenant ? [v.viewer.tenant] : [];
  return own.map(({ id, name, type }) => ({ id, name, type: type as TenantChoice["type"], isActive: true }));
}

/** Tenant names by id, for tenants the viewer may see. */
export async function tenantNames(v: Visit, ids: (string | null)[]): Promise<Map<string, string>> {
  const wanted = [...new Set(ids.filter((id) => id !== null))].slice(0, 50);
  const known = v.viewer.tenants.concat(v.viewer.tenant ?? []).map(({ id, name }) => [id, name] as const);
  const found = wanted.length > 0 && managesAllTenants(v) ? await tenantChoices(v, { ids: wanted }) : [];
  return new Map([...known, ...found.map(({ id, name }) => [id, name] as const)]);
}

/** Roles of a tenant to choose from, at most 500; empty if the viewer may not see them. */
export async function roleChoices(v: Visit, tenantId: string): Promise<RoleChoice[]> {
  const isOwn = tenantId === v.viewer.tenant?.id && may(v.viewer, "read:roles");
  if (!isOwn && !may(v.viewer, "admin:system")) return [];
  const path = isOwn ? "roles/lookup" : `admin/tenants/${tenantId}/roles/lookup`;
  const roles: RoleChoice[] = [];
  for (let page = 1; page <= 10; page++) {
    const { items, hasNext } = await v.api.get<Page<RoleChoice>>(path, { page, pageSize: 50 });
    roles.push(
      ...items.map((role) => ({ ...role, description: translateBuiltin(v.locale, role.description) })),
    );
    if (!hasNext) break;
  }
  return roles;
}
