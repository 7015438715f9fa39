import type { Child } from "hono/jsx";
import { BYTE_ORDER_MARK, csvText, LINE_END } from "../../../domain/shared/csv_text.ts";
import { commonTexts } from "../shared/common_texts.ts";
import type { ConsolePage, ListRows, ShownColumn, Visit } from "../shared/page.ts";

type Row = Record<string, unknown>;

/** A list as CSV (RFC 4180): the id, the columns that the page shows, and the ids of related things. */
export async function* csvOf(
  v: Visit,
  parts: AsyncIterable<ListRows>,
  onRows: (rows: number) => Promise<void> = async () => {},
): AsyncGenerator<string> {
  let columns: CsvColumn[] | null = null;
  let rows = 0;
  for await (const { page, columns: shown } of parts) {
    const items = page.items as Row[];
    if (!columns) {
      columns = columnsOf(v, shown, items);
      yield BYTE_ORDER_MARK + lineOf(columns.map(({ head }) => head));
    }
    const known = columns;
    rows += items.length;
    await onRows(rows);
    yield items.map((row) => lineOf(known.map(({ value }) => value(row)))).join("");
  }
}

interface CsvColumn {
  head: string;
  value(row: Row): string;
}

function columnsOf(v: Visit, shown: ShownColumn[], rows: Row[]): CsvColumn[] {
  const actions = commonTexts[v.locale].actions;
  const names = new Set(rows.flatMap((row) => Object.keys(row).filter((name) => isId(name, row[name]))));
  const hasId = rows.some(({ id }) => typeof id === "string");
  const raw = (name: string): CsvColumn => ({ head: name, value: (row) => String(row[name] ?? "") });
  return [
    ...hasId ? [raw("id")] : [],
    ...shown.filter(({ head }) => head !== actions).flatMap(({ head, cell, csv, below = [] }) => [
      { head, value: csv ?? ((row: Row) => textOf(cell(row))) },
      ...below.map(([head, cell]) => ({ head, value: (row: Row) => textOf(cell(row)) })),
    ]),
    ...[...names].sort().map(raw),
  ];
}

/** Members such as `tenantId` and `createdBy` that hold ids. */
const isId = (name: string, value: unknown): boolean =>
  name !== "id" && (name.endsWith("Id") || name.endsWith("By")) && (typeof value === "string");

const textOf = (cell: Child): string => plainText(String(<div>{cell}</div>));

const lineOf = (values: string[]): string => values.map(csvText).join(",") + LINE_END;

const ENTITIES: Record<string, string> = { lt: "<", gt: ">", amp: "&", quot: '"', "#39": "'" };
/** Elements that are no text. */
const CONTROLS = /<(button|form|select|svg|textarea)\b[^>]*>[^]*?<\/\1>|<input\b[^>]*>/g;
/** An instant in words: its machine-readable form counts. */
const TIMES = /<time\b[^>]*\bdatetime="([^"]*)"[^>]*>[^]*?<\/time>/g;
/** A shortened code whose title is the whole. */
const CODES = /<code\b[^>]*\btitle="([^"]*)"[^>]*>[^]*?<\/code>/g;
/** Begins or ends a line. */
const BLOCKS = /<\/?(?:p|div|li|ul|ol|br)\b[^>]*>|<span class="[^"]*\b(?:sub|badge)\b[^"]*"[^>]*>/g;

/**
 * The text of rendered HTML on one line: instants in ISO 8601, codes in full, and no buttons. Hono escapes every text and
 * attribute, so a tag ends at the next ">".
 */
export function plainText(html: string): string {
  const text = html
    .replaceAll(CONTROLS, " ")
    .replaceAll(TIMES, " $1 ")
    .replaceAll(CODES, " $1 ")
    .replaceAll(BLOCKS, "\n")
    .replaceAll(/<[^>]*>/g, " ")
    .replaceAll(/&(lt|gt|amp|quot|#39);/g, (_, name: string) => ENTITIES[name] ?? "")
    .split("\n").map((line) => line.replaceAll(/\s+/g, " ").trim()).filter(Boolean).join(" · ");
  return text === "–" ? "" : text;
}

/**
 * Reads the pages of a list, each with its rows and columns. A row that moves to a later page while it is read comes
 * once.
 */
export async function* readList(page: ConsolePage, v: Visit): AsyncGenerator<ListRows> {
  const seen = new Set<string>();
  for (let number = 1;; number++) {
    const part = await readPart(page, v, number);
    if (!part) return;
    const rows = part.page.items.filter((row) => {
      const id = idOf(row);
      if (id === null) return true;
      return seen.has(id) ? false : seen.add(id);
    });
    yield { ...part, page: { ...part.page, items: rows } };
    if (!part.page.hasNext) return;
  }
}

/** One page of the list that a page of the console shows; null if it shows none. */
async function readPart(page: ConsolePage, v: Visit, number: number): Promise<ListRows | null> {
  const query = new URLSearchParams(v.query);
  query.delete("as");
  query.set("page", String(number));
  query.set("pageSize", "largest");
  let found: ListRows | null = null;
  await page.get?.({ ...v, query, collect: (part) => void (found ??= part) });
  return found;
}

/** The id of a row; null if it has none. */
export function idOf(row: unknown): string | null {
  const { id } = row as { id?: unknown };
  return typeof id === "string" ? id : null;
}
