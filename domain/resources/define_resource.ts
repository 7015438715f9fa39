import { z } from "zod";
import type { ProblemCode } from "../problems/catalogue.ts";
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
  notFound: ProblemCode;
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
  if ("commands" in d) return { ...d, query, source: d.commands };
  const { one, table, softDeleted, sorts, notFound } = d;
  const source = tableSource<z.output<R>, z.output<C>, z.output<U>>({
    one,
    table,
    softDeleted,
    sorts,
    notFound,
    columns: { ...columnsOf(d.result), ...d.computed },
    writable: { ...columnsOf(d.create), ...columnsOf(d.update) },
    filters: columnsOf(query),
  });
  const sortable = Object.keys(sorts) as [string, ...string[]];
  return { ...d, query, sortable, source };
}

/** Declares a resource of one shape: what is answered is what is sent, but for id and times. */
export function defineSimpleResource<S extends Shape>(d: Common & { shape: S } & InTable) {
  const name = String(d.shape.meta()?.id ?? d.one);
  const body = d.shape.omit(SERVICE_FIELDS).meta({ id: `${name}Body` });
  return defineResource({ ...d, result: d.shape, create: body, update: body });
}

const columnsOf = (shape: Shape): Record<string, string> =>
  Object.fromEntries(
    Object.keys(shape.shape).map((
      field,
    ) => [field, field.replaceAll(/[A-Z]/g, (c) => `_${c.toLowerCase()}`)]),
  );
