import { z } from "zod";
import type { DeclaredReference } from "../../infra/postgres/tenant_keys.ts";
import { notFoundProblem, uniqueProblem } from "./derived_problems.ts";
import {
  answerShape,
  columnOf,
  coreOf,
  describeMember,
  filterShape,
  formatMistake,
  givenShape,
  memberOf,
  type Members,
  type RecordMember,
} from "./members.ts";
import type { Label } from "./labels.ts";
import {
  capitalNames,
  type DefinedRecord,
  type RecordAction,
  type RecordLabels,
  type RecordSource,
} from "./record_type.ts";
import { tableSource } from "./table_source.ts";
import { PostgresError, SQLSTATE } from "../../infra/postgres/failures.ts";
import type { Tx } from "../../infra/postgres/postgres.ts";
import { constraintProblem } from "../problems/constraints.ts";
import { invalid, isProblemCode, type Problem, problem, type ProblemCode } from "../problems/problem.ts";

/**
 * The one declaration of a record of a tenant. Besides a column for each member, its table has `id`, `tenant_id`, `version`,
 * `created_at`, `updated_at`, and `deleted_at` if it is `softDeleted`.
 */
export interface RecordDeclaration<One extends string, Many extends string, M extends Members> {
  /** Singular and plural name, such as `application` and `applications`; used in ids, paths and audit rows. */
  one: One;
  many: Many;
  /** Last segment of the path; absent: `many`. */
  path?: string;
  /** Heading in the API document. */
  area: string;
  labels?: RecordLabels;
  /** Permission for changes. */
  managedBy: string;
  /** Permission for reading; absent: every caller in the tenant may read. */
  readBy?: string;
  /** With the schema if it is not `public`. */
  table: string;
  /** Deleting sets `deleted_at` instead of removing the row. */
  softDeleted?: boolean;
  members: M;
  /** The member that names a row in the console; absent: the first. */
  title?: keyof M & string;
  /** The default order of lists; absent: `createdAt`. */
  sortedBy?: keyof M & string;
  /** SQL of the folded text that `search` searches, such as an indexed column. Absent: all text columns. */
  search?: string;
  /** `partial`: a change keeps what its body leaves out. Absent: it must have every member that has no default. */
  changes?: "partial";
  /** Absent: derived from `one`, such as `LABEL_NOT_FOUND`, with a generic description in the error catalogue. */
  notFound?: ProblemCode;
  /** The error message for violations of each unique index of the table, by index name. The code is `LABEL_ALREADY_EXISTS`. */
  unique?: Record<string, Label>;
  /** Further error codes of create and update. */
  problems?: ProblemCode[];
  /** Buttons of a row in the console, by a name of lower-case letters and dashes. Only records of extensions have them. */
  actions?: Record<string, RecordAction<RowOf<M>>>;
}

/** A row of a record as its routes answer it. */
export type RowOf<M extends Members> =
  & { id: string; createdAt: string; updatedAt: string }
  & { [Name in keyof M]: z.output<M[Name]["shape"]> };

type AnyDeclaration = RecordDeclaration<string, string, Members>;
type ShapesOf<M extends Members> = { [Name in keyof M]: M[Name]["shape"] };
type SetOnCreation<M extends Members> = {
  [Name in keyof M as M[Name] extends { set: "never" } ? never : Name]: M[Name]["shape"];
};
type SetByChanges<M extends Members> = {
  [Name in keyof M as M[Name] extends { set: string } ? never : Name]: z.ZodOptional<M[Name]["shape"]>;
};
type OwnShapes = { id: z.ZodGUID; createdAt: z.ZodISODateTime; updatedAt: z.ZodISODateTime };

/** The record that a declaration with members `M` makes. */
export type RecordOf<One extends string, Many extends string, M extends Members> = DefinedRecord<
  z.ZodObject<OwnShapes & ShapesOf<M>>,
  z.ZodObject<SetOnCreation<M>>,
  z.ZodObject<SetByChanges<M>>,
  One,
  Many
>;

const declared = new Map<string, DefinedRecord>();

/** The record with a plural name. @throws Error that names `by`, if no record is declared with this name */
export function recordNamed(many: string, by: string): DefinedRecord {
  const record = declared.get(many);
  if (!record) {
    throw new Error(`${by} refers to the unknown record "${many}"; expected the plural of a declared record`);
  }
  return record;
}

