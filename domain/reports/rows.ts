import { Buffer } from "node:buffer";
import { beginReading, connectReportReader, type ReportReader } from "../../infra/postgres/report_reader.ts";
import type { RowFrames } from "../../infra/postgres/row_interceptor.ts";
import type { Column } from "./columns.ts";
import type { ReportTemplate } from "./report_template.ts";
import type { QueryInput, ReportScope, ReportText, TableDefinition } from "./template_parts.ts";

/**
 * One row: its cells in the order of the template's columns, in Postgres's text format (`t`/`f`, digits,
 * `2026-01-31 12:00:00.123456+00`); null for SQL null. Cells are not parsed, because most are only printed again.
 */
export type Row = (string | null)[];

/** Size of a DataRow message before its cells: type (1), length (4), number of cells (2). */
const ROW_HEAD = 7;
const NULL = -1;

/** A batch of rows as Postgres sent them, readable cell by cell or as text. Valid until the next batch is requested. */
export class RowBatch {
  readonly count: number;
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly #pick: number[];
  readonly #buffer: Buffer;
  readonly #starts: Int32Array;
  readonly #ends: Int32Array;

  /** @param pick for each column of the template, the position of its cell in a row */
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
   * Visits all cells, row by row, in column order.
   * @param cell gets the byte range of a cell, from `start` up to but not including `end`; `start` is -1 for null
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

  /** Decodes the rows to text. */
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

  /** Decodes the cells of some columns, row by row. */
  *cellsOf(columns: number[]): Generator<Row> {
    const picked = columns.map((column) => this.#pick[column] ?? 0);
    for (let row = 0, at = 0; row < this.count; row++) {
      at = this.#locate(at);
      yield picked.map((position) => {
        const start = this.#starts[position] ?? NULL;
        return start === NULL ? null : this.#buffer.toString("utf8", start, this.#ends[position]);
      });
    }
  }

  /** Finds the byte ranges of the cells of the row at offset `at`. @returns the offset of the next row */
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

/** A mistake in the template itself. Its message is shown in the execution. */
class TemplateFault extends Error {
  override name = "TemplateFault";
  /** Identifies the error after it was posted from another thread, where its class is lost. */
  readonly code = FAULT;
}

/** Is the error a mistake in the template itself? */
export const isTemplateFault = (error: unknown): error is Error =>
  error instanceof Error && "code" in error && error.code === FAULT;

/** The query of a table or chart. */
interface RowQuery {
  columns: Record<string, Column>;
  // deno-lint-ignore no-explicit-any -- the parameters' types are lost in the registry
  query: TableDefinition<any, string>["query"];
}

/**
 * Reads the rows of a report over its own connection, because a long report must not occupy a connection of the pool.
 * All its queries see one snapshot.
 */
export class RowSource {
  private constructor(
    private readonly template: ReportTemplate,
    private readonly input: QueryInput<Record<string, unknown>>,
    private readonly reader: ReportReader,
    private readonly signal: AbortSignal,
  ) {}

  /**
   * Connects. The caller must call `close`.
   * @param signal cancels the running query at the server when it is aborted
   * @throws the signal's reason, PostgresError
   */
  static async open(
    databaseUrl: string,
    template: ReportTemplate,
    { tenantIds, parameters }: ReportScope & { parameters: Record<string, unknown> },
    signal: AbortSignal,
  ): Promise<RowSource> {
    signal.throwIfAborted();
    const reader = connectReportReader(databaseUrl);
    const input = { tenantIds, parameters: withNulls(template, parameters) };
    try {
      await beginReading(reader.sql);
    } catch (error) {
      await reader.close();
      throw error;
    }
    return new RowSource(template, input, reader, signal);
  }

  /**
   * Runs one query and yields its rows in batches. Read them to the end before the next query.
   * @throws the signal's reason; a TemplateFault if the query was not made with the given `sql` or lacks a column;
   * PostgresError
   */
  async *rows({ columns, query }: RowQuery): AsyncGenerator<RowBatch> {
    const { template, input, reader, signal } = this;
    const made = query(reader.sql, input);
    if (!reader.isOwn(made)) {
      throw new TemplateFault(
        `the query of report "${template.id}" was not made with the given "sql"; to read another database, name it in "database"`,
      );
    }
    let pick: number[] | null = null;
    for await (const frames of reader.rows(made, signal)) {
      pick ??= positionsOf(template, columns, reader.columns());
      yield new RowBatch(frames, pick);
    }
  }

  /** A text of the template, made from the parameters. @throws TemplateFault if its function fails */
  // deno-lint-ignore no-explicit-any -- the parameters' types are lost in the registry
  text(given: ReportText<any>): string {
    if (typeof given === "string") return given;
    try {
      return String(given(this.input.parameters));
    } catch (error) {
      throw new TemplateFault(
        `a text of report "${this.template.id}" cannot be made: ${(error as Error).message}`,
      );
    }
  }

  async close(): Promise<void> {
    await this.reader.close();
  }
}

function withNulls(template: ReportTemplate, given: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(
    Object.keys(template.parameters.shape).map((name) => [name, given[name] ?? null]),
  );
}

function positionsOf({ id }: ReportTemplate, columns: Record<string, Column>, names: string[]): number[] {
  return Object.keys(columns).map((column) => {
    const position = names.indexOf(column);
    if (position >= 0) return position;
    throw new TemplateFault(
      `the query of report "${id}" returns no column ${column}; it returns ${names.join(", ")}`,
    );
  });
}
