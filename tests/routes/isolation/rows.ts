import type * as isolation from "../../support/isolation.ts";
import type { Kind } from "./world.ts";

export type Ask = isolation.Ask;
export type Row = isolation.Row<Kind>;
export type Rows = isolation.Rows<Kind>;
export type Id = (kind: Kind) => string;

/** The request names an object of this kind in its path, and is answered `code`. */
export const named = (kind: Kind, code: string, more: Ask = {}): Row => ({
  names: (id) => ({ ...more, params: { id: id(kind), ...more.params } }),
  code,
});

/** Gives several operations one row; `ids` are separated by white space. */
export const all = (ids: string, row: Row): Rows =>
  Object.fromEntries(ids.trim().split(/\s+/).map((id) => [id, row]));

/** The request acts on the caller's own data, and succeeds. */
export const own = (ask: Ask = {}): Row => ({ own: () => ask });

/** Only holders of a permission of the platform may send the request. */
export const ofPlatform = (ask: (id: Id) => Ask = () => ({})): Row => ({
  refused: "MISSING_PERMISSION",
  ask,
});

/** The request names a tenant, which only system administrators may do; others get what is their own. */
export const ofTenant = (more: Ask = {}): Row => ({
  own: ({ ids }) => ({ ...more, query: { tenantId: ids.tenant, ...more.query } }),
});
