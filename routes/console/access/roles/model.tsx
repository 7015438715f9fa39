import { problem } from "../../../../domain/problems/problem.ts";
import type { z } from "zod";
import type { PermissionCatalogPage } from "../../../access/permission_shapes.ts";
import type { RoleDto, RolesSummaryDto, RoleWithUserCountDto } from "../../../access/role_shapes.ts";
import { Badge } from "../../components/values.tsx";
import type { Page } from "../../shared/api.ts";
import { translateBuiltin } from "../../shared/builtin_translations.ts";
import type { Visit } from "../../shared/page.ts";
import { roleTexts } from "./texts.ts";

export type Role = z.output<typeof RoleWithUserCountDto>;
export type RoleGrants = z.output<typeof RoleDto>;
export type RolesSummary = z.output<typeof RolesSummaryDto>;
export type Category = z.output<typeof PermissionCatalogPage>["items"][number];

/** All permissions of the tenant, by category, in the viewer's language. */
export async function readCatalog(v: Visit): Promise<Category[]> {
  const categories: Category[] = [];
  for (let page = 1; page <= 10; page++) {
    const { items, hasNext } = await v.api.get<Page<Category>>("permissions/catalog", {
      page,
      pageSize: 100,
    });
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
export async function readGrants(v: Visit, id: string): Promise<RoleGrants["permissions"]> {
  const { items } = await v.api.get<Page<RoleGrants>>("roles/with-permissions", { ids: [id] });
  const [role] = items;
  if (!role) throw problem("ROLE_NOT_FOUND", `No role ${id}.`);
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
