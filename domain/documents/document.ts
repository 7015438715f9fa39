import type { Looks } from "../looks/looks.ts";
import type { Column } from "./columns.ts";
import type { Total } from "./exact_total.ts";
import type { Row, RowBatch } from "./row_batch.ts";
import type { Wording, Words } from "./wording.ts";

/**
 * Writes a document, in byte chunks. It keeps at most about one batch of rows in memory. A chunk is valid until the next
 * one is requested.
 */
export type ReportWriter = (document: ReportDocument) => AsyncGenerator<Uint8Array<ArrayBuffer>>;

export type PageLayout = "portrait" | "landscape";
export type ChartKind = "bar" | "line" | "pie";

/** The input of a writer: the texts of a document, and its parts in print order. */
export interface ReportDocument {
  title: string;
  subtitle: string;
  /** The name of the report, for the foot of pages. */
  name: string;
  layout: PageLayout;
  /** Logo, colours and footer of the tenant. */
  looks: Looks;
  /** Name-value pairs above the parts: tenant, time of generation, requester and parameters. */
  facts: [string, string][];
  wording: Wording;
  requestedBy: string | null;
  generatedAt: Date;
  /**
   * The charts and tables. Read each completely before the next one, because all share one database connection. A CSV
   * gets only tables.
   */
  parts: DocumentPart[];
}

export type DocumentPart = DocumentTable | DocumentChart;

export interface DocumentTable {
  kind: "table";
  /** Its own heading; null: it has none. */
  title: string | null;
  /** All columns. A row has a cell for each. */
  columns: Column[];
  /** Positions of the group columns, outermost first; empty: no groups. */
  groups: number[];
  /** Positions of the columns that PDF and HTML print, which show groups as headings and leave out details. */
  shown: number[];
  /** The totals below the table, in print order; empty: none. */
  totals: Total[];
  wording: Wording;
  /** The rows as Postgres sends them. Read either these or `lines`, and only once. */
  batches(): AsyncIterable<RowBatch>;
  /** The headings and totals that `lines` puts between the rows, for a writer that reads `batches`. */
  sections(): TableSections;
  /**
   * The rows with headings of groups and totals between them, batch by batch. Read each batch to its end before the next.
   * Read either these or `batches`, once.
   */
  lines(): AsyncIterable<Iterable<TableLine>>;
}

/** Makes the headings of groups and the totals between rows. */
export interface TableSections {
  /** Positions of the columns whose cells it needs; empty if the table has neither groups nor totals. */
  readonly needed: readonly number[];
  /** Counts a row. @returns the lines before it: the totals of groups that ended, and headings of those that begin */
  next(cells: Row): BetweenLine[];
  /** The lines after the last row. */
  end(): BetweenLine[];
}

export type BetweenLine = GroupLine | TotalLine;

/** One line of a table, in print order. */
export type TableLine = RowLine | BetweenLine;

export interface RowLine {
  kind: "row";
  cells: Row;
}

/** The heading of a group that begins. */
export interface GroupLine {
  kind: "group";
  /** 1 is the outermost group. */
  level: number;
  /** Position of its column. */
  column: number;
  value: string | null;
}

/** A total below a group or below the table. */
export interface TotalLine {
  kind: "total";
  /** 0 is the whole table, otherwise the level of the group that ends. */
  level: number;
  total: Total;
  /** The name of the total, such as "Total" or "Average: Lisbon". */
  label: string;
  /** A cell for each column, as in rows; null where the column has no such total. A count is written in digits. */
  cells: Row;
  /** The number of rows in the group or table. */
  rowCount: number;
}

export interface DocumentChart {
  kind: "chart";
  /** Runs its query, or takes the data that its table collected while it was read. */
  read(): Promise<ChartData>;
}

/** The data of a chart. A chart without labels is empty. */
export interface ChartData {
  /** The fixed words in the language of the document. */
  words: Words;
  kind: ChartKind;
  title: string;
  labels: string[];
  /** Each has a value for each label; null is a gap. A chart of a table has one series. */
  series: { name: string; values: (number | null)[] }[];
  /** Number of labels that were left out because the query returned more than a chart takes. */
  omitted: number;
}
