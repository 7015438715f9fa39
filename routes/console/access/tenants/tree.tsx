import { Empty } from "../../components/notice.tsx";
import { Badge } from "../../components/values.tsx";
import type { Page } from "../../shared/api.ts";
import type { Visit } from "../../shared/page.ts";
import { Capacity, type Tenant, TenantState } from "./model.tsx";
import { tenantTexts } from "./texts.ts";

const MOST = 100;

/** Groups with their children, then the tenants that stand alone. Two reads, whatever the number of groups. */
export async function tenantTree({ v }: { v: Visit }) {
  const t = tenantTexts[v.locale];
  const read = (hierarchyScope: string) =>
    v.api.get<Page<Tenant>>("tenants", { hierarchyScope, pageSize: MOST, sortBy: "name" });
  const [groups, grouped, standalone] = await Promise.all([
    read("groups"),
    read("grouped"),
    read("standalone"),
  ]);
  const children = Map.groupBy(grouped.items, ({ parentTenantId }) => parentTenantId);
  // A child whose group is out of the viewer's reach stands for itself.
  const orphans = grouped.items.filter(({ parentTenantId }) =>
    !groups.items.some(({ id }) => id === parentTenantId)
  );
  const roots = [...groups.items, ...standalone.items, ...orphans];
  if (roots.length === 0) return <Empty icon="tenants" title={t.empty}>{t.emptyText}</Empty>;
  return (
    <>
      <ul class="tree" aria-label={t.caption}>
        {roots.map((tenant) => {
          const own = children.get(tenant.id) ?? [];
          return (
            <li>
              <Node v={v} tenant={tenant} />
              {own.length > 0 && (
                <ul aria-label={t.childrenCaption(tenant.name)}>
                  {own.map((child) => (
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
        {!tenant.isActive && <TenantState v={v} isActive={false} />}
      </span>
      <Capacity v={v} tenant={tenant} />
    </div>
  );
}
