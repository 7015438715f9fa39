import type postgres from "postgres";
import type { z } from "zod";
import type { Sql } from "../../../infra/postgres/postgres.ts";
import { PALETTE_SIZE } from "../../documents/charts/palette.ts";
import type { Chart } from "../../documents/charts/tally.ts";
import type { Column, ColumnType } from "../../documents/columns.ts";
import type { ChartKind } from "../../documents/document.ts";
import type { Total } from "../../documents/exact_total.ts";

/** The tenants that a query may read. */
export interface ReportScope {
  /** Tenants whose rows may be shown; null: all tenants, and rows without a tenant. */
  tenantIds: string[] | null;
}

/** Parameters as a query gets them: parameters that were not given are null. */
export type QueryParameters<P> = {
  [K in keyof P]-?: undefined extends P[K] ? Exclude<P[K], undefined> | null : P[K];
};

export interface QueryInput<P> extends ReportScope {
  parameters: QueryParameters<P>;
  /** The rows of one archive as a JSON array, if the template reads archives. */
  archived?: string;
}

/** A query with any row type: columns are matched by name when it runs. */
export type ReportQuery = postgres.PendingQuery<postgres.Row[]>;

/** A text of a document, or a function that makes it from the parameters. */
export type ReportText<P> = string | ((parameters: QueryParameters<P>) => string);

/** The columns and the query of a table or chart. */
interface QueryDefinition<P, C extends string> {
  /** Columns in print order, by the query's column names (snake_case in SQL, camelCase here). */
  columns: Record<C, Column>;
  /** Returns the rows in their final order. Must restrict them to `tenantIds`. */
  query(q: Sql, input: QueryInput<P>): ReportQuery;
}

/** A table: one query. */
export interface TableDefinition<P, C extends string> extends QueryDefinition<P, C> {
  /**
   * Columns whose values are headings above their rows, outermost first. The query must sort by them first: a group
   * ends where a value changes.
   */
  groupBy?: readonly NoInfer<C>[];
  /** Rows below the table, and below each group. Sums are exact. */
  totals?: { [K in NoInfer<C>]?: Total | Total[] };
  chart?: Chart<NoInfer<C>>;
}

/** A table among several parts, with a heading of its own. */
export interface TablePartDefinition<P, C extends string> extends TableDefinition<P, C> {
  title?: ReportText<P>;
}

/** A chart with a query of its own: one label and the values of its series in each row, in the order drawn. */
export interface ChartPartDefinition<P, C extends string> extends QueryDefinition<P, C> {
  kind: ChartKind;
  title: ReportText<P>;
  /** The column of the labels: below the bars or the line, beside the slices. */
  label: NoInfer<C>;
  /** The columns of the values: up to 8 series, named by the column's title. A pie has one. */
  values: readonly NoInfer<C>[];
}

// deno-lint-ignore no-explicit-any -- the parts of one list have different columns; the makers have checked them
type AnyColumns = any;
/** A part of a report as the registry holds it, without its generic types. */
export type ReportPart =
  | { kind: "table"; table: TablePartDefinition<AnyColumns, string> }
  | { kind: "chart"; chart: ChartPartDefinition<AnyColumns, string> };

/** The functions with which a report declares its parts. They give `parameters` the types that the report declares. */
export interface PartMakers<P> {
  table<C extends string>(table: TablePartDefinition<P, C>): ReportPart;
  chart<C extends string>(chart: ChartPartDefinition<P, C>): ReportPart;
}

export const PART_MAKERS: PartMakers<z.output<z.ZodObject>> = {
  table: (table) => ({ kind: "table", table }),
  chart: (chart) => ({ kind: "chart", chart }),
};

const NUMBERS: ColumnType[] = ["integer", "decimal"];
const ORDERED: ColumnType[] = [...NUMBERS, "instant", "date"];
/** The column types that each total can be made of. */
const TOTAL_TYPES: Record<Total, ColumnType[]> = {
  sum: NUMBERS,
  average: NUMBERS,
  min: ORDERED,
  max: ORDERED,
  count: [...ORDERED, "text", "boolean"],
};
const TABLE_MEMBERS = ["title", "columns", "query", "groupBy", "totals", "chart"];
const CHART_MEMBERS = ["kind", "title", "columns", "query", "label", "values"];
const TALLY_MEMBERS = ["kind", "title", "by", "sum"];
const KINDS: ChartKind[] = ["bar", "line", "pie"];

