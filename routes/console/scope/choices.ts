import { managesAllTenants, managesAllUsers } from "../shared/access_queries.ts";
import type { Api } from "../shared/api.ts";
import { errorTexts } from "../shared/common_texts.ts";
import type { Row } from "../shared/operations.ts";
import { may, type Visit } from "../shared/page.ts";
import { idIn } from "../shared/search_query.ts";
import { switcherTexts } from "./texts.ts";

/** A scope that the viewer may choose. */
export interface ScopeChoice {
  /** Null: the whole service. */
  tenantId: string | null;
  name: string;
  isCurrent: boolean;
  /** False: the viewer must add themselves first. */
  isMember: boolean;
}

const SHOWN = 20;

/** True if there is a scope to switch to. */
export const maySwitch = ({ viewer }: Visit): boolean => viewer.hasOtherTenants || viewer.isInPlatform;

/** The name of the current scope within a sentence. */
export function scopeName(v: Pick<Visit, "viewer" | "locale">): string {
  const t = errorTexts[v.locale];
  return v.viewer.tenant?.name ?? (may(v.viewer, "admin:system") ? t.wholeService : t.noScope);
}

const folded = (text: string): string => text.normalize("NFD").replaceAll(/\p{M}/gu, "").toLowerCase();

/** The scopes that match a search text, the viewer's own first, and how many more match. */
export async function findScopes(
  v: Visit,
  search: string,
): Promise<{ choices: ScopeChoice[]; more: number }> {
  const { tenant, isInPlatform } = v.viewer;
  const id = idIn(search);
  const sought = id ? { ids: [id] } : { search };
  const own = await v.api.call("findOwnTenants", { query: { pageSize: SHOWN, ...sought } });
  const whole = switcherTexts[v.locale].whole;
  const all: ScopeChoice[] = isInPlatform && folded(whole).includes(folded(search))
    ? [{ tenantId: null, name: whole, isCurrent: tenant === null, isMember: true }]
    : [];
  const others = managesAllTenants(v) && managesAllUsers(v)
    ? await v.api.call("lookUpAllTenants", { query: { pageSize: SHOWN + 1, ...sought } })
    : { items: [], totalCount: 0 };
  const among = others.items.map((one) => one.id);
  const ownAmong = among.length > 0 ? await ownTenants(v.api, { ids: among }) : [];
  const isOwn = new Set([...own.items, ...ownAmong].map((one) => one.id));
  const shown = own.items.map((one) => ({
    tenantId: one.id,
    name: one.name,
    isCurrent: one.id === tenant?.id,
    isMember: true,
  }));
  const foreign = others.items.filter((one) => one.isActive && !isOwn.has(one.id)).slice(0, SHOWN)
    .map((one) => ({ tenantId: one.id, name: one.name, isCurrent: false, isMember: false }));
  const total = Math.max(others.totalCount, own.totalCount);
  return {
    choices: [...all, ...shown, ...foreign],
    more: Math.max(0, total - shown.length - foreign.length),
  };
}

/** Tenants that the viewer may switch to, at most 50, the default one first: all, by a part of their name, or by ids. */
export const ownTenants = async (
  api: Api,
  query: { search?: string; ids?: string[]; pageSize?: number },
): Promise<Row<"findOwnTenants">[]> => (await api.call("findOwnTenants", { query })).items;

/** The tenant with this id, if the viewer may switch to it. */
export async function ownTenant(api: Api, id: string): Promise<Row<"findOwnTenants"> | null> {
  const [tenant] = await ownTenants(api, { ids: [id] });
  return tenant ?? null;
}
