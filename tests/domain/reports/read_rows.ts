import type { RowBatch } from "../../../domain/documents/row_batch.ts";
import type { ReportTemplate } from "../../../domain/reports/definition/report_template.ts";
import type { ReportScope } from "../../../domain/reports/definition/template_parts.ts";
import { RowSource } from "../../../domain/reports/threads/rows.ts";
import { atEnd } from "../../support/at_end.ts";

export async function* readRows(
  databaseUrl: string,
  template: ReportTemplate,
  input: ReportScope & { parameters: Record<string, unknown> },
  signal: AbortSignal,
): AsyncGenerator<RowBatch> {
  const [part] = template.parts;
  if (part?.kind !== "table") throw new Error("expected a report with one table");
  const source = await RowSource.open(databaseUrl, template, input, signal);
  await using _ = atEnd(() => source.close());
  yield* source.rows(part.table);
}
