// The members of JSON values, read from their schemas.
import { z } from "zod";

export interface Member {
  shape: Shape | null;
  /** False if the member is optional and not nullable. */
  isClearable: boolean;
}

/** The members of an object or the elements of an array. Null in their place means: any value. */
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
    case "pipe":
      return shapeOf(def.in._zod.def.type === "transform" ? def.out : def.in);
    case "union":
      return def.options.map(shapeOf).reduce(either, null);
    default:
      return null;
  }
}

function memberOf(schema: z.core.$ZodType): Member {
  const takes = (value: unknown) => z.safeParse(schema, value).success;
  return { shape: shapeOf(schema), isClearable: takes(null) || !takes(undefined) };
}

/** The shape of a union: the members of both options. */
function either(one: Shape | null, other: Shape | null): Shape | null {
  if (!one || !other) return one ?? other;
  const members = new Map(one.members ?? []);
  for (const [name, member] of other.members ?? []) {
    const { shape = null, isClearable = false } = members.get(name) ?? {};
    members.set(name, {
      shape: either(shape, member.shape),
      isClearable: isClearable || member.isClearable,
    });
  }
  return {
    ...one.members || other.members ? { members } : {},
    elements: either(one.elements ?? null, other.elements ?? null),
  };
}

/**
 * Deletes members of `value` that are null but optional and not nullable: for a PUT, null then means omitted.
 * Changes `value` in place.
 */
export function leaveOutNulls(schema: z.ZodType, value: unknown): void {
  const look = (shape: Shape | null | undefined, value: unknown): void => {
    if (!shape || typeof value !== "object" || value === null) return;
    if (Array.isArray(value)) {
      for (const element of value) look(shape.elements, element);
      return;
    }
    for (const [name, member] of Object.entries(value)) {
      const known = shape.members?.get(name);
      if (member === null && known?.isClearable === false) delete (value as Record<string, unknown>)[name];
      else look(known?.shape, member);
    }
  };
  look(shapeOf(schema), value);
}
