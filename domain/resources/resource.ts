import type { z } from "zod";
import type { Sql, Tx } from "../../infra/postgres/postgres.ts";
import type { ProblemCode } from "../problems/catalogue.ts";
import type { ResourceLabels } from "./labels.ts";
import type { TenantCaller } from "../rights/caller.ts";
import type { SortDirection } from "../shared/list_order.ts";
import type { PagedResult, PageRequest } from "../shared/paging.ts";
import type { Platform } from "../shared/platform.ts";
import type { Versioned } from "../shared/versioned.ts";

/** The members of the platform that a resource may use when it creates or changes something. */
export type ResourceParts = Pick<Platform, "config"> & {
  eventTypes: { has(type: string): boolean; keys(): Iterable<string> };
};

/** Query of a list. All resources have these members; the content of `filters` depends on the resource. */
export interface ResourceListRequest extends PageRequest {
  sortBy?: string | undefined;
  sortDirection: SortDirection;
  search?: string | undefined;
  includeDeleted: boolean;
  filters: Record<string, unknown>;
}

/**
 * The five operations of a resource, always limited to the caller's tenant. `tableSource` implements them for a
 * table; a resource with special rules implements them itself.
 */
export interface ResourceSource<Result, Create, Update> {
  list(sql: Sql, caller: TenantCaller, request: ResourceListRequest): Promise<PagedResult<Result>>;
  /** @throws the resource's not-found code */
  read(q: Sql, caller: TenantCaller, id: string): Promise<Versioned<Result>>;
  create(p: ResourceParts, tx: Tx, caller: TenantCaller, input: Create): Promise<Versioned<Result>>;
  /** @throws the resource's not-found code, PRECONDITION_FAILED */
  update(
    p: ResourceParts,
    tx: Tx,
    caller: TenantCaller,
    id: string,
    input: Update,
    ifMatch: string | null,
  ): Promise<Versioned<Result>>;
  /** @throws the resource's not-found code, PRECONDITION_FAILED */
  remove(tx: Tx, caller: TenantCaller, id: string, ifMatch: string | null): Promise<void>;
}

type Shape = z.ZodObject;

/** A resource with the data that its generic routes need. */
export interface Resource<
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
  /** Names in the console; absent parts are derived. */
  labels?: ResourceLabels;
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
  /** Columns that create and update write, such as `acme.orders.customer_id`; absent without a table. */
  written?: string[];
  source: ResourceSource<z.output<R>, z.output<C>, z.output<U>>;
}
