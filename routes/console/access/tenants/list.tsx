import { ButtonLink, FilterBar, SelectField, TextField } from "../../components/forms.tsx";
import { type Column, DataTable, EmptyList, LivePart, Pager } from "../../components/table.tsx";
import { Figure, number, Time } from "../../components/values.tsx";
import { orNull, type Page, searchOf } from "../../shared/api.ts";
import { commonTexts } from "../../shared/common_texts.ts";
import type { View, Visit } from "../../shared/page.ts";
import { tenantNames } from "../access_queries.ts";
import { Capacity, mayCreate, type Tenant, type TenantsSummary, TenantStatus } from "./model.tsx";
import { tenantTree } from "./tree.tsx";
import { tenantTexts } from "./texts.ts";

const FILTERS = ["search", "type", "isActive", "hierarchyScope", "parentTenantId"] as const;

/** Tenants the viewer can access, as a list or as a tree of groups. */
export async function tenantsPage(v: Visit): Promise<View> {
  const t = tenantTexts[v.locale];
  const all = commonTexts[v.locale].all;
  const filters = Object.fromEntries(FILTERS.map((name) => [name, v.query.get(name)]));
  const asTree = v.query.get("view") === "tree";
  const summary = await orNull(v.api.get<TenantsSummary>("tenants/summary", filters));
  return {
    title: t.tenants,
    actions: mayCreate(v) && <ButtonLink href="tenants/new" label={t.newTenant} icon="plus" tone="primary" />,
    body: (
      <>
        <nav class="tabs" aria-label={t.view}>
          <a href="tenants" aria-current={asTree ? undefined : "page"}>{t.asList}</a>
          <a href="tenants?view=tree" aria-current={asTree ? "page" : undefined}>{t.asTree}</a>
        </nav>
        {!asTree && (
          <FilterBar v={v} action="tenants" target="tenants-list">
            <TextField label={t.search} name="search" type="search" value={filters.search} />
            <SelectField
              label={t.type}
              name="type"
              any={all}
              value={filters.type}
              choices={(["Standard", "Group", "Platform"] as const).map((value) => ({
                value,
                label: t[value],
              }))}
            />
            <SelectField
              label={t.status}
              name="isActive"
              any={all}
              value={filters.isActive}
              choices={[{ value: "true", label: t.active }, { value: "false", label: t.inactive }]}
            />
            <SelectField
              label={t.hierarchy}
              name="hierarchyScope"
              any={all}
              value={filters.hierarchyScope}
              choices={(["grouped", "groups", "standalone"] as const).map((value) => ({
                value,
                label: t[value],
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
  const t = tenantTexts[v.locale];
  return (
    <div class="figures">
      <Figure label={t.tenants} value={number(v, summary.totalTenants)} />
      <Figure label={t.activeMany} value={number(v, summary.activeTenants)} href="tenants?isActive=true" />
      <Figure
        label={t.inactiveMany}
        value={number(v, summary.inactiveTenants)}
        href="tenants?isActive=false"
      />
      <Figure label={t.groups} value={number(v, summary.groupTenants)} href="tenants?hierarchyScope=groups" />
      <Figure
        label={t.grouped}
        value={number(v, summary.groupedTenants)}
        href="tenants?hierarchyScope=grouped"
      />
      <Figure
        label={t.atCapacity}
        value={number(v, summary.tenantsAtCapacity)}
        {...summary.tenantsAtCapacity > 0 ? { tone: "warn" as const } : {}}
      />
      <Figure label={t.activeUsers} value={number(v, summary.totalUsers)} />
    </div>
  );
}

async function tenantList({ v, filters }: { v: Visit; filters: Record<string, string | null> }) {
  const t = tenantTexts[v.locale];
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
        caption={t.caption}
        columns={columns(v, parents)}
        rows={page.items}
        sorting={{ v, path: "tenants" }}
        empty={<EmptyList v={v} icon="tenants" text={t.empty}>{t.emptyText}</EmptyList>}
      />
      <Pager v={v} path="tenants" page={page} />
    </>
  );
}

/** Columns of a tenant table. The group column is shown if `parents` (names by id) is given. */
export function columns(v: Visit, parents: Map<string, string> | null): Column<Tenant>[] {
  const t = tenantTexts[v.locale];
  return [
    { head: t.tenant, sort: "name", cell: ({ id, name }) => <a href={`tenants/${id}`}>{name}</a> },
    { head: t.type, sort: "type", cell: ({ type }) => <span class="nowrap">{t[type]}</span> },
    { head: t.status, cell: ({ isActive }) => <TenantStatus v={v} isActive={isActive} /> },
    ...parents
      ? [{
        head: t.parent,
        cell: ({ parentTenantId }: Tenant) =>
          parentTenantId && (
            <a href={`tenants${searchOf({ parentTenantId })}`}>
              {parents.get(parentTenantId) ?? t.grouped}
            </a>
          ),
        wideOnly: true,
      }]
      : [],
    { head: t.users, sort: "userCount", cell: (tenant) => <Capacity v={v} tenant={tenant} /> },
    {
      head: t.created,
      sort: "createdAt",
      cell: ({ createdAt }) => <Time v={v} at={createdAt} />,
      wideOnly: true,
    },
  ];
}
