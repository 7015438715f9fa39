import type { Sql, SqlPart } from "../../infra/postgres/postgres.ts";
import { pageOf } from "./list_order.ts";
import { type PagedResult, pagedResult, type PageRequest } from "./paging.ts";

/** The SQL fragments of a list. */
interface List {
  columns: SqlPart;
  /** Tables and condition, without the word `from`. */
  from: SqlPart;
  /** Starts with `order by`. */
  order: SqlPart;
}

/** Reads a page of a list, and the number of all its rows. */
export async function readPage<T extends object>(
  q: Sql,
  { columns, from, order }: List,
  page: PageRequest,
): Promise<PagedResult<T>> {
  const [total, items] = await Promise.all([
    countRows(q, from),
    q<T[]>`select ${columns} from ${from} ${order} ${pageOf(q, page)}`,
  ]);
  return pagedResult<T>([...items], total, page);
}

/** Counts the rows of a list. @param from tables and condition, without the word `from` */
export async function countRows(q: Sql, from: SqlPart): Promise<number> {
  const [row] = await q<{ total: number }[]>`select count(*) as total from ${from}`;
  return row?.total ?? 0;
}
