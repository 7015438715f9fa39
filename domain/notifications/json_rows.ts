import { storableText } from "../shared/cut_text.ts";
/** Characters that Postgres cannot store in a text (NUL and lone surrogates), as JSON.stringify escapes them. */
const UNSTORABLE = /\\u(?:0000|d[89a-f])/;

/**
 * Serializes rows to one JSON parameter for json_to_recordset. Characters that Postgres cannot store are removed or
 * replaced, because provider answers and rendered templates may contain them.
 */
export function jsonRows(rows: unknown[]): string {
  const json = JSON.stringify(rows);
  return UNSTORABLE.test(json) ? JSON.stringify(rows, storable) : json;
}

const storable = (_key: string, value: unknown): unknown =>
  typeof value === "string" ? storableText(value) : value;
