import type { Sql } from "../../infra/postgres/postgres.ts";
import type { ErasedPersons } from "./personal_data.ts";

type Erased = Pick<ErasedPersons, "addresses" | "beforeId">;

/** Texts of a table that may contain addresses. */
export interface ErasableTexts {
  table: string;
  /** Primary key, with its types; the first column is a UUID. Default: `id`. */
  key?: Record<string, "uuid" | "integer">;
  /** Columns with their types. */
  columns: Record<string, "text" | "text[]" | "json" | "jsonb">;
}

/** The replacement of an address. It has the form of an address that never exists (RFC 6761). */
const ERASED_ADDRESS = "erased@erased.invalid";

const ROWS_AT_ONCE = 5_000;
/** Minimum length of a searched address. Shorter ones would match by accident. */
const MIN_LENGTH = 6;

/**
 * Replaces addresses in the texts of tables, except in rows whose UUIDv7 is `beforeId` or later. Reads a table in the order of
 * its key, so that each statement is bounded whatever the size of the table; only rows that match are written.
 */
export async function eraseAddresses(sql: Sql, erased: Erased, tables: ErasableTexts[]): Promise<void> {
  for (const texts of tables) await eraseInTable(sql, erased, texts);
}

async function eraseInTable(
  sql: Sql,
  { addresses, beforeId }: Erased,
  { table, key = { id: "uuid" }, columns: columnTypes }: ErasableTexts,
): Promise<void> {
  const needles = addresses.filter((address) => address.length >= MIN_LENGTH);
  if (needles.length === 0) return;
  const patterns = needles.map((needle) => `%${needle.toLowerCase().replaceAll(/[\\%_]/g, "\\$&")}%`);
  const escaped = needles.map((needle) => needle.replaceAll(/[^A-Za-z0-9@]/g, "\\$&"));
  // A dot may end a sentence. If a letter follows it, the domain continues: a@x.com is not a@x.com.br.
  // In JSON, the address may begin after an escape: "\na@x.com" is the address in a new line.
  const begins = "(?:(?<![A-Za-z0-9._%+&-])|(?<=\\\\[bfnrt])|(?<=\\\\u[0-9a-fA-F]{4}))";
  const wholeAddress = `${begins}(?:${escaped.join("|")})(?!\\.?[A-Za-z0-9-])`;
  const keys = Object.keys(key);
  const columns = Object.keys(columnTypes);
  const matching = columns.map((name) => `lower(t."${name}"::text) like any($1::text[])`).join(" or ");
  const changes = Object.entries(columnTypes).map(([name, type]) =>
    `"${name}" = regexp_replace("${name}"::text, $1, $2, 'gi')::${type}`
  );
  const shownKeys = keys.map((name, i) => `t."${name}"::text as key${i}`).join(", ");
  const orderedKeys = keys.map((name) => `t."${name}"`).join(", ");
  const given = Object.values(key);
  const parameters = (from: number) => given.map((type, i) => `$${from + i}::text::${type}`).join(", ");

  const quotedKeys = keys.map((name) => `"${name}"`).join(", ");
  const keyOf = (row: Record<string, unknown>) => keys.map((_, i) => String(row[`key${i}`]));

  for (let after: string[] | null = null;;) {
    const start: string = after ? `and (${orderedKeys}) > (${parameters(3)})` : "";
    const rows: Record<string, unknown>[] = await sql.unsafe(
      `select ${shownKeys}, (${matching}) is true as "matches" from ${table} t
       where (t."${keys[0]}" < $2 or substr(t."${keys[0]}"::text, 15, 1) <> '7') ${start}
       order by ${orderedKeys} limit ${ROWS_AT_ONCE}`,
      [patterns, beforeId, ...after ?? []],
    );
    for (const row of rows.filter(({ matches }) => matches)) {
      await sql.unsafe(
        `update ${table} set ${changes.join(", ")} where (${quotedKeys}) = (${parameters(3)})`,
        [wholeAddress, ERASED_ADDRESS, ...keyOf(row)],
      );
    }
    const last = rows.at(-1);
    if (!last || rows.length < ROWS_AT_ONCE) return;
    after = keyOf(last);
  }
}
