import type { Queryable } from "../../infra/postgres/postgres.ts";

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
