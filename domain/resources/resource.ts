import type { z } from "zod";
import type { Queryable, Sql, Tx } from "../../infra/postgres/postgres.ts";
import type { TenantCaller } from "../access/caller.ts";
import type { ProblemCode } from "../problems/catalogue.ts";
import type { SortDirection } from "../shared/list_order.ts";
import type { PagedResult, PageRequest } from "../shared/paging.ts";
import type { Versioned } from "../shared/versioned.ts";

/** What every list of a resource can be asked; `filters` are the resource's own. */
export interface ResourceListRequest extends PageRequest {
  sortBy?: string | undefined;
  sortDirection: SortDirection;
  search?: string | undefined;
  includeDeleted: boolean;
  filters: Record<string, unknown>;
}

/**
 * The five things the generic contract asks of a resource, always within the caller's tenant. `tableSource` does them
 * over a table; a resource with rules of its own brings its own five.
 */
export interface ResourceSource<Result, Create, Update> {
  list(sql: Sql, caller: TenantCaller, request: ResourceListRequest): Promise<PagedResult<Result>>;
  /** @throws the resource's not-found code */
  read(q: Queryable, caller: TenantCaller, id: string): Promise<Versioned<Result>>;
  create(tx: Tx, caller: TenantCaller, input: Create): Promise<Versioned<Result>>;
  /** @throws the resource's not-found code, PRECONDITION_FAILED */
  update(
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

/** A resource as the generic contract exposes it. */
export interface Resource<R extends Shape = Shape, C extends Shape = Shape, U extends Shape = Shape> {
  /** Names of one and of many, in ids, paths and audit: `application`, `applications`. */
  one: string;
  many: string;
  /** Last part of the path; absent: `many`. */
  path?: string;
  /** Creating answers a secret that is shown once: an Idempotency-Key is refused. */
  showsSecret?: true;
  /** Heading of the API document. */
  area: string;
  /** The permission that changing needs; reading needs a tenant only, unless the resource `isPrivate`. */
  managedBy: string;
  /** Reading needs `managedBy` too. */
  isPrivate?: true;
  result: R;
  create: C;
  update: U;
  /** Query parameters besides the common ones, handed on as `filters`. */
  query: z.ZodObject;
  /** What `sortBy` takes. */
  sortable: readonly [string, ...string[]];
  notFound: ProblemCode;
  /** Further refusals of creating and changing. */
  problems: ProblemCode[];
  source: ResourceSource<z.output<R>, z.output<C>, z.output<U>>;
}
