import { ButtonLink, FilterBar, SelectField, TextField } from "../../components/forms.tsx";
import { type Column, DataTable, EmptyList, LivePart, Pager } from "../../components/table.tsx";
import { Figure, number, Time } from "../../components/values.tsx";
import { type Page, searchOf } from "../../shared/api.ts";
import { shared } from "../../shared/console_words.ts";
import type { View, Visit } from "../../shared/page.ts";
import { orNull, tenantNames } from "../reading.ts";
import { Capacity, mayCreate, type Tenant, type TenantsSummary, TenantState } from "./model.tsx";
import { tenantTree } from "./tree.tsx";
import { words } from "./words.ts";

const FILTERS = ["search", "type", "isActive", "hierarchyScope", "parentTenantId"] as const;

/** Tenants within the viewer's reach, as a list or as groups with their children. */
export async function tenantsPage(v: Visit): Promise<View> {
  const w = words[v.locale];
  const all = shared[v.locale].all;
  const filters = Object.fromEntries(FILTERS.map((name) => [name, v.query.get(name)]));
  const asTree = v.query.get("view") === "tree";
  const summary = await orNull(v.api.get<TenantsSummary>("tenants/summary", filters));
  return {
    title: w.tenants,
    actions: mayCreate(v) && <ButtonLink href="tenants/new" label={w.newTenant} icon="plus" tone="primary" />,
    body: (
      <>
        <nav class="tabs" aria-label={w.view}>
          <a href="tenants" aria-current={asTree ? undefined : "page"}>{w.asList}</a>
          <a href="tenants?view=tree" aria-current={asTree ? "page" : undefined}>{w.asTree}</a>
        </nav>
        {!asTree && (
          <FilterBar v={v} action="tenants" target="tenants-list">
            <TextField label={w.search} name="search" type="search" value={filters.search} />
            <SelectField
              label={w.type}
              name="type"
              any={all}
              value={filters.type}
              choices={(["Standard", "Group", "Platform"] as const).map((value) => ({
                value,
                label: w[value],
              }))}
            />
            <SelectField
              label={w.state}
              name="isActive"
              any={all}
              value={filters.isActive}
              choices={[{ value: "true", label: w.active }, { value: "false", label: w.inactive }]}
            />
            <SelectField
              label={w.place}
              name="hierarchyScope"
              any={all}
              value={filters.hierarchyScope}
              choices={(["grouped", "groups", "standalone"] as const).map((value) => ({
                value,
                label: w[value],
              }))}
            />
            {filters.parentTenantId && (
              <input type="hidden" name="parentTenantId" value={filters.parentTenantId} />
            )}
          </FilterBar>
        )}
        <LivePart v={v} id="tenants-list">
          {summary && <Figures v={v} summary={summary} />}
          {asTree ? await tenantTree({ v }) : await tenantList({ v, filters })}
        </LivePart>
      </>
    ),
  };
}

function Figures({ v, summary }: { v: Visit; summary: TenantsSummary }) {
  const w = words[v.locale];
  return (
    <div class="figures">
      <Figure label={w.total} value={number(v, summary.totalTenants)} />
      <Figure label={w.activeMany} value={number(v, summary.activeTenants)} href="tenants?isActive=true" />
      <Figure
        label={w.inactiveMany}
        value={number(v, summary.inactiveTenants)}
        href="tenants?isActive=false"
      />
      <Figure label={w.groups} value={number(v, summary.groupTenants)} href="tenants?hierarchyScope=groups" />
      <Figure
        label={w.grouped}
        value={number(v, summary.groupedTenants)}
        href="tenants?hierarchyScope=grouped"
      />
      <Figure
        label={w.atCapacity}
        value={number(v, summary.tenantsAtCapacity)}
        {...summary.tenantsAtCapacity > 0 ? { tone: "warn" as const } : {}}
      />
      <Figure label={w.activeUsers} value={number(v, summary.totalUsers)} />
    </div>
  );
}

async function tenantList({ v, filters }: { v: Visit; filters: Record<string, string | null> }) {
  const w = words[v.locale];
  const page = await v.api.get<Page<Tenant>>("tenants", {
    ...filters,
    sortBy: v.query.get("sortBy"),
    sortDirection: v.query.get("sortDirection"),
    page: v.query.get("page"),
  });
  const parents = await tenantNames(v, page.items.map(({ parentTenantId }) => parentTenantId));
  return (
    <>
      <DataTable
        caption={w.caption}
        columns={columns(v, parents)}
        rows={page.items}
        sorting={{ v, path: "tenants" }}
        empty={<EmptyList v={v} icon="tenants" text={w.empty}>{w.emptyText}</EmptyList>}
      />
      <Pager v={v} path="tenants" page={page} />
    </>
  );
}

/** Columns of tenants; the group stands in its own where `parents` names it. */
export function columns(v: Visit, parents: Map<string, string> | null): Column<Tenant>[] {
  const w = words[v.locale];
  return [
    { head: w.tenant, sort: "name", cell: ({ id, name }) => <a href={`tenants/${id}`}>{name}</a> },
    { head: w.type, sort: "type", cell: ({ type }) => <span class="nowrap">{w[type]}</span> },
    { head: w.state, cell: ({ isActive }) => <TenantState v={v} isActive={isActive} /> },
    ...parents
      ? [{
        head: w.parent,
        cell: ({ parentTenantId }: Tenant) =>
          parentTenantId && (
            <a href={`tenants${searchOf({ parentTenantId })}`}>
              {parents.get(parentTenantId) ?? w.grouped}
            </a>
          ),
        wideOnly: true,
      }]
      : [],
    { head: w.users, sort: "userCount", cell: (tenant) => <Capacity v={v} tenant={tenant} /> },
    {
      head: w.created,
      sort: "createdAt",
      cell: ({ createdAt }) => <Time v={v} at={createdAt} />,
      wideOnly: true,
    },
  ];
}
