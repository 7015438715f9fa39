import { BYTE_ORDER_MARK, csvText, LINE_END } from "../../../domain/shared/csv_text.ts";
import { commonTexts } from "../shared/common_texts.ts";
import type { ListRows, ShownColumn, Visit } from "../shared/page.ts";
import { plainText } from "./plain_text.ts";

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
    ...shown.filter(({ head }) => head !== actions).map((column) => ({
      head: column.head,
      value: (row: Row) => cellText(column, row),
    })),
    ...[...names].sort().map(raw),
  ];
}

/** Members such as `tenantId` and `createdBy` that hold ids. */
const isId = (name: string, value: unknown): boolean =>
  name !== "id" && (name.endsWith("Id") || name.endsWith("By")) && (typeof value === "string");

/** A cell as text. */
const cellText = (column: ShownColumn, row: unknown): string =>
  column.csv ? column.csv(row) : plainText(String(<div>{column.cell(row)}</div>));

const lineOf = (values: string[]): string => values.map(csvText).join(",") + LINE_END;
