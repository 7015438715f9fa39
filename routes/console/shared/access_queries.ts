import { type Query, Refusal } from "./api.ts";
import { translateBuiltin } from "./translations.ts";
import type { OperationId, Row } from "./operations.ts";
import { may, type Visit } from "./page.ts";

export type TenantChoice = Pick<Row<"lookUpAllTenants">, "id" | "name" | "type" | "isActive">;
export type RoleChoice = Pick<Row<"lookUpRoles">, "id" | "name"> & { description: string | null };

/** True if the viewer may administer the users of all tenants. */
export const managesAllUsers = (v: Visit): boolean => may(v.viewer, "manage:all-users");

/** The operation for users of all tenants if the viewer manages them, else the one for users of the viewer's tenant. */
export const byScope = <Id extends OperationId>(anywhere: Id, inTenant: Id) => (v: Visit): Id =>
  managesAllUsers(v) ? anywhere : inTenant;

/** True if the viewer may administer all tenants. */
export const managesAllTenants = (v: Visit): boolean => may(v.viewer, "manage:all-tenants");

/** The tenant in which the viewer works. @throws Refusal whose page asks to choose one */
export function chosenTenant({ viewer: { tenant } }: Visit) {
  if (!tenant) throw new Refusal({ status: 403, code: "FORBIDDEN", detail: "The viewer is in no tenant." });
  return tenant;
}

/** True if the service has exports, erasures and imports of users: they need the registry of files. */
export const hasUserData = (v: Visit): boolean => !v.viewer.unserved?.has("export:users");

export type FoundUser = Pick<Row<"listUsers">, "id" | "email" | "firstName" | "lastName">;

/** First and last name; the email if both are empty. */
export const userName = ({ firstName, lastName, email }: Omit<FoundUser, "id">): string =>
  `${firstName} ${lastName}`.trim() || email;

/** The users that match a text, by email or name. Exactly one if it is a complete email. */
export async function findPeople(v: Visit, text: string): Promise<FoundUser[]> {
  const query = { search: text, pageSize: 20 };
  const { items } = await v.api.call(managesAllUsers(v) ? "listAllUsers" : "listUsers", { query });
  const exact = items.filter(({ email }) => email.toLowerCase() === text.toLowerCase());
  return exact.length === 1 ? exact : items;
}

/** Tenants to choose from: those that match the query if the viewer manages all tenants, else the viewer's own. */
export async function tenantChoices(v: Visit, query: Query = {}): Promise<TenantChoice[]> {
  const sought = { pageSize: 50, ...query };
  if (managesAllTenants(v)) return (await v.api.call("lookUpAllTenants", { query: sought })).items;
  const { items } = await v.api.call("findOwnTenants", { query: sought });
  return items.map(({ id, name, type }) => ({
    id,
    name,
    type: type as TenantChoice["type"],
    isActive: true,
  }));
}

/** Tenant names by id, for tenants the viewer may see. */
export async function tenantNames(v: Visit, ids: (string | null)[]): Promise<Map<string, string>> {
  const { tenant } = v.viewer;
  const wanted = [...new Set(ids.filter((id) => id !== null))].filter((id) => id !== tenant?.id);
  const parts = Array.from(
    { length: Math.ceil(wanted.length / 50) },
    (_, n) => wanted.slice(50 * n, 50 * n + 50),
  );
  const found = await Promise.all(parts.map((ids) => tenantChoices(v, { ids })));
  return new Map([...found.flat(), ...tenant ? [tenant] : []].map(({ id, name }) => [id, name]));
}

/** Roles of a tenant, by default the viewer's, to choose from: at most 500; empty if the viewer may not see them. */
export async function roleChoices(v: Visit, tenantId = v.viewer.tenant?.id ?? ""): Promise<RoleChoice[]> {
  const isOwn = tenantId === v.viewer.tenant?.id && may(v.viewer, "read:roles");
  if (!isOwn && !may(v.viewer, "admin:system")) return [];
  const roles: RoleChoice[] = [];
  for (let page = 1; page <= 10; page++) {
    const query = { page, pageSize: 50 };
    const { items, hasNext } = isOwn
      ? await v.api.call("lookUpRoles", { query })
      : await v.api.call("lookUpRolesOfTenant", { params: { tenantId }, query });
    roles.push(
      ...items.map((role) => ({ ...role, description: translateBuiltin(v.locale, role.description) })),
    );
    if (!hasNext) break;
  }
  return roles;
}
