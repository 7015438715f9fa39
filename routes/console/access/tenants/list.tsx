import type { Child } from "hono/jsx";
import { Meter } from "../../components/charts.tsx";
import { actionButton, buttonLink, deleteButton } from "../../components/forms.tsx";
import { choice, hidden, labelled, list, search, timeColumn } from "../../components/list.tsx";
import { Card, Empty } from "../../components/notice.tsx";
import { statisticList } from "../../components/statistics.tsx";
import { type Column, dataTable, LivePart, Pager } from "../../components/table.tsx";
import {
  ActiveBadge,
  Badge,
  bulletList,
  CopyValue,
  factList,
  number,
  Time,
  timelineFact,
} from "../../components/values.tsx";
import { switcherTexts } from "../../scope/texts.ts";
import { hasUserData, managesAllTenants, managesAllUsers, tenantNames } from "../../shared/access_queries.ts";
import { orNull, searchOf } from "../../shared/api.ts";
import type { Row } from "../../shared/operations.ts";
import { may, type View, type Visit } from "../../shared/page.ts";
import { TenantTabs } from "../sign_in/sign_in_page.tsx";
import { dataTexts } from "../users/texts.ts";
import { tenantTexts } from "./texts.ts";

/** Tenants the viewer can access, as a list or as a tree of groups. */
export async function tenantsPage(v: Visit): Promise<View> {
  const t = tenantTexts[v.locale];
  const isTree = v.query.get("view") === "tree";
  const statistics = await summaryOf(v);
  return {
    title: t.tenants,
    actions: mayCreate(v) && buttonLink("tenants/new", t.newTenant, { icon: "plus", tone: "primary" }),
    body: [
      <TenantTabs v={v} current={isTree ? "tenants?view=tree" : "tenants"} />,
      isTree
        ? (
          <LivePart v={v} id="tenants-list">
            {statistics}
            {await tenantTree(v)}
          </LivePart>
        )
        : await tenantList(v, statistics),
    ],
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
function columns(v: Visit, parents: Map<string, string> | null): Column<Tenant>[] {
  const t = tenantTexts[v.locale];
  return [
    { head: t.tenant, sort: "name", cell: ({ id, name }) => <a href={`tenants/${id}`}>{name}</a> },
    { head: t.type, sort: "type", cell: ({ type }) => <span class="nowrap">{t[type]}</span> },
    { head: t.status, cell: ({ isActive }) => <ActiveBadge v={v} isActive={isActive} /> },
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
async function tenantTree(v: Visit) {
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
  const node = (tenant: Tenant) => <Node v={v} tenant={tenant} />;
  if (roots.length === 0) return <Empty icon="tenants" title={t.empty}>{t.emptyText}</Empty>;
  return [
    bulletList(roots, (tenant) => {
      const own = children.get(tenant.id);
      return [
        node(tenant),
        own && bulletList(own, node, { label: t.childrenCaption(tenant.name) }),
      ];
    }, { look: "tree", label: t.caption }),
    [groups, grouped, standalone].filter(({ hasNext }) => hasNext).map(({ items, totalCount }) => (
      <p class="muted">{t.treeMore(items.length, totalCount)}</p>
    )),
  ];
}

function Node({ v, tenant }: { v: Visit; tenant: Tenant }) {
  return (
    <div class="tree-node">
      <span class="row">
        <a href={`tenants/${tenant.id}`}>{tenant.name}</a>
        {tenant.type !== "Standard" && <Badge tone="info">{tenantTexts[v.locale][tenant.type]}</Badge>}
        {!tenant.isActive && <ActiveBadge v={v} isActive={false} />}
      </span>
      <Capacity v={v} tenant={tenant} />
    </div>
  );
}

/** One tenant: its details and, for a group, its child tenants. */
export async function tenantPage(v: Visit): Promise<View> {
  const t = tenantTexts[v.locale];
  const tenant = await v.api.act("readTenant", v);
  const [children, names] = await Promise.all([
    tenant.type === "Group" ? orNull(v.api.list("listTenants", v, { parentTenantId: tenant.id })) : null,
    tenantNames(v, [tenant.parentTenantId]),
  ]);
  const { parentTenantId } = tenant;
  return {
    title: tenant.name,
    actions: <Actions v={v} tenant={tenant} />,
    body: [
      <Card>
        {factList([
          [t.status, <ActiveBadge v={v} isActive={tenant.isActive} />],
          [t.type, t[tenant.type]],
          [t.users, <Capacity v={v} tenant={tenant} />],
          [t.secondFactor, tenant.requireSecondFactor ? t.secondFactorRequired : t.secondFactorOptional],
          [t.actAs, t[tenant.actAs]],
          parentTenantId !== null && [
            t.parent,
            <a href={`tenants/${parentTenantId}`}>{names.get(parentTenantId) ?? parentTenantId}</a>,
          ],
          [t.created, <Time v={v} at={tenant.createdAt} />],
          [t.changed, <Time v={v} at={tenant.updatedAt} />],
          [t.tenantId, <CopyValue v={v} value={tenant.id} />],
          (may(v.viewer, "admin:system") || v.viewer.tenant?.id === tenant.id) &&
          timelineFact(v, { tenantId: tenant.id, range: "today" }),
        ])}
      </Card>,
      children && (
        <Card
          title={t.children}
          actions={mayCreate(v) &&
            buttonLink(`tenants/new?parentTenantId=${tenant.id}`, t.newChild, { icon: "plus" })}
        >
          {dataTable(
            t.childrenCaption(tenant.name),
            children.items,
            t.noChildren,
            columns(v, null),
          )}
          <Pager v={v} path={`tenants/${tenant.id}`} page={children} />
        </Card>
      ),
    ],
  };
}

function Actions({ v, tenant }: { v: Visit; tenant: Tenant }) {
  const t = tenantTexts[v.locale];
  const at = `tenants/${tenant.id}`;
  const isOwn = tenant.id === v.viewer.tenant?.id && may(v.viewer, "read:users");
  const users = managesAllUsers(v) ? `users?tenantId=${tenant.id}` : isOwn && "users";
  const isPlatform = tenant.type === "Platform";
  const mayWork = managesAllUsers(v) && tenant.isActive && tenant.id !== v.viewer.tenant?.id;
  const mayChange = mayOn(v, "update:tenants", tenant);
  return (
    <>
      {may(v.viewer, "read:users") &&
        buttonLink(`audit?targetType=tenant&targetId=${tenant.id}`, t.history, { icon: "audit" })}
      {managesAllTenants(v) && hasUserData(v) &&
        buttonLink(`${at}/data`, dataTexts[v.locale].tenantTitle, { icon: "files" })}
      {mayWork &&
        buttonLink(
          `work-in/${tenant.id}?back=${encodeURIComponent(at)}`,
          switcherTexts[v.locale].joinTenant,
          { icon: "tenants" },
        )}
      {users && buttonLink(users, t.users, { icon: "users" })}
      {mayChange && !isPlatform && (tenant.isActive
        ? actionButton(v, `${at}/deactivate`, t.deactivate, { confirm: t.deactivateConfirm(tenant.name) })
        : actionButton(v, `${at}/activate`, t.activate))}
      {mayChange && buttonLink(`${at}/edit`, t.edit, { tone: "primary" })}
      {!isPlatform && mayOn(v, "delete:tenants", tenant) &&
        deleteButton(v, `${at}/delete`, t.deleteConfirm(tenant.name), { label: t.deleteTenant })}
    </>
  );
}

type Tenant = Row<"listTenants">;

/**
 * True if the viewer may use `permission` on the tenant: on their own tenant, on any tenant if they manage all, or on a
 * child of their group with manage:child-tenants.
 */
function mayOn(v: Visit, permission: string, tenant: Pick<Tenant, "id" | "parentTenantId">): boolean {
  const own = v.viewer.tenant;
  const mayDirectly = may(v.viewer, permission) && (managesAllTenants(v) || tenant.id === own?.id);
  const isChild = own?.type === "Group" && tenant.parentTenantId === own.id;
  return mayDirectly || (isChild && may(v.viewer, "manage:child-tenants"));
}

/** The place where the viewer may create tenants: anywhere, as children of their own group, or nowhere (null). */
export function mayCreate(v: Visit): "anywhere" | "children" | null {
  if (may(v.viewer, "create:tenants") && managesAllTenants(v)) return "anywhere";
  const isGroup = v.viewer.tenant?.type === "Group";
  const creates = may(v.viewer, "create:tenants") || may(v.viewer, "manage:child-tenants");
  return isGroup && may(v.viewer, "manage:child-tenants") && creates ? "children" : null;
}

/** Number of users and the user limit, with a bar if there is a limit. */
function Capacity({ v, tenant }: { v: Visit; tenant: Tenant }) {
  const t = tenantTexts[v.locale];
  const { name, userCount: value, maxUsers: max } = tenant;
  const share = max === null ? 0 : value / max;
  return (
    <span class="capacity">
      {max === null
        ? (
          <span>
            {number(v, value)} <span class="muted">{t.noLimit}</span>
          </span>
        )
        : [
          t.usersOf(number(v, value), number(v, max)),
          <Meter
            label={t.capacity(name, value, max)}
            value={value}
            max={max}
            tone={share >= 1 ? "bad" : share >= 0.8 ? "warn" : "info"}
          />,
        ]}
    </span>
  );
}