/** The columns of a record that refer to other records. */
export const referencesOf = ({ one, table, members }: DefinedRecord): DeclaredReference[] =>
  members.flatMap(({ name, column, refersTo }) =>
    refersTo === null
      ? []
      : [{ table, column, parent: recordNamed(refersTo, `the member ${name} of the record ${one}`).table }]
  );

/**
 * Declares a record. Its API, lists, console pages and tests are derived from the declaration.
 * @throws Error for an unknown error code, or for a `sortedBy`, filter or format that the member does not support
 */
export function defineRecord<One extends string, Many extends string, const M extends Members>(
  d: RecordDeclaration<One, Many, M>,
): RecordOf<One, Many, M> {
  const { one, many, table, softDeleted = false } = d;
  const members = Object.entries(d.members).map(([name, member]) => describeMember(name, member));
  const problems = [...d.problems ?? [], ...uniqueProblem(one, d.unique ?? {}, table)];
  for (const code of problems) {
    if (!isProblemCode(code)) throw new Error(`record ${one}: its error code ${code} is unknown`);
  }
  for (const member of members) {
    const mistake = formatMistake(member, members.map(({ name }) => name));
    if (mistake) throw new Error(`record ${one}: the member ${member.name}: ${mistake}`);
  }
  const notFound = d.notFound ?? notFoundProblem(one);
  const sorts = sortsOf(d);
  const filters = members.filter(({ filter }) => filter);
  // Texts are searched, but no ids.
  const texts = members.filter(({ kind, shape }) => {
    const core = coreOf(shape);
    const isId = core instanceof z.ZodGUID || core instanceof z.ZodUUID;
    return (kind === "text" || kind === "long text") && !isId;
  });
  const stored = {
    one,
    table,
    softDeleted,
    notFound,
    sorts,
    columns: columnsOf(members, softDeleted),
    numbers: members.filter(({ kind }) => kind === "number").map(({ name }) => name),
    search: d.search ?? `fold(concat_ws(' ', ${texts.map(({ column }) => column).join(", ") || "''"}))`,
    writable: Object.fromEntries(
      members.filter(({ set }) => set !== "never").map(({ name, column }) => [name, column]),
    ),
    filters: Object.fromEntries(filters.map(({ name, column }) => [name, column])),
    references: members.flatMap(({ name, refersTo }) => refersTo === null ? [] : [{ name, refersTo }]),
  };
  const record: DefinedRecord = {
    ...d,
    ...shapesOf(d),
    labels: d.labels ?? {},
    actions: d.actions ?? {},
    members,
    title: d.title ?? members[0]?.name ?? "id",
    softDeleted,
    notFound,
    problems: [...problems, "RESOURCE_CONFLICT"],
    deleteProblems: ["RESOURCE_CONFLICT"],
    isUnique: Object.keys(d.unique ?? {}).length > 0,
    query: z.object(Object.fromEntries(filters.map((member) => [member.name, filterShape(member)]))),
    sortable: Object.keys(sorts) as [string, ...string[]],
    source: refusingViolations(tableSource(stored, (many) => recordNamed(many, `the record ${one}`))),
  };
  declared.set(many, record);
  return record as unknown as RecordOf<One, Many, M>;
}

/** Values of `sortBy` and their SQL expressions; the first is the default. */
function sortsOf(
  { members, sortedBy = "createdAt" }: Pick<AnyDeclaration, "members" | "sortedBy">,
): Record<string, string> {
  const sorts: Record<string, string> = { createdAt: "created_at" };
  for (const [name, { sort }] of Object.entries(members)) {
    if (sort) sorts[name] = sort === true ? columnOf(name) : sort;
  }
  const first = sorts[sortedBy];
  if (first === undefined) {
    throw new Error(`sortedBy names the member ${sortedBy}; expected a member that declares sort`);
  }
  return { [sortedBy]: first, ...sorts };
}

/** Members of answers and the SQL that reads each. */
const columnsOf = (members: RecordMember[], softDeleted: boolean): Record<string, string> => ({
  id: "id",
  ...Object.fromEntries(
    members.map(({ name, column, kind }) => [name, kind === "date" ? `${column}::text` : column]),
  ),
  ...softDeleted ? { isDeleted: "deleted_at is not null" } : {},
  createdAt: "created_at",
  updatedAt: "updated_at",
  ...softDeleted ? { deletedAt: "deleted_at" } : {},
});

