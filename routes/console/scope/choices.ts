import type { Visit } from "../shared/page.ts";
import { managesAllTenants, managesAllUsers } from "../access/access_queries.ts";
import { idIn } from "../search/query.ts";
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

/** Whether the viewer may see the whole service: it needs a link to the platform tenant. */
const maySeeAll = ({ viewer }: Visit): boolean => viewer.tenants.some(({ type }) => type === "Platform");

/** Whether there is a scope to switch to. */
export const maySwitch = (v: Visit): boolean => v.viewer.tenants.length + (maySeeAll(v) ? 1 : 0) > 1;

/** The name of the current scope. */
export const currentScope = (v: Visit): string => {
  const t = switcherTexts[v.locale];
  return v.viewer.tenant?.name ?? (maySeeAll(v) ? t.whole : t.noTenant);
};

const folded = (text: string): string => text.normalize("NFD").replaceAll(/\p{M}/gu, "").toLowerCase();

/** The scopes that match a search text, the viewer's own first, and how many more match. */
export async function findScopes(
  v: Visit,
  search: string,
): Promise<{ choices: ScopeChoice[]; more: number }> {
  const { tenant, tenants } = v.viewer;
  const id = idIn(search);
  const own = tenants.filter((one) => id ? one.id === id : folded(one.name).includes(folded(search)));
  const whole = switcherTexts[v.locale].whole;
  const all: ScopeChoice[] = maySeeAll(v) && folded(whole).includes(folded(search))
    ? [{ tenantId: null, name: whole, isCurrent: tenant === null, isMember: true }]
    : [];
  const others = managesAllTenants(v) && managesAllUsers(v)
    ? await v.api.call("lookUpAllTenants", {
      query: { pageSize: SHOWN + 1, ...id ? { ids: [id] } : { search } },
    })
    : { items: [], totalCount: 0 };
  const isOwn = new Set(tenants.map((one) => one.id));
  const shown = own.slice(0, SHOWN).map((one) => ({
    tenantId: one.id,
    name: one.name,
    isCurrent: one.id === tenant?.id,
    isMember: true,
  }));
  const foreign = others.items.filter((one) => one.isActive && !isOwn.has(one.id)).slice(0, SHOWN)
    .map((one) => ({ tenantId: one.id, name: one.name, isCurrent: false, isMember: false }));
  const total = Math.max(others.totalCount, own.length);
  return {
    choices: [...all, ...shown, ...foreign],
    more: Math.max(0, total - shown.length - foreign.length),
  };
}
