import { ButtonLink, FilterBar, SelectField, TextField } from "../../components/forms.tsx";
import { type Column, DataTable, EmptyList, LivePart, Pager } from "../../components/table.tsx";
import { Figure, number, Time } from "../../components/values.tsx";
import type { Page } from "../../shared/api.ts";
import { shared } from "../../shared/console_words.ts";
import { inLanguage } from "../../shared/own_words.ts";
import { may, type View, type Visit } from "../../shared/page.ts";
import { type Role, RoleKind, type RolesSummary } from "./model.tsx";
import { words } from "./words.ts";

const FILTERS = ["search", "isSystemRole", "sortBy", "sortDirection"] as const;

/** The tenant's roles with how many hold them and what they come to. */
export async function rolesPage(v: Visit): Promise<View> {
  const w = words[v.locale];
  const filters = Object.fromEntries(FILTERS.map((name) => [name, v.query.get(name)]));
  const [page, summary] = await Promise.all([
    v.api.get<Page<Role>>("roles", { ...filters, page: v.query.get("page") }),
    v.api.get<RolesSummary>("roles/summary"),
  ]);
  return {
    title: w.roles,
    actions: (
      <>
        {may(v.viewer, "read:permissions") && <ButtonLink href="roles/matrix" label={w.matrix} />}
        {may(v.viewer, "create:roles") && may(v.viewer, "read:permissions") && (
          <ButtonLink href="roles/new" label={w.newRole} icon="plus" tone="primary" />
        )}
      </>
    ),
    body: (
      <>
        <div class="figures">
          <Figure label={w.totalRoles} value={number(v, summary.totalRoles)} />
          <Figure
            label={w.systemRoles}
            value={number(v, summary.systemRoles)}
            href="roles?isSystemRole=true"
          />
          <Figure
            label={w.customRoles}
            value={number(v, summary.customRoles)}
            href="roles?isSystemRole=false"
          />
          <Figure label={w.rolesWithoutUsers} value={number(v, summary.rolesWithoutUsers)} />
          <Figure label={w.usersWithRoles} value={number(v, summary.usersWithRoles)} />
        </div>
        <FilterBar v={v} action="roles" target="roles-list">
          <TextField label={w.search} name="search" type="search" value={filters.search} />
          <SelectField
            label={w.kind}
            name="isSystemRole"
            any={shared[v.locale].all}
            value={filters.isSystemRole}
            choices={[{ value: "false", label: w.custom }, { value: "true", label: w.system }]}
          />
        </FilterBar>
        <LivePart v={v} id="roles-list">
          <DataTable
            caption={w.caption}
            columns={columns(v)}
            rows={page.items}
            sorting={{ v, path: "roles" }}
            empty={<EmptyList v={v} icon="roles" text={w.empty}>{w.emptyText}</EmptyList>}
          />
          <Pager v={v} path="roles" page={page} />
        </LivePart>
      </>
    ),
  };
}

function columns(v: Visit): Column<Role>[] {
  const w = words[v.locale];
  return [
    {
      head: w.role,
      sort: "name",
      cell: ({ id, name, description }) => (
        <>
          <a href={`roles/${id}`}>{name}</a>
          {description && <span class="sub">{inLanguage(v.locale, description)}</span>}
        </>
      ),
    },
    { head: w.kind, cell: (role) => <RoleKind v={v} role={role} /> },
    { head: w.permissions, align: "end", cell: ({ permissionCount }) => number(v, permissionCount) },
    { head: w.users, align: "end", sort: "userCount", cell: ({ userCount }) => number(v, userCount) },
    {
      head: w.created,
      sort: "createdAt",
      cell: ({ createdAt }) => <Time v={v} at={createdAt} />,
      wideOnly: true,
    },
  ];
}
