import { ButtonLink, FilterBar, SelectField, TextField } from "../../components/forms.tsx";
import { type Column, DataTable, EmptyList, LivePart, Pager } from "../../components/table.tsx";
import { Figure, number, Time } from "../../components/values.tsx";
import type { Page } from "../../shared/api.ts";
import { commonTexts } from "../../shared/common_texts.ts";
import { translateBuiltin } from "../../shared/builtin_translations.ts";
import { may, type View, type Visit } from "../../shared/page.ts";
import { type Role, RoleOrigin, type RolesSummary } from "./model.tsx";
import { roleTexts } from "./texts.ts";

const FILTERS = ["search", "isSystemRole", "sortBy", "sortDirection"] as const;

/** The tenant's roles with user and permission counts, and a summary. */
export async function rolesPage(v: Visit): Promise<View> {
  const t = roleTexts[v.locale];
  const filters = Object.fromEntries(FILTERS.map((name) => [name, v.query.get(name)]));
  const [page, summary] = await Promise.all([
    v.api.get<Page<Role>>("roles", { ...filters, page: v.query.get("page") }),
    v.api.get<RolesSummary>("roles/summary"),
  ]);
  return {
    title: t.roles,
    actions: (
      <>
        {may(v.viewer, "read:permissions") && <ButtonLink href="roles/matrix" label={t.matrix} />}
        {may(v.viewer, "create:roles") && may(v.viewer, "read:permissions") && (
          <ButtonLink href="roles/new" label={t.newRole} icon="plus" tone="primary" />
        )}
      </>
    ),
    body: (
      <>
        <div class="figures">
          <Figure label={t.roles} value={number(v, summary.totalRoles)} />
          <Figure
            label={t.systemRoles}
            value={number(v, summary.systemRoles)}
            href="roles?isSystemRole=true"
          />
          <Figure
            label={t.customRoles}
            value={number(v, summary.customRoles)}
            href="roles?isSystemRole=false"
          />
          <Figure label={t.rolesWithoutUsers} value={number(v, summary.rolesWithoutUsers)} />
          <Figure label={t.usersWithRoles} value={number(v, summary.usersWithRoles)} />
        </div>
        <FilterBar v={v} action="roles" target="roles-list">
          <TextField label={t.search} name="search" type="search" value={filters.search} />
          <SelectField
            label={t.origin}
            name="isSystemRole"
            any={commonTexts[v.locale].all}
            value={filters.isSystemRole}
            choices={[{ value: "false", label: t.custom }, { value: "true", label: t.builtin }]}
          />
        </FilterBar>
        <LivePart v={v} id="roles-list">
          <DataTable
            caption={t.caption}
            columns={columns(v)}
            rows={page.items}
            sorting={{ v, path: "roles" }}
            empty={<EmptyList v={v} icon="roles" text={t.empty}>{t.emptyText}</EmptyList>}
          />
          <Pager v={v} path="roles" page={page} />
        </LivePart>
      </>
    ),
  };
}

function columns(v: Visit): Column<Role>[] {
  const t = roleTexts[v.locale];
  return [
    {
      head: t.role,
      sort: "name",
      cell: ({ id, name, description }) => (
        <>
          <a href={`roles/${id}`}>{name}</a>
          {description && <span class="sub">{translateBuiltin(v.locale, description)}</span>}
        </>
      ),
    },
    { head: t.origin, cell: (role) => <RoleOrigin v={v} role={role} /> },
    { head: t.permissions, align: "end", cell: ({ permissionCount }) => number(v, permissionCount) },
    { head: t.users, align: "end", sort: "userCount", cell: ({ userCount }) => number(v, userCount) },
    {
      head: t.created,
      sort: "createdAt",
      cell: ({ createdAt }) => <Time v={v} at={createdAt} />,
      wideOnly: true,
    },
  ];
}
