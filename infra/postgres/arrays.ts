// Serializes and parses one-dimensional arrays for the driver. The driver can fetch array types on every new connection,
// but the first query of a connection may be sent before the types have arrived.

import { readTime } from "./timestamps.ts";

interface ArrayType {
  /** Object id of the element type. */
  element: number;
  /** Object id of the array type. */
  array: number;
  parse: (text: string) => unknown;
}

const same = (text: string) => text;
const BOOLEAN = (text: string) => text === "t";

/** These object ids are built into Postgres and never change. */
const ARRAY_TYPES: Record<string, ArrayType> = {
  booleans: { element: 16, array: 1000, parse: BOOLEAN },
  smallints: { element: 21, array: 1005, parse: Number },
  integers: { element: 23, array: 1007, parse: Number },
  bigints: { element: 20, array: 1016, parse: Number },
  reals: { element: 700, array: 1021, parse: Number },
  doubles: { element: 701, array: 1022, parse: Number },
  texts: { element: 25, array: 1009, parse: same },
  names: { element: 19, array: 1003, parse: same },
  uuids: { element: 2950, array: 2951, parse: same },
  timestamps: { element: 1184, array: 1185, parse: readTime },
  jsons: { element: 3802, array: 3807, parse: (text) => JSON.parse(text) },
};

/** These types in the form of the driver's `types` option. */
export const arrayTypes = Object.fromEntries(
  Object.entries(ARRAY_TYPES).map(([name, { array, parse }]) => [name, {
    to: array,
    from: [array],
    serialize: printArray,
    parse: (text: string) => parseArray(text, parse),
  }]),
);

/**
 * Returns the array literal: numbers bare, other elements quoted, null as NULL. A value that is not an array becomes a
 * string.
 */
function printArray(values: unknown): string {
  if (!Array.isArray(values)) return String(values);
  return `{${values.map(printElement).join(",")}}`;
}

const NEEDS_ESCAPE = /[\\"]/;

function printElement(value: unknown): string {
  if (value === null || value === undefined) return "NULL";
  if (typeof value === "number") return String(value);
  const text = value instanceof Date ? value.toISOString() : String(value);
  return NEEDS_ESCAPE.test(text) ? `"${text.replaceAll("\\", "\\\\").replaceAll('"', '\\"')}"` : `"${text}"`;
}

/** Parses the literal of a one-dimensional array. */
function parseArray<T>(literal: string, parse: (text: string) => T): (T | null)[] {
  const values: (T | null)[] = [];
  const element = /"((?:[^"\\]|\\.)*)"|([^,{}"]+)/gs;
  for (const [, quoted, bare] of literal.matchAll(element)) {
    if (quoted !== undefined) values.push(parse(quoted.replace(/\\(.)/gs, "$1")));
    else values.push(bare === "NULL" ? null : parse(bare ?? ""));
  }
  return values;
}
