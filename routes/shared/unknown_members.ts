// Members of a body that its shape does not know. One that looks like a known member is most likely a mistake; any
// other is ignored, and named to the caller.
import type { z } from "zod";
import type { FieldErrors } from "../../domain/problems/problem.ts";
import { type Shape, shapeOf } from "./body_shape.ts";

/** Different unknown members of one body that are compared with the known ones: a body may hold very many. */
const MOST_COMPARED = 1_000;
/** Ignored members of one body that are named; more than the header shows. */
const MOST_NAMED = 100;
const MOST_EDITS = 2;
const LEAST_LETTERS = 5;

/** What a body has besides the members its shape knows. */
export interface UnknownMembers {
  /** Those that look like a known member, by dotted path within the value. */
  errors: FieldErrors;
  /** The others, as `tenants[0].colour`; of very many the first. */
  ignored: string[];
}

type Path = readonly (string | number)[];

/** @param at where `value` stands in the body. */
export function unknownMembers(schema: z.ZodType, value: unknown, at: Path = []): UnknownMembers {
  const found: UnknownMembers = { errors: {}, ignored: [] };
  const depth = at.length;
  let compared = 0;
  const meantIn = new Map<Shape, Map<string, string | undefined>>(); // rows of a list share their unknown members
  const meant = (shape: Shape, members: ReadonlyMap<string, unknown>, name: string): string | undefined => {
    const known = meantIn.get(shape) ?? new Map<string, string | undefined>();
    meantIn.set(shape, known);
    if (!known.has(name) && compared++ < MOST_COMPARED) {
      known.set(name, [...members.keys()].find((key) => isNear(name, key)));
    }
    return known.get(name);
  };
  const look = (shape: Shape | null, value: unknown, at: Path): void => {
    if (!shape || typeof value !== "object" || value === null) return;
    if (Array.isArray(value)) {
      if (shape.elements) {
        value.forEach((element, index) => look(shape.elements ?? null, element, [...at, index]));
      }
      return;
    }
    if (!shape.members) return;
    for (const [name, member] of Object.entries(value)) {
      const known = shape.members.get(name);
      if (known !== undefined) {
        look(known.shape, member, [...at, name]);
        continue;
      }
      const near = meant(shape, shape.members, name);
      if (near !== undefined) {
        found.errors[[...at.slice(depth), name].join(".")] = [
          `unknown member \`${name}\`; did you mean \`${near}\`?`,
        ];
      } else if (found.ignored.length < MOST_NAMED) found.ignored.push(nameOf([...at, name]));
    }
  };
  look(shapeOf(schema), value, at);
  return found;
}

const nameOf = (path: Path): string =>
  path.map((part, n) => typeof part === "number" ? `[${part}]` : n === 0 ? part : `.${part}`).join("");

/** Letter case, `-` and `_` aside: equal, or at most two edits apart where both have five letters or more. */
function isNear(one: string, other: string): boolean {
  const [a, b] = [plain(one), plain(other)];
  if (a === b) return true;
  if (Math.min(a.length, b.length) < LEAST_LETTERS || Math.abs(a.length - b.length) > MOST_EDITS) {
    return false;
  }
  return editsBetween(a, b) <= MOST_EDITS;
}

const plain = (name: string): string => name.toLowerCase().replaceAll(/[-_]/g, "");

/** Levenshtein distance. */
function editsBetween(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, n) => n);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const replaced = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min(replaced, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[b.length] ?? 0;
}
