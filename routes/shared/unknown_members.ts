// Unknown members of a body. One that looks like a known member is probably a mistake and is refused. Others are ignored
// and reported to the caller.
import type { z } from "zod";
import type { FieldErrors } from "../../domain/problems/problem.ts";
import { type Shape, shapeOf } from "./body_shape.ts";

/** Maximum number of different unknown members that are compared with known ones. */
const MOST_COMPARED = 1_000;
/** Maximum number of ignored members that are collected; the header shows fewer. */
const MOST_NAMED = 100;
const MOST_EDITS = 2;
const LEAST_LETTERS = 5;

/** The unknown members of a body. */
export interface UnknownMembers {
  /** Errors for members that look like known ones, by dotted path within the value. */
  errors: FieldErrors;
  /** The others, as `tenants[0].colour`, up to the maximum. */
  ignored: string[];
}

type Path = readonly (string | number)[];

/** Finds the unknown members of `value`. @param at path of `value` in the body */
export function unknownMembers(schema: z.ZodType, value: unknown, at: Path = []): UnknownMembers {
  const found: UnknownMembers = { errors: {}, ignored: [] };
  const depth = at.length;
  let compared = 0;
  const meantIn = new Map<Shape, Map<string, string | undefined>>(); // elements of a list usually share their unknown members
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

/** True if the names are equal, or differ by at most two edits and have five letters or more. Ignores case, `-` and `_`. */
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
