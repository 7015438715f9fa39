import { z } from "zod";
import { CATALOGUE, isProblemCode, type ProblemCode } from "../problems/catalogue.ts";
import { CONSTRAINT_PROBLEMS } from "../problems/constraints.ts";
import type { CatalogueEntry } from "../problems/entry.ts";
import type { ResourceLabels } from "./labels.ts";
import type { Resource, ResourceSource } from "./resource.ts";
import { tableSource } from "./table_source.ts";
import { refusingViolations } from "./violations.ts";

export type Shape = z.ZodObject;

/** What every resource declares. */
export interface ResourceDeclaration<One extends string, Many extends string> {
  one: One;
  many: Many;
  path?: string;
  showsSecret?: true;
  area: string;
  /** Names in the console; absent parts are derived. */
  labels?: ResourceLabels;
  /** Permission for changes. */
  managedBy: string;
  /** Permission for reading; absent: every caller in the tenant may read. */
  readBy?: string;
  /** Absent: derived from `one`, such as `LABEL_NOT_FOUND`, with a generic description in the error catalogue. */
  notFound?: ProblemCode;
  /** What violations of the table's unique indexes mean, by index name. They are answered as `LABEL_ALREADY_EXISTS`. */
  unique?: Record<string, string>;
  /** Further error codes of create and update. */
  problems?: ProblemCode[];
}

/** How a resource is stored in its table. Column names default to the field names in snake case. */
export interface TableStorage {
  table: string;
  softDeleted: boolean;
  /** Values of `sortBy` and their SQL order expressions; the first is the default. */
  sorts: Record<string, string>;
  /** Result fields without a column of that name, and the SQL that reads them. */
  computed?: Record<string, string>;
  /** SQL of the folded text that `search` searches, such as an indexed column. Absent: all text columns. */
  search?: string;
}

/** A resource with its own functions instead of a table. */
export interface CommandStorage<R extends Shape, C extends Shape, U extends Shape> {
  sortable: readonly [string, ...string[]];
  commands: ResourceSource<z.output<R>, z.output<C>, z.output<U>>;
}

/** Separate schemas for create, update and response, and optional query parameters. */
export interface SeparateShapes<R extends Shape, C extends Shape, U extends Shape> {
  result: R;
  create: C;
  update: U;
  /** Query parameters besides the common ones. */
  query?: Shape;
}

/** Fields of a single schema that only the service sets. */
const SERVICE_FIELDS = { id: true, createdAt: true, updatedAt: true } as const;

/**
 * Declares a resource with separate schemas, stored in a table or handled by `commands`. Each field of `query`
 * filters by equality on its column.
 */
export function defineResource<
  R extends Shape,
  C extends Shape,
  U extends Shape,
  One extends string,
  Many extends string,
>(
  d: ResourceDeclaration<One, Many> & SeparateShapes<R, C, U> & (TableStorage | CommandStorage<R, C, U>),
): Resource<R, C, U, One, Many> {
  const query = d.query ?? z.object({});
  const notFound = d.notFound ?? deriveNotFound(d.one);
  const problems = [
    ...d.problems ?? [],
    ...uniqueProblem(d.one, d.unique ?? {}, "table" in d ? d.table : ""),
  ];
  for (const code of problems) {
    if (!isProblemCode(code)) throw new Error(`resource ${d.one}: its error code ${code} is unknown`);
  }
  if ("commands" in d) return { ...d, notFound, problems, deleteProblems: [], query, source: d.commands };
  const { one, table, softDeleted, sorts } = d;
  const columns = { ...columnsOf(d.result), ...d.computed };
  const writable = { ...columnsOf(d.create), ...columnsOf(d.update) };
  const written = Object.values(writable).map((column) => `${table}.${column}`);
  const texts = fieldsOf(d.result, "string").filter((field) => !d.computed?.[field]);
  const source = refusingViolations(tableSource<z.output<R>, z.output<C>, z.output<U>>({
    one,
    table,
    softDeleted,
    sorts,
    notFound,
    columns,
    numbers: fieldsOf(d.result, "number"),
    search: d.search ?? `fold(concat_ws(' ', ${texts.map((field) => columns[field]).join(", ") || "''"}))`,
    writable,
    filters: columnsOf(query),
  }));
  const sortable = Object.keys(sorts) as [string, ...string[]];
  return {
    ...d,
    notFound,
    problems: [...problems, "RESOURCE_CONFLICT"],
    deleteProblems: ["RESOURCE_CONFLICT"],
    query,
    sortable,
    written,
    source,
  };
}

