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
  /** How many rows `next` has moved to, and where the following one begins. */
  #row = 0;
  #at = 0;

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

  /** Is there a row after the current one? */
  get hasNext(): boolean {
    return this.#row < this.count;
  }

  /** Moves to the next row; false after the last one. */
  next(): boolean {
    if (this.#row === this.count) return false;
    this.#row++;
    this.#at = this.#locate(this.#at);
    return true;
  }

  /** Where the bytes of a cell of the current row begin; -1 for null. */
  start(column: number): number {
    return this.#starts[this.#pick[column] ?? 0] ?? NULL;
  }

  /** Where the bytes of a cell of the current row end. */
  end(column: number): number {
    return this.#ends[this.#pick[column] ?? 0] ?? 0;
  }

  /** A cell of the current row as text. */
  text(column: number): string | null {
    const start = this.start(column);
    return start === NULL ? null : this.#buffer.toString("utf8", start, this.end(column));
  }

  /** Moves over the rows that follow, and decodes each to text when it is requested. */
  *rows(): Generator<Row> {
    while (this.next()) yield this.#pick.map((_, column) => this.text(column));
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

  /** Goes back before the first row. */
  rewind(): void {
    this.#row = 0;
    this.#at = 0;
  }
}

const FAULT = "REPORT_TEMPLATE_FAULT";

/** A mistake in the template itself. Its message is shown in the execution. */
export class TemplateFault extends Error {
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
