import { Empty } from "../../components/notice.tsx";
import { Badge } from "../../components/values.tsx";
import type { Visit } from "../../shared/page.ts";
import { Capacity, type Tenant, TenantStatus } from "./model.tsx";
import { tenantTexts } from "./texts.ts";

const MAX_PER_LEVEL = 100;

/** Groups with their children, then tenants without a group. It needs three requests, however many groups there are. */
export async function tenantTree({ v }: { v: Visit }) {
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
