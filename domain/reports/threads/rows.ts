import {
  beginReading,
  connectReportReader,
  type ReportReader,
} from "../../../infra/postgres/report_reader.ts";
import type { ObjectStoreConfig } from "../../../infra/objectstore/address.ts";
import { connectObjectStore } from "../../../infra/objectstore/objectstore.ts";
import type { Column } from "../../documents/columns.ts";
import { RowBatch } from "../../documents/row_batch.ts";
import { readArchive } from "../../shared/archive.ts";
import { TemplateFault } from "../../documents/template_fault.ts";
import type { ReportTemplate } from "../definition/report_template.ts";
import type { QueryInput, ReportScope, ReportText, TableDefinition } from "../definition/template_parts.ts";

/** The query of a table or chart. */
interface RowQuery {
  columns: Record<string, Column>;
  // deno-lint-ignore no-explicit-any -- the parameters' types are lost in the registry
  query: TableDefinition<any, string>["query"];
}

/** The keys and hashes of the archives that may have rows of a report's tenants, kind and days. */
const ARCHIVES: RowQuery = {
  columns: { objectKey: { title: "", type: "text" }, sha256: { title: "", type: "text" } },
  query: (sql, { tenantIds, parameters: { kind, from, to } }) =>
    sql`
    select object_key, sha256 from archives
    where kind = ${kind} and (${from}::date is null or to_at >= ${from}::date)
      and (${tenantIds}::uuid[] is null or tenant_ids is null or tenant_ids && ${tenantIds}::uuid[])
      and (${to}::date is null or from_at < ${to}::date + 1)
    order by from_at, id`,
};

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
    private readonly store?: ObjectStoreConfig,
  ) {}

  /**
   * Connects. The caller must call `close`.
   * @param signal cancels the running query at the server when it is aborted
   * @throws the signal's reason, PostgresError
   */
  static async open(
    databaseUrl: string,
    template: ReportTemplate,
    { tenantIds, parameters, store }: ReportScope & {
      parameters: Record<string, unknown>;
      store?: ObjectStoreConfig;
    },
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
    return new RowSource(template, input, reader, signal, store);
  }

  /** Yields the rows of a part as `run`; those of archives archive by archive. @throws as `run`, ObjectStoreError */
  async *rows(query: RowQuery): AsyncGenerator<RowBatch> {
    if (!this.template.readsArchive || !this.store) return yield* this.run(query, this.input);
    const archives: [key: string, sha256: string][] = [];
    for await (const batch of this.run(ARCHIVES, this.input)) {
      for (const [key, sha256] of batch.rows()) archives.push([key ?? "", sha256 ?? ""]);
    }
    const objects = connectObjectStore(this.store);
    const { parquetReadObjects } = await import("hyparquet");
    for (const [key, sha256] of archives) {
      const file = await readArchive(await objects.read(key, { signal: this.signal }), sha256);
      const archived = JSON.stringify(await parquetReadObjects({ file }));
      yield* this.run(query, { ...this.input, archived });
    }
  }

  /**
   * Runs one query and yields its rows in batches. Read them to the end before the next query.
   * @throws the signal's reason; a TemplateFault if the query was not made with the given `sql` or lacks a column;
   * PostgresError
   */
  private async *run(
    { columns, query }: RowQuery,
    input: QueryInput<Record<string, unknown>>,
  ): AsyncGenerator<RowBatch> {
    const { template, reader, signal } = this;
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
