import type { z } from "zod";
import type { Sql, Tx } from "../../infra/postgres/postgres.ts";
import type { ProblemCode } from "../problems/problem.ts";
import type { TenantCaller } from "../rights/caller.ts";
import type { SortedPageRequest } from "../shared/lists.ts";
import type { PagedResult } from "../shared/paging.ts";
import type { Platform } from "../shared/platform.ts";
import type { Versioned } from "../shared/version.ts";
import type { Label } from "./labels.ts";
import type { RecordMember } from "./members.ts";

/** The members of the platform that a record may use when it is created or changed. */
export type RecordContext = Pick<Platform, "config" | "wakeUps"> & {
  eventTypes: { has(type: string): boolean; keys(): Iterable<string> };
};

/** Query of a list. All records have these members; the content of `filters` depends on the record. */
export interface RecordListRequest extends SortedPageRequest<string> {
  search?: string | undefined;
  includeDeleted: boolean;
  filters: Record<string, unknown>;
}

/**
 * The five operations of a record, always limited to the caller's tenant. `tableSource` implements them for a table; a
 * record with special rules implements them itself.
 */
export interface RecordSource<Result, Create, Update> {
  list(q: Sql, caller: TenantCaller, request: RecordListRequest): Promise<PagedResult<Result>>;
  /** @throws the record's not-found code */
  read(q: Sql, caller: TenantCaller, id: string): Promise<Versioned<Result>>;
  create(p: RecordContext, tx: Tx, caller: TenantCaller, input: Create): Promise<Versioned<Result>>;
  /** @throws the record's not-found code, PRECONDITION_FAILED */
  update(
    p: RecordContext,
    tx: Tx,
    caller: TenantCaller,
    id: string,
    input: Update,
    ifMatch: string | null,
  ): Promise<Versioned<Result>>;
  /** @throws the record's not-found code, PRECONDITION_FAILED */
  remove(tx: Tx, caller: TenantCaller, id: string, ifMatch: string | null): Promise<void>;
}

type Shape = z.ZodObject;

/** The declaration of a record that the generic routes use. */
export interface RecordType<
  R extends Shape = Shape,
  C extends Shape = Shape,
  U extends Shape = Shape,
  One extends string = string,
  Many extends string = string,
> {
  /** Singular and plural name, such as `application` and `applications`; used in ids, paths and audit rows. */
  one: One;
  many: Many;
  /** Last segment of the path; absent: `many`. */
  path?: string;
  /** Create returns a secret that is shown only once, so an Idempotency-Key is refused. */
  showsSecret?: true;
  /** Heading in the API document. */
  area: string;
  /** Permission for changes. */
  managedBy: string;
  /** Permission for reading; absent: every caller in the tenant may read. */
  readBy?: string;
  result: R;
  create: C;
  update: U;
  /** Query parameters besides the common ones, passed as `filters`. */
  query: z.ZodObject;
  /** Allowed values of `sortBy`. */
  sortable: readonly [string, ...string[]];
  notFound: ProblemCode;
  /** Further error codes of create and update. */
  problems: ProblemCode[];
  /** Further error codes of delete. */
  deleteProblems: ProblemCode[];
  source: RecordSource<z.output<R>, z.output<C>, z.output<U>>;
}

/** Declares a record that has its own functions instead of a table. */
export const recordType = <
  R extends Shape,
  C extends Shape,
  U extends Shape,
  One extends string,
  Many extends string,
>(type: RecordType<R, C, U, One, Many>): RecordType<R, C, U, One, Many> => type;

/** A record whose members are declared. Its pages in the console and its tests are derived from them. */
export interface DefinedRecord<
  R extends Shape = Shape,
  C extends Shape = Shape,
  U extends Shape = Shape,
  One extends string = string,
  Many extends string = string,
> extends RecordType<R, C, U, One, Many> {
  /** The names of the record in the console. */
  labels: RecordLabels;
  actions: Readonly<Record<string, RecordAction>>;
  members: readonly RecordMember[];
  /** The member that names a row. */
  title: string;
  /** With the schema if it is not `public`. */
  table: string;
  softDeleted: boolean;
  /** True if it has a unique index. */
  isUnique: boolean;
}

/** The last segment of the path of its list, in the API and in the console. */
export const pathOfRecord = ({ path, many }: Pick<RecordType, "path" | "many">): string => path ?? many;

/** The names of a record as parts of operation ids and components, such as `createVendor` and `BulkVendorsRequest`. */
export function capitalNames({ one, many }: Pick<RecordType, "one" | "many">): { One: string; Many: string } {
  const [One = "", Many = ""] = [one, many].map((name) => name.charAt(0).toUpperCase() + name.slice(1));
  return { One, Many };
}

/**
 * A button of a row in the console that calls a route. It is shown to viewers who have the permission of the route. In
 * `confirm` and `done`, `{number}` is the value of the row's member `number`.
 */
export interface RecordAction<Row = Record<string, unknown>> {
  label: Label;
  /**
   * Operation id of a route of the extension with the path parameter `id` and without a body. If its method is GET, it answers
   * a `url`, which the button opens.
   */
  route: string;
  /** The rows that have the button; absent: all. The route refuses the others itself. */
  when?(row: Row): boolean;
  /** The question before the call. */
  confirm?: Label;
  /** The message after the call. */
  done?: Label;
  tone?: "primary" | "danger";
}

export interface RecordLabels {
  one?: Label;
  many?: Label;
  /** A sentence for a list without rows. */
  about?: Label;
}
