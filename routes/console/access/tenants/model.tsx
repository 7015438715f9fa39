import { Meter } from "../../components/charts.tsx";
import { Badge, number } from "../../components/values.tsx";
import type { Row } from "../../shared/operations.ts";
import { may, type Visit } from "../../shared/page.ts";
import { managesAllTenants } from "../../shared/access_queries.ts";
import { tenantTexts } from "./texts.ts";

export type Tenant = Row<"listTenants">;

/**
 * True if the viewer may use `permission` on the tenant: on their own tenant, on any tenant if they manage all, or on a
 * child of their group with manage:child-tenants.
 */
export function mayOn(v: Visit, permission: string, tenant: Pick<Tenant, "id" | "parentTenantId">): boolean {
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

/** Active or inactive, as a coloured label. */
export const TenantStatus = ({ v, isActive }: { v: Visit; isActive: boolean }) =>
  isActive
    ? <Badge tone="ok">{tenantTexts[v.locale].active}</Badge>
    : <Badge tone="idle">{tenantTexts[v.locale].inactive}</Badge>;

/** The breadcrumb of a tenant's pages. */
export const tenantCrumbs = (v: Visit, tenant?: Tenant): { href: string; label: string }[] => [
  { href: "tenants", label: tenantTexts[v.locale].tenants },
  ...tenant ? [{ href: `tenants/${tenant.id}`, label: tenant.name }] : [],
];
