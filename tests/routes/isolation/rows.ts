import type { Kind, World } from "./world.ts";

/** What a request carries besides its route. */
export interface Ask {
  params?: Record<string, string>;
  query?: Record<string, string>;
  body?: unknown;
}

/**
 * How an outsider tries a route, and what must come of it.
 * - `open`: nobody needs to sign in; the reason why nothing of a tenant's can be had there.
 * - `refused`: the outsider may not use the route at all.
 * - `names`: the request names something of the victim's through `id`, and answers `code`. The same request with
 *   names that nothing has must be the same answer, unless the row says `absent`.
 * - `own`: the route acts on what is the caller's own; it must succeed (or answer `code`) and show nothing else.
 */
export type Row =
  | { open: string }
  | { refused: "MISSING_PERMISSION"; ask: (id: (kind: Kind) => string) => Ask }
  | { names: (id: (kind: Kind) => string, world: World) => Ask; code: string; absent?: string }
  | { own: (world: World) => Ask; code?: string; throwaway?: true };

/** By operation id. */
export type Rows = Record<string, Row>;