/** Declares a resource with one schema: the request body has the fields of the response without id and timestamps. */
export function defineSimpleResource<S extends Shape, One extends string, Many extends string>(
  d: ResourceDeclaration<One, Many> & { shape: S } & TableStorage,
) {
  const name = String(d.shape.meta()?.id ?? d.one);
  const body = d.shape.omit(SERVICE_FIELDS).meta({ id: `${name}Body` });
  const update = z.object(Object.fromEntries(
    Object.entries(body.shape).map(([field, schema]) => [field, keptWhenOmitted(schema)]),
  )).meta({
    id: `${name}Change`,
    description: "A member with a default keeps its value if it is left out",
  });
  return defineResource({ ...d, result: d.shape, create: body, update });
}

/** The not-found code of a resource that declares none. */
function deriveNotFound(one: string): ProblemCode {
  const words = wordsOf(one);
  const meaning = `The ${words} does not exist, is deleted, or belongs to another tenant.`;
  return derivedCode(`${constantOf(one)}_NOT_FOUND`, {
    status: 404,
    title: `No such ${words}`,
    meaning,
    mend: "Check the id.",
    user: {
      en: `${meaning} Reload the list.`,
      pt: "O recurso não existe, foi eliminado ou pertence a outro inquilino. Recarregue a lista.",
    },
  });
}

/** The code of a resource's unique violations, in a list; empty if the resource names no index. */
function uniqueProblem(one: string, unique: Record<string, string>, table: string): ProblemCode[] {
  const indexes = Object.entries(unique);
  if (indexes.length === 0) return [];
  const words = wordsOf(one);
  const meaning =
    `The ${words} was not saved because the tenant has another one with a value that must be unique.`;
  const code = derivedCode(`${constantOf(one)}_ALREADY_EXISTS`, {
    status: 409,
    title: `The ${words} already exists`,
    meaning,
    mend: "Use another value, or change the existing one.",
    user: {
      en: `${meaning} Use another value.`,
      pt: "Não foi guardado: já existe um recurso com este valor. Use outro valor.",
    },
  });
  const schema = table.includes(".") ? table.split(".")[0] : "public";
  for (const [index, detail] of indexes) CONSTRAINT_PROBLEMS[`${schema}.${index}`] = [code, detail];
  return [code];
}

/** Returns the code, with a generic entry in the catalogue if it has none. */
function derivedCode(code: string, generic: CatalogueEntry): ProblemCode {
  if (!isProblemCode(code)) Object.assign(CATALOGUE, { [code]: generic });
  return code as ProblemCode;
}

const constantOf = (one: string): string => one.replaceAll(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase();
const wordsOf = (one: string): string => constantOf(one).replaceAll("_", " ").toLowerCase();

/** Names of the fields that are plain strings (without a format) or numbers, optional, nullable or not. */
function fieldsOf(shape: Shape, type: "string" | "number"): string[] {
  return Object.entries(shape.shape).flatMap(([field, schema]) => {
    let core = schema as z.ZodType;
    while (
      core instanceof z.ZodNullable || core instanceof z.ZodOptional || core instanceof z.ZodDefault
    ) core = core.unwrap() as z.ZodType;
    return core.def.type === type && !("format" in core.def && type === "string") ? [field] : [];
  });
}

/** Makes a field with a default optional, so that an update without it keeps the stored value. */
const keptWhenOmitted = (field: z.core.$ZodType): z.core.$ZodType =>
  field instanceof z.ZodDefault ? z.optional(field.unwrap()) : field;

const columnsOf = (shape: Shape): Record<string, string> =>
  Object.fromEntries(
    Object.keys(shape.shape).map((
      field,
    ) => [field, field.replaceAll(/[A-Z]/g, (c) => `_${c.toLowerCase()}`)]),
  );
