import { connectReportReader, type ReportReader } from "../../infra/postgres/report_reader.ts";
import type { ReportScope, ReportTemplate } from "./report_template.ts";

/**
 * One row: the cells in the order of the template's columns, each in Postgres's own text form (`t`/`f`, digits,
 * `2026-01-31 12:00:00.123456+00`), null where there is no value. Nothing is parsed that will only be printed again.
 */
export type Row = (string | null)[];

/** Rows fetched at once: small enough that formatting them leaves the event loop free for others in between. */
const BATCH = 1_000;

/**
 * The rows of a template, batch by batch, over a connection of their own: the pool is for requests, and a long report
 * must not hold one of its connections. All batches see the same snapshot. An abort cancels the query at the server.
 * @throws the signal's reason once it is aborted; Error when the query lacks a column.
 */
export async function* readRows(
  databaseUrl: string,
  template: ReportTemplate,
  input: ReportScope & { parameters: Record<string, unknown> },
  signal: AbortSignal,
): AsyncGenerator<Row[]> {
  signal.throwIfAborted();
  const reader = connectReportReader(databaseUrl);
  const query = template.query(reader, { ...input, parameters: withNulls(template, input.parameters) })
    .values();
  const cancel = () => query.cancel();
  signal.addEventListener("abort", cancel, { once: true });
  try {
    await reader`begin isolation level repeatable read read only`;
    let pick: number[] | null = null;
    for await (const fetched of query.cursor(BATCH)) {
      signal.throwIfAborted();
      const batch = fetched as unknown as Row[] & { columns: { name: string }[] }; // the types leave columns out
      pick ??= positionsOf(template, batch.columns.map((column) => column.name));
      yield inColumnOrder(batch, pick);
      signal.throwIfAborted();
    }
  } catch (error) {
    signal.throwIfAborted();
    throw error;
  } finally {
    signal.removeEventListener("abort", cancel);
    await closeReader(reader);
  }
}

function withNulls(template: ReportTemplate, given: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(
    Object.keys(template.parameters.shape).map((name) => [name, given[name] ?? null]),
  );
}

function positionsOf(template: ReportTemplate, names: string[]): number[] {
  return Object.keys(template.columns).map((column) => {
    const position = names.indexOf(column);
    if (position >= 0) return position;
    throw new Error(`the query of report "${template.id}" gives no ${column}; it gives ${names.join(", ")}`);
  });
}

function inColumnOrder(rows: Row[], pick: number[]): Row[] {
  if (pick.every((position, index) => position === index)) return rows;
  return rows.map((row) => pick.map((position) => row[position] ?? null));
}

/** The transaction only read, so dropping the connection ends it as well as a commit would. */
const closeReader = (reader: ReportReader): Promise<void> => reader.end({ timeout: 0 });
