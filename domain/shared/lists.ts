import { type Sql, type SqlPart, transact } from "../../infra/postgres/postgres.ts";
import { countCached, countsCached } from "./count_cache.ts";
import { firstIdOf } from "./ids.ts";
import { offsetOf, type PagedResult, pagedResult, type PageRequest } from "./paging.ts";

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

/**
 * Counts as `countList` does, with a plan for these values. For conditions on the rows of a tenant that no index answers: a
 * plan for any tenant and text looks up each row of a large tenant.
 */
export const countListByValues = (q: Sql, from: SqlPart): Promise<number> =>
  countCached(q, keyOf(from), () =>
    transact(q, async (tx) => {
      await tx`set local plan_cache_mode = force_custom_plan`;
      return await countRows(tx, from);
    }));

/** Reads several counts of the rows of a list. Those of 10,000 rows or more may be up to a second out of date, as a total. */
export const summarizeList = <C extends object>(
  q: Sql,
  { counts, from, totalOf }: { counts: SqlPart; from: SqlPart; totalOf: (counts: C) => number },
): Promise<C> => {
  const count = async () => {
    const [row] = await q<C[]>`select ${counts} from ${from}`;
    if (!row) throw new Error("an aggregate query returned no row");
    return row;
  };
  return countsCached(q, keyOf(q`${counts} ${from}`), count, totalOf);
};

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

export type SortDirection = "Ascending" | "Descending";

/** The requested page of a list, and the one of its sort keys that orders it. */
export interface SortedPageRequest<Sort extends string> extends PageRequest {
  sortBy?: Sort | undefined;
  sortDirection: SortDirection;
}

/**
 * SQL `order by` of a list: by the expression, then by the key, so that pages neither repeat nor skip rows.
 * @param expression raw SQL; must be a constant of the code, never a value of a request.
 * @param key a column, or several
 */
export function orderBy(q: Sql, expression: string, key: string | string[], direction: SortDirection) {
  const order = direction === "Descending" ? "desc" : "asc";
  return q.unsafe(`order by ${[expression, key].flat().map((each) => `${each} ${order}`).join(", ")}`);
}

/** SQL condition: the folded `column` contains the search text; true without a search text. */
export function matches(q: Sql, column: string, search: string | undefined) {
  const text = search?.trim();
  return text ? q`${q.unsafe(column)} like search_pattern(${text})` : q`true`;
}

/** SQL condition: all of these; those that are false do not filter. At least one must be given. */
export const allOf = (q: Sql, conditions: (SqlPart | false)[]): SqlPart =>
  conditions.filter((condition) => condition !== false).reduce((left, right) => q`${left} and ${right}`);

/**
 * SQL: names of states as a literal instead of a parameter, so that partial indexes apply.
 * @throws Error for characters that no name of a state has
 */
export function stateLiteral(q: Sql, names: string): SqlPart {
  if (!/^[\w{},]+$/.test(names)) throw new Error(`expected names of states, found ${JSON.stringify(names)}`);
  return q.unsafe(`'${names}'`);
}

/** Maximum difference between the time in an id and `created_at`, because the clocks of instances differ. */
const ID_MARGIN_MS = 3_600_000;

/** SQL condition: the id is about as old as the rows of a period, so that an index by id is read near them only. */
export const idWithin = (q: Sql, from: Date | null, to: Date | null): SqlPart =>
  allOf(q, [
    q`true`,
    from !== null && q`id >= ${firstIdOf(new Date(from.getTime() - ID_MARGIN_MS))}`,
    to !== null && q`id < ${firstIdOf(new Date(to.getTime() + ID_MARGIN_MS))}`,
  ]);

/** Common page sizes. */
const COMMON_SIZES: readonly number[] = [10, 20, 25, 50, 100];

/**
 * SQL `limit` and `offset` of a list. With parameters, a generic plan assumes a tenth of the table, so Postgres would
 * plan each call again. So first pages of common sizes have a literal `limit`, and all calls share one generic plan.
 */
export function limitTo(q: Sql, { offset, limit }: { offset: number; limit: number }) {
  if (offset === 0 && COMMON_SIZES.includes(limit)) return q.unsafe(`limit ${limit}`);
  return q`limit ${limit} offset ${offset}`;
}

/** SQL `limit` and `offset` of a page. */
export const pageOf = (q: Sql, page: PageRequest) =>
  limitTo(q, { offset: offsetOf(page), limit: page.pageSize });

/** SQL condition: a row belongs to the tenant or to all tenants; for null, only to all. */
export const belongsToOrToAll = (q: Sql, tenantId: string | null) =>
  tenantId === null ? q`tenant_id is null` : q`(tenant_id is null or tenant_id = ${tenantId}::uuid)`;

/** Stands for all tenants, and what belongs to none. */
export const EVERY_TENANT = "every tenant";

/** SQL condition: a row belongs to the tenant or, for null, to none. An index on the column can serve both. */
export const belongsTo = (q: Sql, tenantId: string | null, column = "tenant_id") =>
  tenantId === EVERY_TENANT
    ? q`true`
    : tenantId === null
    ? q`${q(column)} is null`
    : q`${q(column)} = ${tenantId}`;
