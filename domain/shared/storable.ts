import { invalid } from "../problems/problem.ts";

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
