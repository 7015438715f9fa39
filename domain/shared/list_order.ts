import type { Queryable } from "../../infra/postgres/postgres.ts";
import { offsetOf, type PageRequest } from "./paging.ts";

export type SortDirection = "Ascending" | "Descending";

/**
 * The `order by` of a list: by the SQL expression, ties broken by id, so that pages neither repeat nor skip rows.
 * @param expression written in code, never taken from a request.
 */
export function orderBy(q: Queryable, expression: string, id: string, direction: SortDirection) {
  const way = direction === "Descending" ? "desc" : "asc";
  return q.unsafe(`order by ${expression} ${way}, ${id} ${way}`);
}

/** The condition that folded `column` contains the searched text; true where nothing is searched. */
export function matches(q: Queryable, column: string, search: string | undefined) {
  const text = search?.trim();
  return text ? q`${q.unsafe(column)} like search_pattern(${text})` : q`true`;
}

/** How many rows most callers ask for. */
const USUAL: readonly number[] = [10, 20, 25, 50, 100];

/**
 * The `limit` and `offset` of a list. A plan for any value of them reckons with a tenth of the table, so Postgres would
 * plan anew at every call. The first rows, in the usual numbers, are therefore written out: one plan serves all calls.
 */
export function limitTo(q: Queryable, { offset, limit }: { offset: number; limit: number }) {
  if (offset === 0 && USUAL.includes(limit)) return q.unsafe(`limit ${limit}`);
  return q`limit ${limit} offset ${offset}`;
}

/** The same of a page. */
export const pageOf = (q: Queryable, page: PageRequest) =>
  limitTo(q, { offset: offsetOf(page), limit: page.pageSize });
