import { buttonLink } from "../../components/forms.tsx";
import { choice, linkColumn, list, search, timeColumn } from "../../components/list.tsx";
import { statisticList } from "../../components/statistics.tsx";
import { number } from "../../components/values.tsx";
import { translateBuiltin } from "../../shared/builtin_translations.ts";
import { may, type View, type Visit } from "../../shared/page.ts";
import { RoleOrigin } from "./model.tsx";
import { roleTexts } from "./texts.ts";

/** The tenant's roles with user and permission counts, and a summary. */
export async function rolesPage(v: Visit): Promise<View> {
  const t = roleTexts[v.locale];
  const [page, summary] = await Promise.all([v.api.list("listRoles", v), v.api.call("summarizeRoles")]);
  return {
    title: t.roles,
    actions: (
      <>
        {may(v.viewer, "read:permissions") && buttonLink("roles/matrix", t.matrix)}
        {may(v.viewer, "create:roles") && may(v.viewer, "read:permissions") &&
          buttonLink("roles/new", t.newRole, { icon: "plus", tone: "primary" })}
      </>
    ),
    body: list(v, page, {
      path: "roles",
      icon: "roles",
      caption: t.caption,
      empty: [t.empty, t.emptyText],
      top: statisticList(v, "own", [
        [t.roles, summary.totalRoles],
        [t.systemRoles, summary.systemRoles, { href: "roles?isSystemRole=true" }],
        [t.customRoles, summary.customRoles, { href: "roles?isSystemRole=false" }],
        [t.rolesWithoutUsers, summary.rolesWithoutUsers],
        [t.usersWithRoles, summary.usersWithRoles],
      ]),
      filters: [search(t.search), choice("isSystemRole", t.origin, { false: t.custom, true: t.builtin })],
      columns: [
        linkColumn(
          t.role,
          ({ id, name, description }) => [`roles/${id}`, name, translateBuiltin(v.locale, description)],
          { sort: "name" },
        ),
        { head: t.origin, cell: (role) => <RoleOrigin v={v} role={role} /> },
        { head: t.permissions, align: "end", cell: ({ permissionCount }) => number(v, permissionCount) },
        { head: t.users, align: "end", sort: "userCount", cell: ({ userCount }) => number(v, userCount) },
        timeColumn(v, t.created, "createdAt", { sort: "createdAt", wideOnly: true }),
      ],
    }),
  };
}
