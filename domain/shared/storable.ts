import { invalid } from "../problems/problem.ts";

/** Nothing is taken that is nested deeper than this; what walks through a document may then call itself. */
export const DEEPEST = 200;

/** Refuses a document nested so deep that walking through it would be the end of the stack. */
export function requireShallow(value: unknown, field = "body", depth = 0): void {
  if (typeof value !== "object" || value === null) return;
  if (depth === DEEPEST) throw invalid({ [field]: [`expected a document at most ${DEEPEST} levels deep`] });
  for (const item of Object.values(value)) requireShallow(item, field, depth + 1);
}

/** Refuses what a Postgres text cannot hold: NUL characters and halves of surrogate pairs. */
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
