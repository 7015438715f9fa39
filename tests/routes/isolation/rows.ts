import type * as isolation from "../../support/isolation.ts";
import type { Kind } from "./world.ts";

export type Ask = isolation.Ask;
export type Row = isolation.Row<Kind>;
export type Rows = isolation.Rows<Kind>;

/** The request names an object of this kind in its path, and is answered `code`. */
export const named = (kind: Kind, code: string, more: Ask = {}): Row => ({
  names: (id) => ({ ...more, params: { id: id(kind), ...more.params } }),
  code,
});
