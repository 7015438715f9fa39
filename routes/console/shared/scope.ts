import { isUuid } from "../../../domain/shared/ids.ts";
import { type Api, orNull, searchOf } from "./api.ts";
import { type Crumb, may, type NavItem, type Viewer, type Visit } from "./page.ts";
import { scopeTexts } from "./common_texts.ts";

/**
 * Kinds of data by the tenants whose data a viewer sees. The API decides this; the names here are for display only.
 * `own`: data of the viewer's tenant; without a tenant, data that belongs to none. `files`: data of the viewer's tenant;
 * without a tenant, product files. `service`: always data of the whole service.
 */
type Area = "jobs" | "users" | "tenants" | "audit" | "service" | "own" | "files";

/** The permission with which a viewer sees an area of all tenants. */
const EVERYWHERE: Partial<Record<Area, string>> = {
  jobs: "admin:system",
  users: "manage:all-users",
  tenants: "manage:all-tenants",
  audit: "admin:system",
};

/** Areas by a page's path or its first segment. Null: the page shows no data of tenants, or only the viewer's own. */
const AREAS: Record<string, Area | null> = {
  "": "jobs",
  jobs: "jobs",
  "job-types": "jobs",
  queues: "jobs",
  recurring: "jobs",
  "dead-letters": "jobs",
  batches: "jobs",
  upcoming: "jobs",
  "webhook-deliveries": "jobs",
  notifications: "jobs",
  templates: "jobs",
  "report-runs": "jobs",
  "jobs/new": "own",
  "recurring/new/form": "own",
  "notifications/send": "own",
  "templates/new": "own",
  "users/bring-in": "own",
  workers: "service",
  "files/scanner": "service",
  deploys: "service",
  users: "users",
  tenants: "tenants",
  audit: "audit",
  timeline: "audit",
  files: "files",
  "explain-access": null,
  account: null,
  inbox: null,
  preferences: null,
  search: null,
  scope: null,
  "work-in": null,
  "step-up": null,
  "first-steps": null,
};

/** The pages below these areas that show the data of a scope; the others show one object, or act in the viewer's tenant. */
const PAGES_OF_A_SCOPE = [
  ...Object.keys(AREAS),
  "dead-letters/list",
  "dead-letters/retry",
  "dead-letters/purge",
];

/** The area of the page at an address under /console; null if the page shows no data of tenants. */
function areaOf(address: string): Area | null {
  const [path = ""] = address.split("?");
  const known = [path, path.split("/")[0] ?? ""].find((name) => Object.hasOwn(AREAS, name));
  return known === undefined ? "own" : AREAS[known] ?? null;
}

/** The name of the tenants whose data the viewer sees, and a sentence that explains it if it is not what was chosen. */
export interface Scope {
  label: string;
  hint?: string;
}

/** True if the viewer sees an area of any tenant without working in it. */
const seesAll = ({ viewer }: Pick<Visit, "viewer">, area: Area): boolean =>
  EVERYWHERE[area] !== undefined && may(viewer, EVERYWHERE[area]);

/** True if the list at an address shows a tenant that the parameter `tenantId` names, though the viewer is not in it. */
export const showsAnyTenant = (v: Visit, address: string): boolean => {
  const area = areaOf(address);
  return area !== null && area !== "tenants" && seesAll(v, area);
};

/**
 * The tenant whose data a visit shows: the one that the parameter `tenantId` of the address names, else the one in which
 * the viewer works. Null: the whole service, which administrators in the platform's tenant see too.
 */
export async function scopeAt(
  api: Api,
  viewer: Viewer,
  query: URLSearchParams,
): Promise<{ id: string; name: string } | null> {
  const id = query.get("tenantId")?.toLowerCase();
  const isWhole = viewer.tenant?.type === "Platform" && may(viewer, "admin:system");
  if (!id || !isUuid(id)) return isWhole ? null : viewer.tenant;
  if (id === viewer.tenant?.id) return viewer.tenant;
  const operation = may(viewer, "manage:all-tenants") ? "lookUpAllTenants" : "findOwnTenants";
  const named = (await orNull(api.call(operation, { query: { ids: [id] } })))?.items[0];
  return named ?? (may(viewer, "manage:all-tenants") ? { id, name: id } : viewer.tenant);
}

/**
 * The client of a visit, limited to its scope. Without a tenant context the API takes a tenant that a call names for the
 * context, and refuses tenants that the viewer is not in. So a viewer of the whole service looks at them from the
 * platform's tenant.
 */
export async function apiWithin(
  api: Api,
  inScope: Visit["inScope"],
  viewer: Viewer,
  scope: { id: string } | null,
): Promise<Api> {
  const looksFrom = viewer.tenant === null && scope !== null ? viewer.platformId : undefined;
  return (looksFrom ? await inScope(looksFrom) : api).within(viewer, scope);
}

/** The visit of another address with its scope, such as that of the list whose form was sent. */
export async function visitAt(v: Visit, address: string, params: Record<string, string>): Promise<Visit> {
  const query = new URLSearchParams(address.split("?")[1]);
  const api = await v.inScope(v.viewer.tenant?.id ?? null);
  const scope = await scopeAt(api, v.viewer, query);
  return { ...v, address, params, query, scope, api: await apiWithin(api, v.inScope, v.viewer, scope) };
}

