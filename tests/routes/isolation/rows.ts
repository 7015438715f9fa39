import type { Kind, World } from "./world.ts";

/** Parts of a request besides its route. */
export interface Ask {
  params?: Record<string, string>;
  query?: Record<string, string>;
  body?: unknown;
}

/**
 * How an outsider calls a route, and the expected outcome.
 * - `open`: needs no sign-in; the reason why it reveals nothing of a tenant.
 * - `refused`: the outsider may not use the route at all.
 * - `names`: the request names an object of the victim through `id`, and answers `code`. The same request with
 *   names that do not exist must get the same answer, unless the row says `absent`.
 * - `own`: the route acts on the caller's own data; it must succeed (or answer `code`) and show nothing else.
 */
export type Row =
  | { open: string }
  | { refused: "MISSING_PERMISSION"; ask: (id: (kind: Kind) => string) => Ask }
  | { names: (id: (kind: Kind) => string, world: World) => Ask; code: string; absent?: string }
  | { own: (world: World) => Ask; code?: string; throwaway?: true };

/** By operation id. */
export type Rows = Record<string, Row>;
