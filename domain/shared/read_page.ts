import type { Sql, SqlPart } from "../../infra/postgres/postgres.ts";
import { countCached } from "./count_cache.ts";
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
    countList(q, from),
    q<T[]>`select ${columns} from ${from} ${order} ${pageOf(q, page)}`,
  ]);
  return pagedResult<T>([...items], total, page);
}

/** Counts the rows of a list. A total of 10,000 or more may be up to a second out of date. @param from as for `countRows` */
export const countList = (q: Sql, from: SqlPart): Promise<number> =>
  countCached(q, keyOf(from), () => countRows(q, from));

/** Members of a part of a statement that the driver's types do not declare. */
interface PartContents {
  strings: readonly string[];
  args: readonly unknown[];
}

/** A part of a statement as text, with its values. */
const keyOf = (part: SqlPart): string =>
  JSON.stringify(part, (_, value) => {
    if (!(value instanceof Promise)) return value;
    const { strings, args } = value as unknown as PartContents;
    return [strings, args];
  });

/** Counts rows. @param from tables and condition, without the word `from` */
export async function countRows(q: Sql, from: SqlPart): Promise<number> {
  const [row] = await q<{ total: number }[]>`select count(*) as total from ${from}`;
  return row?.total ?? 0;
}
