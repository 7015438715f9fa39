import type { Sql, SqlPart } from "../../../infra/postgres/postgres.ts";
import type { PagedResult, PageRequest } from "../../shared/paging.ts";
import { allOf, matches, orderBy, readPage, type SortDirection } from "../../shared/lists.ts";

/** SQL expression of each sort key. */
const SORTS = { createdAt: "created_at", name: "lower(name)", lastUsedAt: "last_used_at" } as const;
export const KEY_SORTS = Object.keys(SORTS) as [keyof typeof SORTS, ...(keyof typeof SORTS)[]];

export interface KeyListRequest extends PageRequest {
  sortBy?: keyof typeof SORTS | undefined;
  sortDirection: SortDirection;
  search?: string | undefined;
  /** Include revoked rows. */
  includeDeleted: boolean;
  /** Days in which the key has neither been used nor created. */
  unusedForDays?: number | undefined;
  /** Only keys that are good and will not be after these days. */
  expiresWithinDays?: number | undefined;
}

/** The source of a list: `columns` of the rows of `table` that `scope` allows the caller to see. */
interface KeySource {
  /** With the columns `id`, `name`, `created_at`, `last_used_at`, `revoked_at` and `search_text`. */
  table: string;
  columns: SqlPart;
  scope: SqlPart;
}

/** Lists API keys, service accounts or OAuth clients; revoked ones only with `includeDeleted`. */
export async function listKeys<T extends object>(
  q: Sql,
  { table, columns, scope }: KeySource,
  request: KeyListRequest,
): Promise<PagedResult<T>> {
  const shown = request.includeDeleted ? q`true` : q`revoked_at is null`;
  const { unusedForDays, expiresWithinDays } = request;
  const where = allOf(q, [
    q`${scope} and ${matches(q, "search_text", request.search)} and ${shown}`,
    unusedForDays !== undefined &&
    q`coalesce(last_used_at, created_at) <= now() - make_interval(days => ${unusedForDays})`,
    expiresWithinDays !== undefined &&
    q`expires_at > now() and expires_at <= now() + make_interval(days => ${expiresWithinDays})`,
  ]);
  const order = orderBy(q, SORTS[request.sortBy ?? "createdAt"], "id", request.sortDirection);
  return await readPage(q, { columns, from: q`${q(table)} where ${where}`, order }, request);
}