/** The scope of the data that the page shows. */
export function pageScope(v: Visit): Scope {
  const t = scopeTexts[v.locale];
  const area = areaOf(v.address);
  const { tenant } = v.viewer;
  if (area === "service" || (area === "tenants" && seesAll(v, area))) {
    return { label: t.service, ...tenant && area === "service" ? { hint: t.serviceHint } : {} };
  }
  if (area !== null && seesAll(v, area)) return { label: v.scope?.name ?? t.service };
  if (tenant) {
    return { label: area === "tenants" && tenant.type === "Group" ? t.group(tenant.name) : tenant.name };
  }
  if (!may(v.viewer, "admin:system")) return { label: v.viewer.isInPlatform ? t.service : t.none };
  if (area === null) return { label: t.service };
  return area === "files" ? { label: t.products, hint: t.productsHint } : { label: t.own, hint: t.ownHint };
}

const LINK = /<a ((?:[^>]* )?href=")([^"#]*)("[^>]*>.*?<\/a>)/gs;

/**
 * HTML of a page of a tenant that the viewer only looks at. All links to pages of a scope name the tenant: without it, a
 * figure of the tenant would lead to the list of all tenants, whose actions change all of them. Buttons that lead to an
 * action elsewhere are left out.
 */
export function keptInScope(v: Visit, html: string): string {
  if (!looksAtTenant(v)) return html;
  return html.replace(LINK, (link, before: string, address: string, after: string) => {
    const kept = addressInScope(v, address);
    if (kept !== address) return `<a ${before}${kept.replace(/&(?=tenantId=)/, "&amp;")}${after}`;
    const isElsewhere = !address.includes("tenantId=") && areaOf(pathOf(address)) !== null;
    return isElsewhere && before.includes('class="button') && !actsHere(v) ? "" : link;
  });
}

const looksAtTenant = (v: Visit): boolean =>
  v.scope !== null && v.query.has("tenantId") && showsAnyTenant(v, v.address);

const pathOf = (address: string): string => address.replace(/^\.\/|\?.*$/g, "");

/** An address with the tenant that the viewer only looks at, if it is that of a page of a scope. */
export function addressInScope(v: Visit, address: string): string {
  const path = pathOf(address);
  if (!looksAtTenant(v) || address.includes("tenantId=")) return address;
  if (!PAGES_OF_A_SCOPE.includes(path) || !showsAnyTenant(v, path)) return address;
  return `${address}${address.includes("?") ? "&" : "?"}tenantId=${v.scope?.id}`;
}

/** The tenant that an action changes, within a sentence: "in Northwind", "for all tenants". */
export const reachOf = ({ scope, locale }: Visit): string =>
  scope ? scopeTexts[locale].within(scope.name) : scopeTexts[locale].everywhere;

/** True if a row is of the tenant in which the viewer works. */
export const isOwnRow = (v: Visit, { tenantId }: { tenantId: string | null }): boolean =>
  tenantId === (v.viewer.tenant?.id ?? null);

/**
 * The address of the page of an object in a list that may be of all tenants: the viewer first works in its tenant, or without
 * one if it belongs to none.
 */
export function inTenantOf(v: Visit, tenantId: string | null, address: string): string {
  if (isOwnRow(v, { tenantId })) return address;
  const back = searchOf({ back: address });
  return tenantId === null ? `scope${back}` : `work-in/${tenantId}${back}`;
}

/** The parameter of lists that show one tenant unless they are asked for all: those of the whole service. */
export const everywhere = (v: Visit): { everywhere?: true } =>
  v.scope === null && may(v.viewer, "admin:system") ? { everywhere: true } : {};

/** The tenant that one thing belongs to, within a sentence: "in Northwind"; without a tenant "of the service itself". */
export const placeOf = ({ locale }: Visit, tenant: string | null | undefined): string =>
  tenant ? scopeTexts[locale].within(tenant) : scopeTexts[locale].ofService;

/** The client that acts in the scope of the page, also for an administrator in the platform's tenant. */
export const actingApi = async (v: Visit): Promise<Api> =>
  v.scope === null && v.viewer.tenant !== null ? await v.inScope(null) : v.api;

/** True if the viewer acts in the scope of the page. A tenant that they only look at has no actions. */
export const actsHere = ({ viewer, scope }: Visit): boolean =>
  scope === null || scope.id === viewer.tenant?.id;

/** The entry of the navigation to which the page at an address belongs, if the viewer may open it. */
export function entryAt({ nav }: Pick<Visit, "nav">, address: string): NavItem | undefined {
  const [path = ""] = address.split("?");
  const items = nav.flatMap(({ items }) => items);
  return items.find((item) => item.path === path) ??
    items.find((item) => item.path !== "" && item.path === path.split("/")[0]);
}

/** The breadcrumb of a page below an entry of the navigation: the entry, and the pages between them. */
export function crumbsTo(v: Visit, ...between: Crumb[]): Crumb[] {
  const entry = entryAt(v, v.address);
  const isAbove = entry && entry.path !== v.address.split("?")[0];
  return isAbove ? [{ href: entry.path, label: entry.label[v.locale] }, ...between] : between;
}

/** True if the viewer may keep saved filters and pins: they are the person's own, in all tenants. */
export const mayKeep = ({ acting, boundTo }: Visit): boolean => acting === null && boundTo === null;
