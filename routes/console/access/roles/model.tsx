import { problem } from "../../../../domain/problems/problem.ts";
import { Badge } from "../../components/values.tsx";
import { translateBuiltin } from "../../shared/builtin_translations.ts";
import type { Row } from "../../shared/operations.ts";
import type { Visit } from "../../shared/page.ts";
import { roleTexts } from "./texts.ts";

export type Role = Row<"listRoles">;
export type Category = Row<"readPermissionCatalog">;

/** All permissions of the tenant, by category, in the viewer's language. */
export async function readCatalog(v: Visit): Promise<Category[]> {
  const categories: Category[] = [];
  for (let page = 1; page <= 10; page++) {
    const { items, hasNext } = await v.api.call("readPermissionCatalog", { query: { page, pageSize: 100 } });
    categories.push(...items);
    if (!hasNext) break;
  }
  return categories.map(({ category, permissions, ...counts }) => ({
    ...counts,
    category: translateBuiltin(v.locale, category),
    permissions: permissions.map((each) => ({
      ...each,
      description: translateBuiltin(v.locale, each.description),
    })),
  }));
}

/** The permissions that a role gives. */
export async function readGrants(v: Visit, id: string): Promise<Row<"listRoleGrants">["permissions"]> {
  const { items: [role] } = await v.api.call("listRoleGrants", { query: { ids: [id] } });
  if (!role) throw problem("ROLE_NOT_FOUND", `There is no role ${id} in this tenant.`);
  return role.permissions;
}

/** Label "built-in" or "custom". */
export function RoleOrigin({ v, role }: { v: Visit; role: Pick<Role, "isSystemRole"> }) {
  const t = roleTexts[v.locale];
  return role.isSystemRole ? <Badge tone="idle">{t.builtin}</Badge> : <Badge tone="info">{t.custom}</Badge>;
}

/** The breadcrumb of a role's pages. */
export const roleCrumbs = (v: Visit, role?: Pick<Role, "id" | "name">): { href: string; label: string }[] => [
  { href: "roles", label: roleTexts[v.locale].roles },
  ...role ? [{ href: `roles/${role.id}`, label: role.name }] : [],
];