/** The shapes of answers and of the bodies of creations and changes. */
function shapesOf(
  record: Pick<AnyDeclaration, "one" | "many" | "members" | "softDeleted" | "changes">,
) {
  const { members, softDeleted, changes } = record;
  const time = z.iso.datetime();
  const settable = Object.entries(members).filter(([, { set }]) => set !== "never")
    .map(([name, member]) => [name, { ...member, shape: givenShape(member.shape) }] as const);
  const changeable = settable.filter(([, { set }]) => set !== "once").map(([name, { shape }]) => {
    const kept = answerShape(shape);
    return [name, changes === "partial" || kept !== shape ? kept.optional() : kept];
  });
  const { One } = capitalNames(record);
  const [create, update, kept] = changes === "partial"
    ? [`Create${One}Dto`, `Update${One}Dto`, "Members left out keep their value"]
    : [`${One}DtoBody`, `${One}DtoChange`, "A member with a default keeps its value if it is left out"];
  return {
    result: z.object({
      id: z.guid(),
      ...Object.fromEntries(Object.entries(members).map(([name, { shape }]) => [name, answerShape(shape)])),
      ...softDeleted ? { isDeleted: z.boolean() } : {},
      createdAt: time,
      updatedAt: time,
      ...softDeleted ? { deletedAt: time.nullable() } : {},
    }).meta({ id: `${One}Dto` }),
    create: z.object(Object.fromEntries(settable.map(([name, { shape }]) => [name, shape])))
      .meta({ id: create }),
    update: z.object(Object.fromEntries(changeable)).meta({ id: update, description: kept }),
  };
}

const NOT_NULL = "23502";
const CHECK = "23514";
const EXCLUSION = "23P01";
const RESTRICT = "23001";
const DATA = "22";

/** Wraps a source so that values which the table refuses are answered as errors of the request (400 or 409), not as 500. */
const refusingViolations = <Result, Create, Update>(
  source: RecordSource<Result, Create, Update>,
): RecordSource<Result, Create, Update> => ({
  ...source,
  create: (...args) => checked(args[1], source.create(...args)),
  update: (...args) => checked(args[1], source.update(...args)),
  remove: (...args) => checked(args[0], source.remove(...args), { isRemoval: true }),
});

/** Runs a change and checks deferred constraints at once, because at the end of the transaction it is too late to answer them. */
async function checked<T>(tx: Tx, change: Promise<T>, o = { isRemoval: false }): Promise<T> {
  try {
    const changed = await change;
    await tx`set constraints all immediate`;
    return changed;
  } catch (failure) {
    throw constraintProblem(failure) ?? violationProblem(failure, o) ?? failure;
  }
}

/** The problem for values that a constraint or the type of a column refuses; null for any other failure. */
function violationProblem(failure: unknown, o: { isRemoval: boolean }): Problem | null {
  if (!(failure instanceof PostgresError)) return null;
  const { code, detail = "", constraint_name: rule, message } = failure;
  switch (code) {
    case RESTRICT:
      return conflict("Other records refer to it");
    case SQLSTATE.foreignKeyViolation: {
      if (o.isRemoval) return conflict("Other records refer to it");
      // Only the list in parentheses is read, because the words around it are in the language of the server.
      const columns = /\((.*?)\)=/.exec(detail)?.[1]?.split(", ") ?? [];
      const fields = columns.filter((column) => column !== "tenant_id").map(memberOf);
      return invalid(
        Object.fromEntries(fields.map((field) => [field, ["expected the id of an existing record"]])),
      );
    }
    case SQLSTATE.uniqueViolation:
    case EXCLUSION:
      return conflict(`Another record already has these values (constraint ${rule})`);
    case NOT_NULL:
      return invalid({ [memberOf(failure.column_name ?? "")]: ["expected a value"] });
    case CHECK:
      return invalid({ [rule || "value"]: [rule ? "the values violate this constraint" : message] });
    default:
      return code.startsWith(DATA) ? invalid({ value: [message] }) : null;
  }
}

const conflict = (why: string) => problem("RESOURCE_CONFLICT", `${why}, so nothing was changed.`);
