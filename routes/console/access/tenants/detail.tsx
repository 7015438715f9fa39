import type { Child } from "hono/jsx";
import { actionButton, buttonLink, deleteButton } from "../../components/forms.tsx";
import { Card } from "../../components/notice.tsx";
import { dataTable, Pager } from "../../components/table.tsx";
import { CopyValue, factList, Time } from "../../components/values.tsx";
import { orNull } from "../../shared/api.ts";
import { may, type View, type Visit } from "../../shared/page.ts";
import { switcherTexts } from "../../scope/texts.ts";
import { hasUserData, managesAllTenants, managesAllUsers, tenantNames } from "../../shared/access_queries.ts";
import { dataTexts } from "../../shared/data_request_texts.ts";
import { timelineFact } from "../../components/timeline_fact.tsx";
import { columns } from "./list.tsx";
import { Capacity, mayCreate, mayOn, type Tenant, tenantCrumbs, TenantStatus } from "./model.tsx";
import { tenantTexts } from "./texts.ts";

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
    crumbs: tenantCrumbs(v),
    actions: <Actions v={v} tenant={tenant} />,
    body: (
      <>
        <Card>
          {factList([
            [t.status, <TenantStatus v={v} isActive={tenant.isActive} />],
            [t.type, t[tenant.type]],
            [t.users, <Capacity v={v} tenant={tenant} />],
            [t.secondFactor, tenant.requireSecondFactor ? t.secondFactorRequired : t.secondFactorOptional],
            [t.actAs, t[tenant.actAs]],
            ...parentTenantId === null ? [] : [parentFact(v, parentTenantId, names)],
            [t.created, <Time v={v} at={tenant.createdAt} />],
            [t.changed, <Time v={v} at={tenant.updatedAt} />],
            [t.tenantId, <CopyValue v={v} value={tenant.id} />],
            (may(v.viewer, "admin:system") || v.viewer.tenant?.id === tenant.id) &&
            timelineFact(v, { tenantId: tenant.id, range: "today" }),
          ])}
        </Card>
        {children && (
          <Card
            title={t.children}
            actions={mayCreate(v) &&
              buttonLink(`tenants/new?parentTenantId=${tenant.id}`, t.newChild, { icon: "plus" })}
          >
            {dataTable(
              t.childrenCaption(tenant.name),
              children.items,
              <p class="muted">{t.noChildren}</p>,
              columns(v, null),
            )}
            <Pager v={v} path={`tenants/${tenant.id}`} page={children} />
          </Card>
        )}
      </>
    ),
  };
}

const parentFact = (v: Visit, id: string, names: Map<string, string>): [string, Child] => [
  tenantTexts[v.locale].parent,
  <a href={`tenants/${id}`}>{names.get(id) ?? id}</a>,
];

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
