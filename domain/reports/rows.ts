import { Buffer } from "node:buffer";
import { beginReading, connectReportReader } from "../../infra/postgres/report_reader.ts";
import type { RowFrames } from "../../infra/postgres/row_interceptor.ts";
import type { ReportScope, ReportTemplate } from "./report_template.ts";

/**
 * One row: the cells in the order of the template's columns, each in Postgres's own text form (`t`/`f`, digits,
 * `2026-01-31 12:00:00.123456+00`), null where there is no value. Nothing is parsed that will only be printed again.
 */
export type Row = (string | null)[];

/** Of a DataRow before its cells: the kind, the length and the number of cells. */
const ROW_HEAD = 7;
const NULL = -1;

/** Some rows as Postgres sent them, to be read cell by cell or as text. Good until the next batch is asked for. */
export class RowBatch {
  readonly count: number;
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly #pick: number[];
  readonly #buffer: Buffer;
  readonly #starts: Int32Array;
  readonly #ends: Int32Array;

  /** @param pick where in a row the cell of each of the template's columns stands. */
  constructor({ bytes, count }: RowFrames, pick: number[]) {
    this.bytes = bytes;
    this.count = count;
    this.#pick = pick;
    this.#buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
    const most = Math.max(...pick, 0) + 1;
    this.#starts = new Int32Array(most);
    this.#ends = new Int32Array(most);
  }

  /**
   * Goes through all cells, row by row in the order of the columns; those without value have `start` -1.
   * @param cell hears of the bytes from `start` to before `end`.
   */
  walk(cell: (column: number, start: number, end: number) => void, rowEnds: () => void): void {
    const pick = this.#pick;
    for (let row = 0, at = 0; row < this.count; row++) {
      at = this.#locate(at);
      for (let c = 0; c < pick.length; c++) {
        const position = pick[c] ?? 0;
        cell(c, this.#starts[position] ?? NULL, this.#ends[position] ?? 0);
      }
      rowEnds();
    }
  }

  /** The rows as text. */
  rows(): Row[] {
    const rows: Row[] = [];
    let row: Row = [];
    this.walk(
      (_, start, end) => row.push(start === NULL ? null : this.#buffer.toString("utf8", start, end)),
      () => {
        rows.push(row);
        row = [];
      },
    );
    return rows;
  }

  /** Finds the cells of the row that begins at `at`; returns where the next one begins. */
  #locate(at: number): number {
    const bytes = this.#buffer;
    const cells = Math.min(bytes.readUInt16BE(at + ROW_HEAD - 2), this.#starts.length);
    const next = at + 1 + bytes.readUInt32BE(at + 1);
    let from = at + ROW_HEAD;
    for (let i = 0; i < cells; i++) {
      const length = bytes.readInt32BE(from);
      from += 4;
      this.#starts[i] = length === NULL ? NULL : from;
      if (length !== NULL) from += length;
      this.#ends[i] = from;
    }
    return next;
  }
}

const FAULT = "REPORT_TEMPLATE_FAULT";

/** A mistake of the template itself, told to whoever reads the execution. */
class TemplateFault extends Error {
  override name = "TemplateFault";
  /** By which it is known when it comes from another thread. */
  readonly code = FAULT;
}

/** Is the failure a mistake of the template itself? */
export const isTemplateFault = (error: unknown): error is Error =>
  error instanceof Error && "code" in error && error.code === FAULT;

/**
 * The rows of a template, batch by batch, over a connection of their own: the pool is for requests, and a long report
 * must not hold one of its connections. All batches see the same snapshot. An abort cancels the query at the server.
 * @throws the signal's reason once it is aborted; what `isTemplateFault` knows when the query was not made with the `sql`
 * it was given, or lacks a column.
 */
export async function* readRows(
  databaseUrl: string,
  template: ReportTemplate,
  input: ReportScope & { parameters: Record<string, unknown> },
  signal: AbortSignal,
): AsyncGenerator<RowBatch> {
  signal.throwIfAborted();
  const reader = connectReportReader(databaseUrl);
  try {
    await beginReading(reader.sql);
    const query = template.query(reader.sql, { ...input, parameters: withNulls(template, input.parameters) });
    if (!reader.isOwn(query)) {
      throw new TemplateFault(
        `the query of report "${template.id}" was not made with the "sql" it was given; a report reads the service's own database`,
      );
    }
    let pick: number[] | null = null;
    for await (const frames of reader.rows(query, signal)) {
      pick ??= positionsOf(template, reader.columns());
      yield new RowBatch(frames, pick);
    }
  } finally {
    await reader.close();
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
    throw new TemplateFault(
      `the query of report "${template.id}" gives no ${column}; it gives ${names.join(", ")}`,
    );
  });
}
