import { done } from "../../shared/actions.ts";
import { type ConsolePage, may, type View, type Visit } from "../../shared/page.ts";
import { rolePage } from "./detail.tsx";
import { editRolePage, newRolePage } from "./form.tsx";
import { roleTexts } from "./texts.ts";
import { buttonLink } from "../../components/forms.tsx";
import { choice, linkColumn, list, search, timeColumn } from "../../components/list.tsx";
import { statisticList } from "../../components/statistics.tsx";
import { number } from "../../components/values.tsx";
import { translateBuiltin } from "../../shared/builtin_translations.ts";
import { readCatalog, roleCrumbs, RoleOrigin } from "./model.tsx";
import { Card, Empty } from "../../components/notice.tsx";
import { Icon } from "../../components/icons.tsx";

/** The tenant's roles with user and permission counts, and a summary. */
async function rolesPage(v: Visit): Promise<View> {
  const t = roleTexts[v.locale];
  // The figures are those of all roles, so a filtered list has none.
  const isFiltered = ["search", "isSystemRole"].some((name) => v.query.get(name));
  const [page, summary] = await Promise.all([
    v.api.list("listRoles", v),
    isFiltered ? null : v.api.call("summarizeRoles"),
  ]);
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
      above: summary && statisticList(v, [
        [t.roles, summary.totalRoles],
        [t.systemRoles, summary.systemRoles, { href: "roles?isSystemRole=true" }],
        [t.customRoles, summary.customRoles, { href: "roles?isSystemRole=false" }],
        [t.rolesWithoutUsers, summary.rolesWithoutUsers],
        [t.usersWithRoles, summary.usersWithRoles],
      ]),
      filters: [search(t.search), choice("isSystemRole", t.origin, { false: t.custom, true: t.builtin })],
      columns: [
        linkColumn(t.role, ({ id, name }) => [`roles/${id}`, name], {
          sort: "name",
          below: [[t.description, ({ description }) => translateBuiltin(v.locale, description)]],
        }),
        { head: t.origin, cell: (role) => <RoleOrigin v={v} role={role} /> },
        { head: t.permissions, align: "end", cell: ({ permissionCount }) => number(v, permissionCount) },
        { head: t.users, align: "end", sort: "userCount", cell: ({ userCount }) => number(v, userCount) },
        timeColumn(v, t.created, "createdAt", { sort: "createdAt", wideOnly: true }),
      ],
    }),
  };
}

const MAX_ROLES = 30;

/** A matrix of the tenant's permissions and roles. */
async function matrixPage(v: Visit): Promise<View> {
  const t = roleTexts[v.locale];
  const [catalog, roles] = await Promise.all([
    readCatalog(v),
    v.api.call("listRoleGrants", { query: { pageSize: MAX_ROLES } }),
  ]);
  const grants = roles.items.map(({ permissions }) => new Set(permissions.map(({ id }) => id)));
  return {
    title: t.matrix,
    crumbs: roleCrumbs(v),
    body: (
      <Card>
        <p class="hint">
          {t.matrixHint} {roles.hasNext && t.matrixMore(roles.items.length, roles.totalCount)}
        </p>
        {roles.items.length === 0
          ? <Empty icon="roles" title={t.empty}>{t.emptyText}</Empty>
          : (
            <div class="table-scroll tall" tabindex={0} role="region" aria-label={t.matrixCaption}>
              <table class="data keep matrix-table">
                <caption class="sr-only">{t.matrixCaption}</caption>
                <thead>
                  <tr>
                    <th scope="col">{t.permissions}</th>
                    {roles.items.map(({ id, name }) => (
                      <th scope="col" class="turned">
                        <a href={`roles/${id}`}>{name}</a>
                      </th>
                    ))}
                  </tr>
                </thead>
                {catalog.map(({ category, permissions }) => (
                  <tbody>
                    <tr>
                      <th scope="rowgroup" colspan={roles.items.length + 1} class="group">{category}</th>
                    </tr>
                    {permissions.map(({ id, code, description }) => (
                      <tr>
                        <th scope="row" title={description ?? undefined}>
                          <code>{code}</code>
                        </th>
                        {roles.items.map((role, at) => (
                          <Mark
                            held={grants[at]?.has(id) ?? false}
                            label={grants[at]?.has(id)
                              ? t.gives(role.name, code)
                              : t.givesNot(role.name, code)}
                          />
                        ))}
                      </tr>
                    ))}
                  </tbody>
                ))}
              </table>
            </div>
          )}
      </Card>
    ),
  };
}

const Mark = ({ held, label }: { held: boolean; label: string }) => (
  <td class={held ? "mark held" : "mark"} title={label}>
    {held ? <Icon name="check" /> : <span aria-hidden="true">·</span>}
    <span class="sr-only">{label}</span>
  </td>
);

const READ = ["read:roles"];

/** Pages of the roles of the viewer's tenant. */
export const rolesPages: ConsolePage[] = [
  { path: "roles", permissions: READ, get: rolesPage },
  newRolePage,
  { path: "roles/matrix", permissions: READ, get: matrixPage },
  { path: "roles/{id}", permissions: READ, get: rolePage },
  editRolePage,
  {
    path: "roles/{id}/delete",
    permissions: ["delete:roles"],
    async post(v) {
      const { name } = await v.api.act("readRole", v);
      await v.api.act("deleteRole", v);
      return done("roles", roleTexts[v.locale].wasDeleted(name));
    },
  },
];
