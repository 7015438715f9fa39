import { invalid } from "../problems/problem.ts";
import { storableText } from "./cut_text.ts";

/** Maximum nesting of a document, so that recursive functions cannot overflow the stack. */
export const MAX_DEPTH = 200;

/** True if the value is nested at most `levels` deep. */
export function isShallow(value: unknown, levels = MAX_DEPTH): boolean {
  if (typeof value !== "object" || value === null) return true;
  return levels > 0 && Object.values(value).every((item) => isShallow(item, levels - 1));
}

/** Checks that a document is nested at most `MAX_DEPTH` levels deep. Throws VALIDATION_ERROR. */
export function requireShallow(value: unknown, field = "body"): void {
  if (!isShallow(value)) {
    throw invalid({ [field]: [`expected a document at most ${MAX_DEPTH} levels deep`] });
  }
}

/** Checks that Postgres can store all texts: without NUL characters and lone surrogates. Throws VALIDATION_ERROR. */
export function requireStorableText(value: unknown, field = ""): void {
  if (typeof value === "string") {
    if (value.includes("\0")) throw invalid({ [field || "body"]: ["must not contain the NUL character"] });
    if (!value.isWellFormed()) throw invalid({ [field || "body"]: ["must be well-formed Unicode"] });
  } else if (Array.isArray(value)) {
    value.forEach((item, index) => requireStorableText(item, `${field || "body"}.${index}`));
  } else if (value !== null && typeof value === "object") {
    for (const [key, item] of Object.entries(value)) {
      requireStorableText(key, field);
      requireStorableText(item, field ? `${field}.${key}` : key);
    }
  }
}

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
