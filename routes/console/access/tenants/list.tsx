import type { Child } from "hono/jsx";
import { buttonLink } from "../../components/forms.tsx";
import { choice, hidden, labelled, list, search, timeColumn } from "../../components/list.tsx";
import { type Column, LivePart } from "../../components/table.tsx";
import { statisticList } from "../../components/statistics.tsx";
import { orNull, searchOf } from "../../shared/api.ts";
import type { View, Visit } from "../../shared/page.ts";
import { tenantNames } from "../../shared/access_queries.ts";
import { TenantTabs } from "../sign_in/tenant_tabs.tsx";
import { Capacity, mayCreate, type Tenant, TenantStatus } from "./model.tsx";
import { tenantTexts } from "./texts.ts";
import { Empty } from "../../components/notice.tsx";
import { Badge } from "../../components/values.tsx";

/** Tenants the viewer can access, as a list or as a tree of groups. */
export async function tenantsPage(v: Visit): Promise<View> {
  const t = tenantTexts[v.locale];
  const isTree = v.query.get("view") === "tree";
  const statistics = await summaryOf(v);
  return {
    title: t.tenants,
    actions: mayCreate(v) && buttonLink("tenants/new", t.newTenant, { icon: "plus", tone: "primary" }),
    body: (
      <>
        <TenantTabs v={v} current={isTree ? "tenants?view=tree" : "tenants"} />
        {isTree
          ? (
            <LivePart v={v} id="tenants-list">
              {statistics}
              {await tenantTree({ v })}
            </LivePart>
          )
          : await tenantList(v, statistics)}
      </>
    ),
  };
}

/** The counts of the tenants that match the filters; null if the viewer may not see them. */
async function summaryOf(v: Visit): Promise<Child> {
  const t = tenantTexts[v.locale];
  const { search, isActive, type, hierarchyScope, parentTenantId } = Object.fromEntries(v.query);
  const query = { search, isActive, type, hierarchyScope, parentTenantId };
  const summary = await orNull(v.api.call("summarizeTenants", { query }));
  return summary && statisticList(v, [
    [t.tenants, summary.totalTenants],
    [t.activeMany, summary.activeTenants, { href: "tenants?isActive=true" }],
    [t.inactiveMany, summary.inactiveTenants, { href: "tenants?isActive=false" }],
    [t.groups, summary.groupTenants, { href: "tenants?hierarchyScope=groups" }],
    [t.grouped, summary.groupedTenants, { href: "tenants?hierarchyScope=grouped" }],
    [t.atCapacity, summary.tenantsAtCapacity, summary.tenantsAtCapacity > 0 ? { tone: "warn" } : {}],
    [t.activeUsers, summary.totalUsers],
  ]);
}

async function tenantList(v: Visit, statistics: Child) {
  const t = tenantTexts[v.locale];
  const page = await v.api.list("listTenants", v);
  const parents = await tenantNames(v, page.items.map(({ parentTenantId }) => parentTenantId));
  return list(v, page, {
    path: "tenants",
    icon: "tenants",
    caption: t.caption,
    empty: [t.empty, t.emptyText],
    filters: [
      search(t.search),
      choice("type", t.type, labelled(["Standard", "Group", "Platform"], t)),
      choice("isActive", t.status, { true: t.active, false: t.inactive }),
      choice("hierarchyScope", t.hierarchy, labelled(["grouped", "groups", "standalone"], t)),
      hidden("parentTenantId"),
    ],
    above: statistics,
    columns: columns(v, parents),
  });
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
    {
      head: t.users,
      sort: "userCount",
      cell: (tenant) => <Capacity v={v} tenant={tenant} />,
      csv: ({ userCount }) => String(userCount),
      below: [[t.maxUsers, ({ maxUsers }) => v.collect && maxUsers]],
    },
    timeColumn(v, t.created, "createdAt", { sort: "createdAt", wideOnly: true }),
  ];
}

const MAX_PER_LEVEL = 100;

/** Groups with their children, then tenants without a group. It needs three requests, however many groups there are. */
async function tenantTree({ v }: { v: Visit }) {
  const t = tenantTexts[v.locale];
  const read = (hierarchyScope: string) =>
    v.api.call("listTenants", { query: { hierarchyScope, pageSize: MAX_PER_LEVEL, sortBy: "name" } });
  const [groups, grouped, standalone] = await Promise.all([
    read("groups"),
    read("grouped"),
    read("standalone"),
  ]);
  const children = Map.groupBy(grouped.items, ({ parentTenantId }) => parentTenantId);
  // A child whose group the viewer cannot access is shown at the top level.
  const orphans = grouped.items.filter(({ parentTenantId }) =>
    !groups.items.some(({ id }) => id === parentTenantId)
  );
  const roots = [...groups.items, ...standalone.items, ...orphans];
  if (roots.length === 0) return <Empty icon="tenants" title={t.empty}>{t.emptyText}</Empty>;
  return (
    <>
      <ul class="tree" aria-label={t.caption}>
        {roots.map((tenant) => {
          const ownChildren = children.get(tenant.id) ?? [];
          return (
            <li>
              <Node v={v} tenant={tenant} />
              {ownChildren.length > 0 && (
                <ul aria-label={t.childrenCaption(tenant.name)}>
                  {ownChildren.map((child) => (
                    <li>
                      <Node v={v} tenant={child} />
                    </li>
                  ))}
                </ul>
              )}
            </li>
          );
        })}
      </ul>
      {[groups, grouped, standalone].filter(({ hasNext }) => hasNext).map(({ items, totalCount }) => (
        <p class="muted">{t.treeMore(items.length, totalCount)}</p>
      ))}
    </>
  );
}

function Node({ v, tenant }: { v: Visit; tenant: Tenant }) {
  return (
    <div class="tree-node">
      <span class="row">
        <a href={`tenants/${tenant.id}`}>{tenant.name}</a>
        {tenant.type !== "Standard" && <Badge tone="info">{tenantTexts[v.locale][tenant.type]}</Badge>}
        {!tenant.isActive && <TenantStatus v={v} isActive={false} />}
      </span>
      <Capacity v={v} tenant={tenant} />
    </div>
  );
}
