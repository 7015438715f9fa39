/** What Postgres cannot store in a text: NUL and half a surrogate pair, as JSON.stringify spells them. */
const UNSTORABLE = /\\u(?:0000|d[89a-f])/;

/**
 * Rows as one JSON parameter for json_to_recordset. Texts that Postgres would refuse lose what it cannot hold, as a
 * provider's answer or a filled in template may contain anything.
 */
export function jsonRows(rows: unknown[]): string {
  const json = JSON.stringify(rows);
  return UNSTORABLE.test(json) ? JSON.stringify(rows, storable) : json;
}

const storable = (_key: string, value: unknown): unknown =>
  typeof value === "string" ? value.toWellFormed().replaceAll("\0", "") : value;
