import type { Tx } from "../../infra/postgres/postgres.ts";
import type { Column, Table } from "../tables/declaration.ts";

/** Rows that are in memory at a time. */
const BATCH = 1_000;

/** True for a table that is written: it has data of its own that lasts. */
export const isLeft = ({ kind }: Table): boolean => kind === null;

/** True for a column that is written. */
export const isWritten = ({ mark, isGenerated }: Column): boolean => mark !== "secret" && !isGenerated;

/** Writes the rows of a table as lines of JSON, and returns their number. */
export async function writeTable(tx: Tx, { name, columns }: Table, path: string): Promise<number> {
  const list = columns.filter(isWritten).map((column) => `${valueOf(column)} as "${column.name}"`).join(", ");
  const file = await Deno.open(path, { createNew: true, write: true, mode: 0o600 });
  const writer = file.writable.getWriter();
  let count = 0;
  const rows = tx.unsafe<{ line: string }[]>(
    `select row_to_json(r)::text as line from (select ${list} from "${name}") r`,
  );
  for await (const batch of rows.cursor(BATCH)) {
    await writer.write(new TextEncoder().encode(batch.map(({ line }) => line + "\n").join("")));
    count += batch.length;
  }
  await writer.close();
  return count;
}

function valueOf({ name, type, secretIf }: Column): string {
  const value = type === "bytea" ? `translate(encode("${name}", 'base64'), E'\\n', '')` : `"${name}"`;
  return secretIf ? `case when ${secretIf} then null else ${value} end` : value;
}
