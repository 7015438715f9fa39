import { z } from "zod";
import { CATALOGUE, isProblemCode, type ProblemCode } from "../problems/catalogue.ts";
import { entry } from "../problems/entry.ts";
import type { Resource, ResourceSource } from "./resource.ts";
import { tableSource } from "./table_source.ts";

type Shape = z.ZodObject;

interface Common {
  one: string;
  many: string;
  path?: string;
  showsSecret?: true;
  isPrivate?: true;
  area: string;
  managedBy: string;
  /** Absent: the name of one and `_NOT_FOUND`, as `LABEL_NOT_FOUND`, told on its page in general words. */
  notFound?: ProblemCode;
  /** Further refusals, each in `domain/problems`; those of unique indexes are named in `constraints.ts` too. */
  problems: ProblemCode[];
}

/** How a resource lies in its table; names default to the fields' own, in snake case. */
interface InTable {
  table: string;
  softDeleted: boolean;
  /** `sortBy` names and the SQL they order by, the default first. */
  sorts: Record<string, string>;
  /** Fields of the result that are no column of that name, and the SQL that reads them. */
  computed?: Record<string, string>;
  /** The folded text, as SQL, that `search` looks into, such as an indexed column. Absent: all text columns. */
  search?: string;
}

/** Rules of its own instead of a table. */
interface ByCommands<R extends Shape, C extends Shape, U extends Shape> {
  sortable: readonly [string, ...string[]];
  commands: ResourceSource<z.output<R>, z.output<C>, z.output<U>>;
}

/** Separate shapes for creating, changing and answering, and a query of its own. */
export interface SeparateShapes<R extends Shape, C extends Shape, U extends Shape> {
  result: R;
  create: C;
  update: U;
  /** Query parameters besides the common ones. */
  query?: Shape;
}

/** Fields of a single shape that the service alone sets. */
const SERVICE_FIELDS = { id: true, createdAt: true, updatedAt: true } as const;

/**
 * Declares a resource with separate shapes; over a table, or by commands that bring their own rules.
 * Fields of `query` filter by equality on the column of their name.
 */
export function defineResource<R extends Shape, C extends Shape, U extends Shape>(
  d: Common & SeparateShapes<R, C, U> & (InTable | ByCommands<R, C, U>),
): Resource<R, C, U> {
  const query = d.query ?? z.object({});
  const notFound = d.notFound ?? deriveNotFound(d.one);
  for (const code of d.problems) {
    if (!isProblemCode(code)) {
      throw new Error(`resource ${d.one}: its problem ${code} is unknown; domain/problems has to tell of it`);
    }
  }
  if ("commands" in d) return { ...d, notFound, query, source: d.commands };
  const { one, table, softDeleted, sorts } = d;
  const columns = { ...columnsOf(d.result), ...d.computed };
  const texts = fieldsOf(d.result, "string").filter((field) => !d.computed?.[field]);
  const source = tableSource<z.output<R>, z.output<C>, z.output<U>>({
    one,
    table,
    softDeleted,
    sorts,
    notFound,
    columns,
    numbers: fieldsOf(d.result, "number"),
    search: d.search ?? `fold(concat_ws(' ', ${texts.map((field) => columns[field]).join(", ") || "''"}))`,
    writable: { ...columnsOf(d.create), ...columnsOf(d.update) },
    filters: columnsOf(query),
  });
  const sortable = Object.keys(sorts) as [string, ...string[]];
  return { ...d, notFound, query, sortable, source };
}

/** Declares a resource of one shape: what is answered is what is sent, but for id and times. */
export function defineSimpleResource<S extends Shape>(d: Common & { shape: S } & InTable) {
  const name = String(d.shape.meta()?.id ?? d.one);
  const body = d.shape.omit(SERVICE_FIELDS).meta({ id: `${name}Body` });
  const update = z.object(Object.fromEntries(
    Object.entries(body.shape).map(([field, schema]) => [field, keptWhenOmitted(schema)]),
  )).meta({
    id: `${name}Change`,
    description: "A member with a default stays as it is where it is left out",
  });
  return defineResource({ ...d, result: d.shape, create: body, update });
}

/** The refusal of a resource that brings none of its own, told to the catalogue. */
function deriveNotFound(one: string): ProblemCode {
  const name = one.replaceAll(/[A-Z]/g, (letter) => `_${letter}`);
  const code = `${name.toUpperCase()}_NOT_FOUND`;
  const words = name.replaceAll("_", " ").toLowerCase();
  if (!isProblemCode(code)) {
    const meaning = `The ${words} does not exist, is deleted, or belongs to another tenant.`;
    Object.assign(CATALOGUE, { [code]: entry(404, `No such ${words}`, meaning, "Check the id.") });
  }
  return code as ProblemCode;
}

/** Fields whose value is a plain text or a number, under whatever may make it absent. */
function fieldsOf(shape: Shape, type: "string" | "number"): string[] {
  return Object.entries(shape.shape).flatMap(([field, schema]) => {
    let core = schema as z.ZodType;
    while (
      core instanceof z.ZodNullable || core instanceof z.ZodOptional || core instanceof z.ZodDefault
    ) core = core.unwrap() as z.ZodType;
    return core.def.type === type && !("format" in core.def && type === "string") ? [field] : [];
  });
}

/** A field with a default stays as it is where a change leaves it out. */
const keptWhenOmitted = (field: z.core.$ZodType): z.core.$ZodType =>
  field instanceof z.ZodDefault ? z.optional(field.unwrap()) : field;

const columnsOf = (shape: Shape): Record<string, string> =>
  Object.fromEntries(
    Object.keys(shape.shape).map((
      field,
    ) => [field, field.replaceAll(/[A-Z]/g, (c) => `_${c.toLowerCase()}`)]),
  );
