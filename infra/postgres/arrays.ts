// One-dimensional arrays as the driver sends and receives them. The driver could ask the server for these types at
// every connection, but a query that is first on its connection may be sent before the answer is in.

import { readTime } from "./timestamps.ts";

interface ArrayType {
  /** Type of the elements. */
  element: number;
  /** Type of the array. */
  array: number;
  parse: (text: string) => unknown;
}

const same = (text: string) => text;
const BOOLEAN = (text: string) => text === "t";

/** Object ids are Postgres's own and never change. */
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

/** The driver's `types` for all of them. */
export const arrayTypes = Object.fromEntries(
  Object.entries(ARRAY_TYPES).map(([name, { array, parse }]) => [name, {
    to: array,
    from: [array],
    serialize: printArray,
    parse: (text: string) => parseArray(text, parse),
  }]),
);

/** The literal of an array: every element quoted, null as NULL. What is no array goes through as it is. */
export function printArray(values: unknown): string {
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

/** Reads the literal of a one-dimensional array. */
export function parseArray<T>(literal: string, parse: (text: string) => T): (T | null)[] {
  const values: (T | null)[] = [];
  const element = /"((?:[^"\\]|\\.)*)"|([^,{}"]+)/gs;
  for (const [, quoted, bare] of literal.matchAll(element)) {
    if (quoted !== undefined) values.push(parse(quoted.replace(/\\(.)/gs, "$1")));
    else values.push(bare === "NULL" ? null : parse(bare ?? ""));
  }
  return values;
}
