import { may, type Visit } from "./page.ts";
import { scopeTexts } from "./scope_texts.ts";

/**
 * Kinds of data by the tenants whose data a viewer sees. The API decides this; the names here are for display only.
 * `own`: data of the viewer's tenant; without a tenant, data that belongs to none. `files`: data of the viewer's tenant;
 * without a tenant, product files. `service`: always data of the whole service.
 */
export type Area = "jobs" | "users" | "tenants" | "audit" | "service" | "own" | "files";

/** The permission with which a viewer sees an area of all tenants. */
const EVERYWHERE: Partial<Record<Area, string>> = {
  jobs: "admin:system",
  users: "manage:all-users",
  tenants: "manage:all-tenants",
  audit: "admin:system",
};

/** Areas by the first segment of a page's path. Null: the page shows no statistics, or only the viewer's own. */
const AREAS: Record<string, Area | null> = {
  "": "jobs",
  jobs: "jobs",
  "job-types": "jobs",
  recurring: "jobs",
  "dead-letters": "jobs",
  upcoming: "jobs",
  workers: "service",
  deploys: "service",
  users: "users",
  "explain-access": null,
  tenants: "tenants",
  audit: "audit",
  timeline: "audit",
  files: "files",
  account: null,
  inbox: null,
  preferences: null,
  search: null,
  scope: null,
  "work-in": null,
  "step-up": null,
  "first-steps": null,
};

/** The area of the page at an address under /console; null if the page shows no statistics. */
function areaOf(address: string): Area | null {
  const area = AREAS[address.split(/[/?]/)[0] ?? ""];
  return area === undefined ? "own" : area;
}

/** The name of the tenants whose data the viewer sees, and a sentence that explains it. */
export interface Scope {
  label: string;
  hint: string;
}

/** True if the viewer sees an area of all tenants. */
const seesAll = ({ viewer }: Pick<Visit, "viewer">, area: Area): boolean =>
  area === "service" || (EVERYWHERE[area] !== undefined && may(viewer, EVERYWHERE[area]));

/**
 * The scope of the data that the page shows. Null if it shows none, or one object that may belong to any tenant: such a page
 * names the tenant itself, see `View.scope`.
 */
export function pageScope(v: Visit): Scope | null {
  const area = areaOf(v.address);
  const isBelowList = v.address.split("?")[0]?.includes("/") ?? false;
  return area === null || (isBelowList && seesAll(v, area)) ? null : scopeOf(v, area);
}

/** The scope of the data that a part of the page shows; null if the viewer has no tenant and sees no other. */
export function scopeOf(v: Pick<Visit, "viewer" | "locale" | "filteredTo">, area: Area): Scope | null {
  const t = scopeTexts[v.locale];
  const { tenant } = v.viewer;
  if (seesAll(v, area)) {
    if (area === "service" || !v.filteredTo) return { label: t.service, hint: t.serviceHint };
    return { label: v.filteredTo.name, hint: t.tenantHint(v.filteredTo.name) };
  }
  if (tenant === null) {
    if (!may(v.viewer, "admin:system")) return null;
    return area === "files" ? { label: t.products, hint: t.productsHint } : { label: t.own, hint: t.ownHint };
  }
  const label = area === "tenants" && tenant.type === "Group" ? t.group(tenant.name) : tenant.name;
  return { label, hint: t.tenantHint(label) };
}
