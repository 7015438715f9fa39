import { z } from "zod";
import type { PageLayout } from "../../documents/document.ts";
import type { ReportFormat } from "../../documents/formats.ts";
import type { Translations } from "../../documents/wording.ts";
import {
  checkMembers,
  checkPart,
  PART_MAKERS,
  type PartMakers,
  type ReportPart,
  type ReportText,
  type TableDefinition,
} from "./template_parts.ts";

export {
  boolean,
  type Column,
  type ColumnType,
  date,
  decimal,
  detail,
  instant,
  integer,
  tenantName,
  text,
} from "../../documents/columns.ts";
export type { QueryInput, QueryParameters, ReportQuery, ReportScope } from "./template_parts.ts";
export type { Chart } from "../../documents/charts/tally.ts";

/** The declaration of a report without its rows. */
interface ReportHead<P extends z.ZodObject> {
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
  /**
   * True: the query runs once for each archive of the parameters `kind`, `from` and `to`, and gets its rows in `archived`.
   */
  readsArchive?: boolean;
  /** Supported formats; absent: all. */
  formats?: ReportFormat[];
  /**
   * A zod object of JSON values. `.meta({ title, description })`, `.default()` and enums appear in the template list.
   */
  parameters: P;
  /** The heading of the document; absent: `name`. */
  title?: ReportText<z.output<P>>;
  /** The line below the heading; absent: `description`. */
  subtitle?: ReportText<z.output<P>>;
  /** Texts of the printed and Excel documents by language (`pt`) and text; the others stay as they are declared. */
  translations?: Translations;
  /** Page orientation of PDF, print and sheets; absent: landscape. */
  layout?: PageLayout;
  /** True: the chart of a table stands before it. Its query then runs twice, in one snapshot. */
  chartsFirst?: boolean;
}

/** Several tables and charts, in print order. */
interface SeveralParts<P extends z.ZodObject> {
  parts(make: PartMakers<z.output<P>>): ReportPart[];
}

type Without<T> = { [K in keyof T]?: never };

/** Everything about a report, declared in one file: one table, or several parts. */
export type ReportDefinition<P extends z.ZodObject = z.ZodObject, C extends string = string> =
  & ReportHead<P>
  & (
    | TableDefinition<z.output<P>, C> & Without<SeveralParts<P>>
    | SeveralParts<P> & Without<TableDefinition<z.output<P>, C>>
  );

/** A report in the registry; `defineReport` has checked it. */
export interface ReportTemplate extends Omit<ReportHead<z.ZodObject>, "title" | "subtitle"> {
  // deno-lint-ignore no-explicit-any -- the parameters' types are lost in the registry
  title: ReportText<any>;
  // deno-lint-ignore no-explicit-any -- as above
  subtitle: ReportText<any>;
  layout: PageLayout;
  chartsFirst: boolean;
  translations: Translations;
  parts: ReportPart[];
}

const HEAD_MEMBERS = [
  "id",
  "name",
  "description",
  "version",
  "translations",
  "permissions",
  "isGlobal",
  "database",
  "readsArchive",
  "formats",
  "parameters",
  "title",
  "subtitle",
  "layout",
  "chartsFirst",
];
const TABLE_MEMBERS = ["columns", "query", "groupBy", "totals", "chart"];
const LAYOUTS: PageLayout[] = ["portrait", "landscape"];

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
 * @throws Error for an invalid definition: a malformed id, an unknown member, no columns, a chart, group or total of an
 * unknown column, or parameters that JSON Schema cannot express
 */
export function defineReport<P extends z.ZodObject, C extends string>(
  definition: ReportDefinition<P, C>,
): ReportTemplate {
  const given = definition as unknown as ReportDefinition;
  const { id, name, description, version, permissions, isGlobal, database, readsArchive, formats } = given;
  const { layout = "landscape" } = given;
  const report = `report "${id}"`;
  if (!/^[a-z][a-z0-9-]{0,63}$/.test(id)) {
    throw new Error(`${report}: expected an id of lower-case letters, digits and hyphens`);
  }
  checkMembers(report, given, [...HEAD_MEMBERS, ...given.parts ? ["parts"] : [...TABLE_MEMBERS, "parts"]]);
  if (!LAYOUTS.includes(layout)) {
    throw new Error(`${report}: its layout is "${layout}"; expected one of ${LAYOUTS.join(", ")}`);
  }
  const parts = partsOf(report, given);
  const parameters = isGlobal ? given.parameters : given.parameters.extend(CHILD_TENANTS);
  z.toJSONSchema(parameters, { io: "input" });
  return {
    id,
    name,
    description,
    version,
    permissions,
    parameters,
    title: given.title ?? name,
    subtitle: given.subtitle ?? description,
    layout,
    chartsFirst: given.chartsFirst ?? false,
    translations: given.translations ?? {},
    parts,
    ...(isGlobal === undefined ? {} : { isGlobal }),
    ...(database === undefined ? {} : { database }),
    ...(readsArchive === undefined ? {} : { readsArchive }),
    ...(formats ? { formats } : {}),
  };
}

function partsOf(report: string, given: ReportDefinition): ReportPart[] {
  if (!given.parts) {
    const { columns, query, groupBy, totals, chart } = given;
    const table = PART_MAKERS.table({
      columns,
      query,
      ...(groupBy ? { groupBy } : {}),
      ...(totals ? { totals } : {}),
      ...(chart ? { chart } : {}),
    });
    checkPart(report, table);
    return [table];
  }
  const parts = given.parts(PART_MAKERS);
  if (!Array.isArray(parts) || !parts.some((part) => part?.kind === "table")) {
    throw new Error(`${report}: its parts have no table; expected a list with at least one table({ … })`);
  }
  for (const [i, part] of parts.entries()) checkPart(`${report}, part ${i + 1}`, part);
  return parts;
}

const DAY_EXPECTED = "expected a date such as 2026-01-31";

/**
 * An optional parameter that is a calendar day, such as `2026-01-31`. ISO 8601 allows the year 0000, Postgres does not.
 */
export const dayParameter = (title: string, description: string) =>
  filter(
    z.iso.date({ error: DAY_EXPECTED }).refine((day) => !day.startsWith("0000"), { error: DAY_EXPECTED }),
    title,
    description,
  );

/** An optional parameter that narrows the rows, with its label and explanation. */
export const filter = <S extends z.ZodType>(shape: S, title: string, description: string) =>
  shape.optional().meta({ title, description });
