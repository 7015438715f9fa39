import type { Sql, SqlPart } from "../../infra/postgres/postgres.ts";
import { pageOf } from "./list_order.ts";
import { type PagedResult, pagedResult, type PageRequest } from "./paging.ts";

/** The parts of the SQL of a list. */
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
  const [[counted], items] = await Promise.all([
    q<{ total: number }[]>`select count(*) as total from ${from}`,
    q<T[]>`select ${columns} from ${from} ${order} ${pageOf(q, page)}`,
  ]);
  return pagedResult<T>([...items], counted?.total ?? 0, page);
}