/**
 * Checks a part of a report.
 * @param name the report and the part, such as `report "users", part 2`
 * @throws Error that names the member, what was found and what is expected
 */
export function checkPart(name: string, part: ReportPart): void {
  if (part?.kind === "table") checkTable(name, part.table);
  else if (part?.kind === "chart") checkChartPart(name, part.chart);
  else throw new Error(`${name}: found ${typeof part}; expected the result of table({ … }) or chart({ … })`);
}

function checkTable(name: string, table: TablePartDefinition<AnyColumns, string>): void {
  checkMembers(name, table, TABLE_MEMBERS);
  checkQuery(name, table);
  const { columns, groupBy = [], totals = {}, chart } = table;
  for (const column of groupBy) requireColumn(`${name}: its groupBy`, columns, column);
  if (new Set(groupBy).size < groupBy.length) {
    throw new Error(`${name}: its groupBy is ${groupBy.join(", ")}; expected each column once`);
  }
  if (groupBy.length === Object.keys(columns).length) {
    throw new Error(
      `${name}: its groupBy names all columns; expected at least one column besides the groups`,
    );
  }
  for (const [column, given] of Object.entries(totals)) {
    const { type } = requireColumn(`${name}: its totals`, columns, column);
    if (groupBy.includes(column)) {
      throw new Error(`${name}: its totals name the group column ${column}; expected another column`);
    }
    for (const total of [given ?? []].flat()) {
      const types = oneOf(`${name}: the total of ${column}`, total, Object.keys(TOTAL_TYPES) as Total[]);
      if (TOTAL_TYPES[types].includes(type)) continue;
      throw new Error(
        `${name}: its totals ask for the ${total} of ${column}, a column of type ${type}; expected ${
          TOTAL_TYPES[types].join(" or ")
        }`,
      );
    }
  }
  if (chart) checkTallyChart(`${name}: its chart`, columns, chart);
}

function checkTallyChart(name: string, columns: Record<string, Column>, chart: Chart): void {
  checkMembers(name, chart, TALLY_MEMBERS);
  if (chart.kind !== undefined) oneOf(`${name}: its kind`, chart.kind, KINDS);
  requireColumn(name, columns, chart.by);
  if (chart.sum !== undefined) requireNumber(name, columns, chart.sum);
}

function checkChartPart(name: string, chart: ChartPartDefinition<AnyColumns, string>): void {
  checkMembers(name, chart, CHART_MEMBERS);
  checkQuery(name, chart);
  const { kind, columns, label, values } = chart;
  oneOf(`${name}: its kind`, kind, KINDS);
  requireColumn(`${name}: its label`, columns, label);
  const most = kind === "pie" ? 1 : PALETTE_SIZE;
  if (!Array.isArray(values) || values.length === 0 || values.length > most) {
    const found = Array.isArray(values) ? `${values.length} columns` : typeof values;
    const expected = most === 1 ? "one column" : `1 to ${most} columns`;
    throw new Error(`${name}: its values are ${found}; expected a list of ${expected}`);
  }
  for (const value of values) requireNumber(`${name}: its values`, columns, value);
}

function checkQuery(name: string, { columns, query }: QueryDefinition<AnyColumns, string>): void {
  if (Object.keys(columns ?? {}).length === 0) throw new Error(`${name} has no columns`);
  if (typeof query !== "function") {
    throw new Error(`${name}: its query is ${typeof query}; expected a function that takes sql`);
  }
}

/** @throws Error if `given` has a member that is not one of `known` */
export function checkMembers(name: string, given: object, known: readonly string[]): void {
  for (const member of Object.keys(given)) {
    if (known.includes(member)) continue;
    throw new Error(`${name}: unknown member "${member}"; expected one of ${known.join(", ")}`);
  }
}

function requireColumn(name: string, columns: Record<string, Column>, column: string): Column {
  const found = Object.hasOwn(columns, column) ? columns[column] : undefined;
  if (found) return found;
  throw new Error(
    `${name} names the unknown column ${column}; expected one of ${Object.keys(columns).join(", ")}`,
  );
}

function requireNumber(name: string, columns: Record<string, Column>, column: string): void {
  const { type } = requireColumn(name, columns, column);
  if (NUMBERS.includes(type)) return;
  throw new Error(`${name} name ${column}, a column of type ${type}; expected ${NUMBERS.join(" or ")}`);
}

function oneOf<T extends string>(name: string, given: T, expected: T[]): T {
  if (expected.includes(given)) return given;
  throw new Error(`${name} is "${given}"; expected one of ${expected.join(", ")}`);
}
