import type { z } from "zod";
import type { TenantDto, TenantsSummaryDto } from "../../../access/tenant_shapes.ts";
import { Meter } from "../../components/charts.tsx";
import { Badge, number } from "../../components/values.tsx";
import { may, type Visit } from "../../shared/page.ts";
import { reachesTenants } from "../reading.ts";
import { tenantTexts } from "./texts.ts";

export type Tenant = z.output<typeof TenantDto>;
export type TenantsSummary = z.output<typeof TenantsSummaryDto>;

/** May the viewer use `permission` on the tenant: their own, a child of their group, or any with reach over all? */
export function mayOn(v: Visit, permission: string, tenant: Pick<Tenant, "id" | "parentTenantId">): boolean {
  const own = v.viewer.tenant;
  const reachesOwn = may(v.viewer, permission) && (reachesTenants(v) || tenant.id === own?.id);
  const isChild = own?.type === "Group" && tenant.parentTenantId === own.id;
  return reachesOwn || (isChild && may(v.viewer, "manage:child-tenants"));
}

/** May the viewer make tenants: anywhere, or as children of their own group? */
export function mayCreate(v: Visit): "anywhere" | "children" | null {
  if (may(v.viewer, "create:tenants") && reachesTenants(v)) return "anywhere";
  const isGroup = v.viewer.tenant?.type === "Group";
  const makes = may(v.viewer, "create:tenants") || may(v.viewer, "manage:child-tenants");
  return isGroup && may(v.viewer, "manage:child-tenants") && makes ? "children" : null;
}

/** Users against the limit, with a bar where there is one. */
export function Capacity({ v, tenant }: { v: Visit; tenant: Tenant }) {
  const t = tenantTexts[v.locale];
  const { name, userCount, maxUsers } = tenant;
  if (maxUsers === null) {
    return (
      <span class="capacity">
        <span>
          {number(v, userCount)} <span class="muted">{t.noLimit}</span>
        </span>
      </span>
    );
  }
  const share = userCount / maxUsers;
  return (
    <span class="capacity">
      {t.usersOf(number(v, userCount), number(v, maxUsers))}
      <Meter
        label={t.capacity(name, userCount, maxUsers)}
        value={userCount}
        max={maxUsers}
        tone={share >= 1 ? "bad" : share >= 0.8 ? "warn" : "info"}
      />
    </span>
  );
}

/** Whether work goes on in it. */
export const TenantState = ({ v, isActive }: { v: Visit; isActive: boolean }) =>
  isActive
    ? <Badge tone="ok">{tenantTexts[v.locale].active}</Badge>
    : <Badge tone="idle">{tenantTexts[v.locale].inactive}</Badge>;

/** The crumbs of a tenant's pages. */
export const tenantCrumbs = (v: Visit, tenant?: Tenant): { href: string; label: string }[] => [
  { href: "tenants", label: tenantTexts[v.locale].tenants },
  ...tenant ? [{ href: `tenants/${tenant.id}`, label: tenant.name }] : [],
];
