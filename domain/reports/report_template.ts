import type postgres from "postgres";
import { z } from "zod";
import type { ReportFormat } from "./formats.ts";
import type { Sql } from "../../infra/postgres/postgres.ts";

/** The type of a column's values: `instant` is a point in time (UTC), `date` a calendar day. */
export type ColumnType = "text" | "integer" | "decimal" | "boolean" | "instant" | "date";

export interface Column {
  title: string;
  type: ColumnType;
  /** Width in characters, for PDF, HTML and sheets; absent: a default per type. */
  width?: number;
}

/** A bar chart with one bar per value of `by`: its row count, or the sum of `sum`. Drawn in PDF and HTML. */
export interface Chart<C extends string = string> {
  title: string;
  by: C;
  sum?: C;
}

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
}

/** A query with any row type: columns are matched by name when it runs. */
export type ReportQuery = postgres.PendingQuery<postgres.Row[]>;

/** Everything about a report, declared in one file. */
export interface ReportDefinition<P extends z.ZodObject = z.ZodObject, C extends string = string> {
  /** The id that callers use: lower case, digits and hyphens. */
  id: string;
  name: string;
  description: string;
  /** Increased when columns, parameters or meaning change. */
  version: number;
  /** The caller needs all of these permissions; empty: any signed-in caller. */
  permissions: string[];
  /** True: the report always shows all tenants; `permissions` should then contain admin:system. */
  isGlobal?: boolean;
  /** Name of a database that an extension declares; absent: the service's own. */
  database?: string;
  /** Supported formats; absent: all. */
  formats?: ReportFormat[];
  /**
   * A zod object of JSON values. `.meta({ title, description })`, `.default()` and enums appear in the template list.
   */
  parameters: P;
  /** Columns in print order, by the query's column names (snake_case in SQL, camelCase here). */
  columns: Record<C, Column>;
  /** Returns the rows in their final order. Must restrict them to `tenantIds`. */
  query(sql: Sql, input: QueryInput<z.output<P>>): ReportQuery;
  chart?: Chart<NoInfer<C>>;
}

/** A definition in the registry, without its generic types; `defineReport` has checked them. */
export type ReportTemplate = ReportDefinition;

const MEMBERS: ReadonlySet<string> = new Set<keyof ReportDefinition>([
  "id",
  "name",
  "description",
  "version",
  "permissions",
  "isGlobal",
  "database",
  "formats",
  "parameters",
  "columns",
  "query",
  "chart",
]);

const CHILD_TENANTS = {
  includeChildTenants: z.boolean().default(false).meta({
    title: "Include child tenants",
    description: "Also rows of the group's child tenants; needs read:group-data in a group tenant",
  }),
};

/** The additional permission needed for rows of child tenants. */
export const GROUP_DATA = "read:group-data";

/**
 * Declares a report. Templates that are not global get the extra parameter `includeChildTenants`.
 * @throws Error for an invalid definition: a malformed id, an unknown member, no columns, a chart of an unknown column,
 * or parameters that JSON Schema cannot express
 */
export function defineReport<P extends z.ZodObject, C extends string>(
  definition: ReportDefinition<P, C>,
): ReportTemplate {
  const { id, columns, chart, isGlobal } = definition;
  if (!/^[a-z][a-z0-9-]{0,63}$/.test(id)) {
    throw new Error(`report "${id}": expected an id of lower-case letters, digits and hyphens`);
  }
  for (const member of Object.keys(definition)) {
    if (MEMBERS.has(member)) continue;
    throw new Error(`report "${id}": unknown member "${member}"; expected one of ${[...MEMBERS].join(", ")}`);
  }
  if (Object.keys(columns).length === 0) throw new Error(`report "${id}" has no columns`);
  for (const column of chart ? [chart.by, ...chart.sum ? [chart.sum] : []] : []) {
    if (!Object.hasOwn(columns, column)) {
      throw new Error(`report "${id}": its chart names the unknown column ${column}`);
    }
  }
  const parameters = isGlobal ? definition.parameters : definition.parameters.extend(CHILD_TENANTS);
  z.toJSONSchema(parameters, { io: "input" });
  return { ...definition, parameters } as unknown as ReportTemplate;
}

const columnOf = (type: ColumnType) => (title: string, width?: number): Column => ({
  title,
  type,
  ...(width ? { width } : {}),
});
export const text = columnOf("text");
export const integer = columnOf("integer");
export const decimal = columnOf("decimal");
export const boolean = columnOf("boolean");
export const instant = columnOf("instant");
export const date = columnOf("date");

const DAY_EXPECTED = "expected a date such as 2026-01-31";

/**
 * An optional parameter that is a calendar day, such as `2026-01-31`. ISO 8601 allows the year 0000, Postgres does not.
 */
export const dayParameter = (title: string, description: string) =>
  z.iso.date({ error: DAY_EXPECTED }).refine((day) => !day.startsWith("0000"), { error: DAY_EXPECTED })
    .optional()
    .meta({ title, description });
