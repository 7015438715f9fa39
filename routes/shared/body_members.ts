// The members of a body, compared with its schema. An unknown member that looks like a known one is probably a mistake
// and is refused. Others are ignored and reported to the caller.
import { z } from "zod";
import type { FieldErrors } from "../../domain/problems/problem.ts";
import { isNear } from "../../infra/similar_names.ts";

export interface Member {
  shape: Shape | null;
  /** False if the member is optional and not nullable. */
  isClearable: boolean;
}

/** The members of an object or the elements of an array. Null instead of a shape means that any value is accepted. */
export interface Shape {
  members?: ReadonlyMap<string, Member>;
  elements?: Shape | null;
}

const shapes = new WeakMap<z.core.$ZodType, Shape | null>();

/** The shape of `schema`, cached. */
export function shapeOf(schema: z.core.$ZodType): Shape | null {
  const known = shapes.get(schema);
  if (known !== undefined) return known;
  const shape = readShape(schema);
  shapes.set(schema, shape);
  return shape;
}

function readShape(schema: z.core.$ZodType): Shape | null {
  const { def } = (schema as z.core.$ZodTypes)._zod;
  switch (def.type) {
    case "object": {
      if (def.catchall) return null;
      return {
        members: new Map(Object.entries(def.shape).map(([name, member]) => [name, memberOf(member)])),
      };
    }
    case "array":
      return { elements: shapeOf(def.element) };
    case "optional":
    case "nullable":
    case "default":
    case "prefault":
    case "nonoptional":
    case "readonly":
    case "catch":
      return shapeOf(def.innerType);
    case "lazy":
      return shapeOf(def.getter());
    case "pipe":
      return shapeOf(def.in._zod.def.type === "transform" ? def.out : def.in);
    case "union":
      return def.options.map(shapeOf).reduce(unionOf, null);
    default:
      return null;
  }
}

function memberOf(schema: z.core.$ZodType): Member {
  const takes = (value: unknown) => z.safeParse(schema, value).success;
  return { shape: shapeOf(schema), isClearable: takes(null) || !takes(undefined) };
}

/** The shape of a union: the members of both options. */
function unionOf(one: Shape | null, other: Shape | null): Shape | null {
  if (!one || !other) return one ?? other;
  const members = new Map(one.members ?? []);
  for (const [name, member] of other.members ?? []) {
    const { shape = null, isClearable = false } = members.get(name) ?? {};
    members.set(name, {
      shape: unionOf(shape, member.shape),
      isClearable: isClearable || member.isClearable,
    });
  }
  return {
    ...one.members || other.members ? { members } : {},
    elements: unionOf(one.elements ?? null, other.elements ?? null),
  };
}

/**
 * Deletes the members of `value` that are null although the schema has them optional and not nullable, because in a PUT
 * null then means omitted. Changes `value` in place.
 */
export function leaveOutNulls(schema: z.ZodType, value: unknown): void {
  const visit = (shape: Shape | null | undefined, value: unknown): void => {
    if (!shape || typeof value !== "object" || value === null) return;
    if (Array.isArray(value)) {
      for (const element of value) visit(shape.elements, element);
      return;
    }
    for (const [name, member] of Object.entries(value)) {
      const known = shape.members?.get(name);
      if (member === null && known?.isClearable === false) delete (value as Record<string, unknown>)[name];
      else visit(known?.shape, member);
    }
  };
  visit(shapeOf(schema), value);
}

/** Maximum number of different unknown members that are compared with known ones. */
const MAX_COMPARED = 1_000;
/** Maximum number of ignored members that are collected. The header shows fewer. */
const MAX_IGNORED = 100;

/** The unknown members of a body. */
export interface UnknownMembers {
  /** Errors for members that look like known ones, by dotted path within the value. */
  errors: FieldErrors;
  /** All other unknown members, as `tenants[0].colour`, at most MAX_IGNORED. */
  ignored: string[];
}

type Path = readonly (string | number)[];

/** A shape with the members of all these shapes. */
export const allMembers = (shapes: readonly (Shape | null)[]): Shape | null => shapes.reduce(unionOf, null);

/** True if the shape has the member or element at this path. */
function hasAt(shape: Shape | null | undefined, [part, ...rest]: Path): boolean {
  if (part === undefined) return true;
  if (!shape) return false;
  if (typeof part === "number") return shape.elements !== undefined && hasAt(shape.elements, rest);
  const member = shape.members?.get(part);
  return member !== undefined && hasAt(member.shape, rest);
}

/**
 * Finds the unknown members of `value`.
 * @param at path of `value` in the body
 * @param answered the members of the resource's own answers: these are ignored, also if they look like known ones
 */
export function unknownMembers(
  schema: z.ZodType,
  value: unknown,
  at: Path = [],
  answered: () => Shape | null = () => null,
): UnknownMembers {
  const found: UnknownMembers = { errors: {}, ignored: [] };
  const depth = at.length;
  let compared = 0;
  // The similar names are cached by shape, because the elements of a list usually have the same unknown members.
  const similarNames = new Map<Shape, Map<string, string | undefined>>();
  const similarName = (
    shape: Shape,
    members: ReadonlyMap<string, unknown>,
    name: string,
  ): string | undefined => {
    const known = similarNames.get(shape) ?? new Map<string, string | undefined>();
    similarNames.set(shape, known);
    if (!known.has(name) && compared++ < MAX_COMPARED) {
      known.set(name, [...members.keys()].find((key) => isNear(name, key)));
    }
    return known.get(name);
  };
  // The path of the visited value is one list that changes, because a body may have very many values.
  const path = [...at];
  const visitPart = (shape: Shape | null | undefined, value: unknown, part: string | number): void => {
    if (!shape || typeof value !== "object" || value === null) return;
    path.push(part);
    visit(shape, value);
    path.pop();
  };
  const visit = (shape: Shape, value: object): void => {
    if (Array.isArray(value)) {
      value.forEach((element, index) => visitPart(shape.elements, element, index));
      return;
    }
    if (!shape.members) return;
    for (const name of Object.keys(value)) {
      const known = shape.members.get(name);
      if (known !== undefined) {
        visitPart(known.shape, (value as Record<string, unknown>)[name], name);
        continue;
      }
      const near = similarName(shape, shape.members, name);
      if (near !== undefined && !hasAt(answered(), [...path, name])) {
        found.errors[[...path.slice(depth), name].join(".")] = [
          `unknown member \`${name}\`; did you mean \`${near}\`?`,
        ];
      } else if (found.ignored.length < MAX_IGNORED) found.ignored.push(nameOf([...path, name]));
    }
  };
  const shape = shapeOf(schema);
  if (shape && typeof value === "object" && value !== null) visit(shape, value);
  return found;
}

const nameOf = (path: Path): string =>
  path.map((part, n) => typeof part === "number" ? `[${part}]` : n === 0 ? part : `.${part}`).join("");
