import { done } from "../../shared/actions.ts";
import { type ConsolePage, may, type View, type Visit } from "../../shared/page.ts";
import {
  type Category,
  editRolePage,
  newRolePage,
  readCatalog,
  readGrants,
  type Role,
  RoleOrigin,
} from "./form.tsx";
import { roleTexts } from "./texts.ts";
import { buttonLink, deleteButton } from "../../components/forms.tsx";
import { choice, linkColumn, list, search, timeColumn } from "../../components/list.tsx";
import { statisticList } from "../../components/statistics.tsx";
import { bulletList, Codes, CopyValue, factList, number, Time } from "../../components/values.tsx";
import { translateBuiltin } from "../../shared/translations.ts";
import { Card, Empty, Notice } from "../../components/notice.tsx";
import { Icon } from "../../components/icons.tsx";
import { searchOf } from "../../shared/api.ts";
import type { Row } from "../../shared/operations.ts";
import { userName } from "../../shared/access_queries.ts";

/** One role: its details and permissions. */
async function rolePage(v: Visit): Promise<View> {
  const t = roleTexts[v.locale];
  const role = await v.api.act("readRole", v);
  const [grants, catalog, users] = await Promise.all([
    readGrants(v, role.id),
    may(v.viewer, "read:permissions") ? readCatalog(v) : [],
    may(v.viewer, "read:users") ? firstHolders(v, role) : null,
  ]);
  const held = new Set(grants.map(({ id }) => id));
  const listed = catalog.flatMap(({ permissions }) => permissions).map(({ id }) => id);
  const others = grants.filter(({ id }) => !listed.includes(id));
  const holders = `users${
    searchOf({ roleName: role.name, tenantId: may(v.viewer, "manage:all-users") ? role.tenantId : null })
  }`;
  return {
    title: role.name,
    actions: [
      may(v.viewer, "read:users") &&
      buttonLink(`audit?targetType=role&targetId=${role.id}`, t.history, { icon: "audit" }),
      !role.isSystemRole && may(v.viewer, "update:roles") && may(v.viewer, "read:permissions") &&
      buttonLink(`roles/${role.id}/edit`, t.edit, { tone: "primary" }),
      !role.isSystemRole && role.userCount === 0 && may(v.viewer, "delete:roles") &&
      deleteButton(v, `roles/${role.id}/delete`, t.deleteConfirm(role.name), {
        label: t.deleteRole,
        confirmLabel: t.deleteNamed(role.name),
      }),
    ],
    body: [
      role.isSystemRole && (
        <Notice tone="info">
          {t.builtinNote} {grants.some(({ code }) => code === "admin:system") && t.fullNote}
        </Notice>
      ),
      <Card>
        {factList([
          [t.tenant, role.tenantName],
          [t.description, translateBuiltin(v.locale, role.description)],
          [t.origin, <RoleOrigin v={v} role={role} />],
          [
            t.users,
            may(v.viewer, "read:users")
              ? <a href={holders}>{number(v, role.userCount)}</a>
              : number(v, role.userCount),
          ],
          [t.permissions, number(v, role.permissionCount)],
          [t.changed, <Time v={v} at={role.updatedAt} />],
          [t.roleId, <CopyValue v={v} value={role.id} />],
        ])}
      </Card>,
      users && <Holders v={v} role={role} users={users} href={holders} />,
      <Card title={t.permissions}>
        {grants.length === 0 && <p class="muted">{t.noPermissions}</p>}
        <div class="grid-3">
          {catalog.filter(({ permissions }) => permissions.some(({ id }) => held.has(id))).map((
            category,
          ) => <HeldPermissions v={v} category={category} held={held} />)}
        </div>
        {others.length > 0 && <Codes codes={others.map(({ code }) => code)} />}
      </Card>,
    ],
  };
}

const SHOWN_HOLDERS = 10;
type Holder = Row<"listUsers">;

const firstHolders = async (v: Visit, { name }: Role): Promise<Holder[]> =>
  (await v.api.call("listUsers", { query: { roleName: name, pageSize: SHOWN_HOLDERS } })).items;

/** The first users who have the role, and a link to all. */
function Holders({ v, role, users, href }: { v: Visit; role: Role; users: Holder[]; href: string }) {
  const t = roleTexts[v.locale];
  const { userCount } = role;
  return (
    <Card
      title={t.holders}
      actions={userCount > users.length && buttonLink(href, t.allHolders(number(v, userCount)))}
    >
      {bulletList(
        users,
        (user) => <a href={`users/${user.id}`} title={user.email}>{userName(user)}</a>,
        { look: "row tags", label: t.holders, empty: t.noHolders },
      )}
      {userCount > 0 && !role.isSystemRole && may(v.viewer, "delete:roles") && (
        <p class="hint">{t.stillHeld(userCount)}</p>
      )}
    </Card>
  );
}

function HeldPermissions({ v, category, held }: { v: Visit; category: Category; held: ReadonlySet<string> }) {
  const mine = category.permissions.filter(({ id }) => held.has(id));
  return (
    <section class="stack tight">
      <h3>
        {category.category}{" "}
        <span class="muted">{roleTexts[v.locale].ofCount(mine.length, category.permissionCount)}</span>
      </h3>
      {bulletList(mine, ({ code, description }) => [
        <code>{code}</code>,
        description && <span class="sub">{description}</span>,
      ], { look: "bare-list" })}
    </section>
  );
}

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
    actions: [
      may(v.viewer, "read:permissions") && buttonLink("roles/matrix", t.matrix),
      may(v.viewer, "create:roles") && may(v.viewer, "read:permissions") &&
      buttonLink("roles/new", t.newRole, { icon: "plus", tone: "primary" }),
    ],
    body: list(v, page, {
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
                        {roles.items.map(({ name }, at) => {
                          const held = grants[at]?.has(id);
                          const label = held ? t.gives(name, code) : t.givesNot(name, code);
                          return (
                            <td class={held ? "mark held" : "mark"} title={label}>
                              {held ? <Icon name="check" /> : <span aria-hidden="true">·</span>}
                              <span class="sr-only">{label}</span>
                            </td>
                          );
                        })}
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

const READ = ["read:roles"];

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
