import type { ReportTemplate } from "../../../domain/reports/report_template.ts";
import { type RowBatch, RowSource } from "../../../domain/reports/rows.ts";
import type { ReportScope } from "../../../domain/reports/template_parts.ts";

/** Reads the rows of a report with one table. */
export async function* readRows(
  databaseUrl: string,
  template: ReportTemplate,
  input: ReportScope & { parameters: Record<string, unknown> },
  signal: AbortSignal,
): AsyncGenerator<RowBatch> {
  const [part] = template.parts;
  if (part?.kind !== "table") throw new Error("expected a report with one table");
  const source = await RowSource.open(databaseUrl, template, input, signal);
  try {
    yield* source.rows(part.table);
  } finally {
    await source.close();
  }
}
