import { readPoints, Tally } from "../../documents/charts/tally.ts";
import type {
  ChartData,
  DocumentPart,
  DocumentTable,
  ReportDocument,
  ReportWriter,
} from "../../documents/document.ts";
import { FORMAT, type ReportFormat } from "../../documents/formats.ts";
import type { RowBatch } from "../../documents/row_batch.ts";
import { TableLines, type TableShape, totalsOf } from "../../documents/table_lines.ts";
import { type DocumentLanguage, Wording } from "../../documents/wording.ts";
import type { Looks } from "../../looks/looks.ts";
import type { ReportTemplate } from "../definition/report_template.ts";
import type { ReportPart, TablePartDefinition } from "../definition/template_parts.ts";
import type { ObjectStoreConfig } from "../../../infra/objectstore/address.ts";
import { RowSource } from "./rows.ts";

/** The input of a document. Plain values only, because it is sent to another thread. */
export interface ReportInput {
  templateId: string;
  format: ReportFormat;
  /** Validated parameters, with defaults. */
  parameters: Record<string, unknown>;
  /** Tenants whose rows may be shown; null: all tenants, and rows without a tenant. */
  tenantIds: string[] | null;
  /** Name of the tenant whose data it shows; null: all tenants. */
  tenantName: string | null;
  requestedBy: string | null;
  generatedAt: Date;
  looks: Looks;
  /** Absent: English, UTC. */
  language?: DocumentLanguage;
  /** A read replica of the service's own database, to be read instead of it; null: none now. */
  replicaUrl: string | null;
  /** The bucket of the archives, for templates that read them. */
  store?: ObjectStoreConfig;
}

/**
 * Generates a document as a stream of byte chunks; the generator's return value is the number of rows in its tables.
 * Aborting `signal` cancels the query at the server.
 * @throws the signal's reason, PostgresError, or an error of the template
 */
