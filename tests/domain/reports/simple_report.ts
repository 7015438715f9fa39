import type { ReportFormat } from "../../../domain/documents/formats.ts";
import type {
  Column,
  ReportQuery,
  ReportTemplate,
} from "../../../domain/reports/definition/report_template.ts";
import type { ReportKit } from "../../../domain/reports/threads/registry.ts";
import type { Sql } from "../../../infra/postgres/postgres.ts";

interface SimpleReport {
  name?: string;
  formats?: ReportFormat[];
  parameters?: Parameters<ReportKit["z"]["object"]>[0];
  /** Absent: the integer N. */
  columns?: Record<string, Column>;
  // deno-lint-ignore no-explicit-any -- the parameters' types are lost in the registry
  query: (sql: Sql, parameters: any) => ReportQuery;
}

/** A report that every signed-in caller may run. */
export const simpleReport = (
  { defineReport, integer, z }: ReportKit,
  id: string,
  { parameters = {}, columns = { n: integer("N") }, query, ...rest }: SimpleReport,
): ReportTemplate =>
  defineReport({
    id,
    name: id,
    description: "",
    version: 1,
    permissions: [],
    parameters: z.object(parameters),
    columns,
    query: (sql, { parameters }) => query(sql, parameters),
    ...rest,
  });
