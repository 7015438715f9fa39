import type { z } from "zod";
import type { TenantLookupItem } from "../../../domain/access/tenants.ts";
import type { RoleDto } from "../../access/role_shapes.ts";
import { type Page, type Query, Refusal, searchOf } from "../shared/api.ts";
import { translateBuiltin } from "../shared/builtin_translations.ts";
import { may, type Visit } from "../shared/page.ts";

/** What was read, and the tag of the version seen: sent back with a change, it keeps two editors apart. */
export interface Seen<T> {
  value: T;
  etag: string;
}

export type TenantChoice = Pick<TenantLookupItem, "id" | "name" | "type" | "isActive">;
export type RoleChoice = Pick<z.output<typeof RoleDto>, "id" | "name"> & { description: string | null };

/** Reads one resource with the tag of its version. */
export async function readSeen<T>(v: Visit, path: string): Promise<Seen<T>> {
  const answer = await v.api.call("GET", path);
  return { value: await answer.json(), etag: answer.headers.get("etag") ?? "" };
}

/** The header that lets a change through only while the version seen is the current one. */
export const ifUnchanged = (etag: string): Record<string, string> => etag ? { "if-match": etag } : {};

/** May the viewer administer users of every tenant? */
export const reachesUsers = (v: Visit): boolean => may(v.viewer, "manage:all-users");

/** May the viewer administer tenants across the service? */
export const reachesTenants = (v: Visit): boolean => may(v.viewer, "manage:all-tenants");

/** Tenants the viewer may point at: with reach those that fit the query, else the ones they belong to. */
export async function tenantChoices(v: Visit, query: Query = {}): Promise<TenantChoice[]> {
  if (reachesTenants(v)) {
    return (await v.api.get<Page<TenantChoice>>(
      `admin/tenants/lookup${searchOf({ pageSize: 50, ...query })}`,
    ))
      .items;
  }
  const own = v.viewer.tenants.length > 0 ? v.viewer.tenants : v.viewer.tenant ? [v.viewer.tenant] : [];
  return own.map(({ id, name, type }) => ({ id, name, type: type as TenantChoice["type"], isActive: true }));
}

/** Names of tenants by id, for those the viewer may know. */
export async function tenantNames(v: Visit, ids: (string | null)[]): Promise<Map<string, string>> {
  const wanted = [...new Set(ids.filter((id) => id !== null))].slice(0, 50);
  const known = v.viewer.tenants.concat(v.viewer.tenant ?? []).map(({ id, name }) => [id, name] as const);
  const looked = wanted.length > 0 && reachesTenants(v) ? await tenantChoices(v, { ids: wanted }) : [];
  return new Map([...known, ...looked.map(({ id, name }) => [id, name] as const)]);
}

/** Roles of a tenant for choosing among; none where the viewer may not know them. */
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

/** Nothing where the viewer may not have it or it is not there. */
export async function orNull<T>(reading: Promise<T>): Promise<T | null> {
  try {
    return await reading;
  } catch (refusal) {
    if (refusal instanceof Refusal && (refusal.status === 403 || refusal.status === 404)) return null;
    throw refusal;
  }
}