export async function* makeDocument(
  databaseUrl: string,
  template: ReportTemplate,
  input: ReportInput,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array<ArrayBuffer>, number> {
  const rows = { count: 0 };
  const source = await RowSource.open(databaseUrl, template, input, signal);
  try {
    const write = await writerOf(input.format);
    yield* write(documentOf(template, input, source, rows));
  } finally {
    await source.close();
  }
  return rows.count;
}

/** Each writer is loaded at its first use, because fonts and compression code are large. */
const WRITERS: Record<ReportFormat, () => Promise<ReportWriter>> = {
  [FORMAT.Pdf]: async () => (await import("../../documents/writers/pdf/mod.ts")).writePdf,
  [FORMAT.Excel]: async () => (await import("../../documents/writers/excel/mod.ts")).writeExcel,
  [FORMAT.Csv]: async () => (await import("../../documents/writers/csv.ts")).writeCsv,
  [FORMAT.Html]: async () => (await import("../../documents/writers/html.ts")).writeHtml,
};

export const writerOf = (format: ReportFormat): Promise<ReportWriter> => WRITERS[format]();

/** The source of the rows and texts of a document. */
export type DocumentSource = Pick<RowSource, "rows" | "text">;

/**
 * The document that a writer writes; its parts read their rows when they are written.
 * @param rows `count` grows while the tables are read
 */
export function documentOf(
  template: ReportTemplate,
  input: Omit<ReportInput, "templateId" | "tenantIds">,
  source: DocumentSource,
  rows: { count: number },
): ReportDocument {
  const { looks, requestedBy, generatedAt, format } = input;
  // Excel and CSV hold plain values that the reader's program formats, so their times are in UTC. The facts name the zone.
  const isPrinted = format === FORMAT.Pdf || format === FORMAT.Html;
  const { locale = null, timeZone = "UTC" } = input.language ?? {};
  // Programs read CSV, so its header stays the same in every language.
  const translations = format === FORMAT.Csv ? {} : template.translations;
  const wording = new Wording({ locale, timeZone: isPrinted ? timeZone : "UTC" }, translations);
  const { chartsFirst } = template;
  const isOfOneTenant = input.tenantName !== null && input.parameters.includeChildTenants !== true;
  const parts = template.parts.flatMap((part) =>
    partsOf(part, source, { chartsFirst, rows, wording, isOfOneTenant })
  );
  return {
    title: wording.text(source.text(template.title)),
    subtitle: wording.text(source.text(template.subtitle)),
    name: wording.text(template.name),
    layout: template.layout,
    looks,
    facts: documentFacts(template, input, wording),
    wording,
    requestedBy,
    generatedAt,
    parts: format === FORMAT.Csv ? parts.filter(({ kind }) => kind === "table") : parts,
  };
}

/** A chart or a table; a table with a chart is two parts. */
function partsOf(
  part: ReportPart,
  source: DocumentSource,
  o: { chartsFirst: boolean; isOfOneTenant: boolean; rows: { count: number }; wording: Wording },
): DocumentPart[] {
  const { chartsFirst, wording } = o;
  if (part.kind === "chart") {
    const { chart } = part;
    return [{
      kind: "chart",
      read: () => readPoints(chart, wording.text(source.text(chart.title)), source.rows(chart), wording),
    }];
  }
  const { table } = part;
  const { chart, columns } = table;
  if (!chart) return [tableOf(table, source, o, null)];
  const tally = chartsFirst ? null : new Tally(chart, columns, wording);
  const read = async (): Promise<ChartData> => {
    if (tally?.isComplete) return tally.data();
    const counted = new Tally(chart, columns, wording);
    for await (const batch of source.rows(table)) counted.add(batch);
    return counted.data();
  };
  const parts: DocumentPart[] = [tableOf(table, source, o, tally), { kind: "chart", read }];
  return chartsFirst ? parts.reverse() : parts;
}

/** @param tally counts the rows while they are read */
function tableOf(
  // deno-lint-ignore no-explicit-any -- the parameters' types are lost in the registry
  table: TablePartDefinition<any, string>,
  source: DocumentSource,
  { rows, wording, isOfOneTenant }: { rows: { count: number }; wording: Wording; isOfOneTenant: boolean },
  tally: Tally | null,
): DocumentTable {
  const shape = shapeOf(table, wording);
  async function* batches(): AsyncGenerator<RowBatch> {
    for await (const batch of source.rows(table)) {
      rows.count += batch.count;
      if (tally) {
        tally.add(batch);
        batch.rewind();
      }
      yield batch;
    }
    if (tally) tally.isComplete = true;
  }
  return {
    kind: "table",
    title: table.title === undefined ? null : wording.text(source.text(table.title)),
    columns: shape.columns,
    groups: shape.groups,
    shown: [...shape.columns.keys()].filter((position) => {
      const detail = shape.columns[position]?.detail;
      return !shape.groups.includes(position) && detail !== "always" && !(isOfOneTenant && detail);
    }),
    totals: totalsOf(shape),
    wording,
    batches,
    sections: () => new TableLines(shape),
    async *lines() {
      const lines = new TableLines(shape);
      for await (const batch of batches()) yield lines.add(batch.rows());
      yield lines.end();
    },
  };
}

function shapeOf(
  // deno-lint-ignore no-explicit-any -- the parameters' types are lost in the registry
  { columns, groupBy = [], totals = {} }: TablePartDefinition<any, string>,
  wording: Wording,
): TableShape & { wording: Wording } {
  const names = Object.keys(columns);
  return {
    columns: Object.values(columns).map((column) => ({ ...column, title: wording.text(column.title) })),
    groups: groupBy.map((column) => names.indexOf(column)),
    totals: new Map(
      Object.entries(totals).map(([column, wanted]) => [names.indexOf(column), [wanted ?? []].flat()]),
    ),
    wording,
  };
}

/** The name-value pairs above the parts of a document: tenant, time of generation, requester and parameters. */
function documentFacts(
  template: ReportTemplate,
  { parameters, tenantName, requestedBy, generatedAt }: Pick<
    ReportInput,
    "parameters" | "tenantName" | "requestedBy" | "generatedAt"
  >,
  wording: Wording,
): [string, string][] {
  const { words, timeZone } = wording;
  const given = Object.entries(template.parameters.shape)
    .filter(([name]) => parameters[name] !== undefined && parameters[name] !== null)
    .map(([name, shape]): [string, string] => [
      wording.text(shape.meta()?.title ?? name),
      typeof parameters[name] === "boolean"
        ? (parameters[name] ? words.yes : words.no)
        : String(parameters[name]),
    ]);
  return [
    [words.tenant, tenantName ?? words.allTenants],
    [words.generated, `${wording.instant(generatedAt)} ${timeZone}`],
    ...(hasTimes(template) ? [[words.times, timeZone] as [string, string]] : []),
    ...(requestedBy ? [[words.requestedBy, requestedBy] as [string, string]] : []),
    ...given,
  ];
}

const hasTimes = ({ parts }: ReportTemplate): boolean =>
  parts.some((part) =>
    part.kind === "table" && Object.values(part.table.columns).some(({ type }) => type === "instant")
  );
