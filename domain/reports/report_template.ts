import type postgres from "postgres";
import { z } from "zod";
import type { ReportFormat } from "./formats.ts";
import type { Sql } from "../../infra/postgres/postgres.ts";

/** How a column's values are printed and typed: `instant` is a point in time (UTC), `date` a calendar day. */
export type ColumnType = "text" | "integer" | "decimal" | "boolean" | "instant" | "date";

export interface Column {
  title: string;
  type: ColumnType;
  /** Characters the column is wide on paper and in a sheet; absent: by type. */
  width?: number;
}

/** One bar per value of `by`, as long as it has rows (or as the sum of `sum` over them). Drawn in PDF and HTML. */
export interface Chart<C extends string = string> {
  title: string;
  by: C;
  sum?: C;
}

/** What a query may look at. */
export interface ReportScope {
  /** Tenants whose rows may be shown; null: every tenant, and rows that belong to none. */
  tenantIds: string[] | null;
}

/** Parameters as a query gets them: what was not given is null, as SQL has it. */
export type QueryParameters<P> = {
  [K in keyof P]-?: undefined extends P[K] ? Exclude<P[K], undefined> | null : P[K];
};

export interface QueryInput<P> extends ReportScope {
  parameters: QueryParameters<P>;
}

/** Any query, whatever its rows: columns are matched by name when it runs. */
export type ReportQuery = postgres.PendingQuery<postgres.Row[]>;

/** A report: one file says all of it. */
export interface ReportDefinition<P extends z.ZodObject = z.ZodObject, C extends string = string> {
  /** Lower case with hyphens; what callers name it by. */
  id: string;
  name: string;
  description: string;
  /** Raised whenever columns, parameters or meaning change. */
  version: number;
  /** Permissions its data needs, all of them; empty: any signed-in caller. */
  permissions: string[];
  /** True: rows of every tenant, whoever runs it; `permissions` should then name admin:system. */
  isGlobal?: boolean;
  /** ReportFormat values it makes sense in; absent: all. */
  formats?: ReportFormat[];
  /** JSON-shaped parameters; `.meta({ title, description })` documents them, `.default()` and enums are listed. */
  parameters: P;
  /** By the name the query gives them (snake_case there, camelCase here), in the order they are printed. */
  columns: Record<C, Column>;
  /** The rows, in their final order. Always holds itself to `tenantIds`. */
  query(sql: Sql, input: QueryInput<z.output<P>>): ReportQuery;
  chart?: Chart<NoInfer<C>>;
}

/** A definition as the registry keeps it, its parameter types checked where it was made. */
export type ReportTemplate = ReportDefinition;

const MEMBERS: ReadonlySet<string> = new Set<keyof ReportDefinition>([
  ...["id", "name", "description", "version", "permissions", "isGlobal", "formats"] as const,
  ...["parameters", "columns", "query", "chart"] as const,
]);

const CHILD_TENANTS = {
  includeChildTenants: z.boolean().default(false).meta({
    title: "Include child tenants",
    description: "Rows of the group's child tenants too; needs read:group-data in a group tenant",
  }),
};

/** The permission rows of child tenants need on top of the template's own. */
export const GROUP_DATA = "read:group-data";

/**
 * Declares a report. Templates that are not global get the parameter `includeChildTenants`.
 * @throws Error when the definition cannot work: a malformed id, an unknown member, no columns, parameters that JSON
 * cannot carry.
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
      throw new Error(`report "${id}": its chart names no column ${column}`);
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

/** A parameter that is a calendar day, such as `2026-01-31`; a year 0000, which ISO 8601 knows, Postgres does not. */
export const dayParameter = (title: string, description: string) =>
  z.iso.date({ error: DAY_EXPECTED }).refine((day) => !day.startsWith("0000"), { error: DAY_EXPECTED })
    .optional()
    .meta({ title, description });
