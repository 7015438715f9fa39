import { z } from "zod";
import type { Operations } from "../../areas.ts";
import { ENDPOINTS } from "../../endpoints.ts";
import type { Endpoint } from "../../shared/endpoint.ts";

export type OperationId = keyof Operations;
type TypesOf<Id extends OperationId> = NonNullable<Operations[Id]["types"]>;

/** Query parameters. Undefined, null and empty values are left out. An array becomes a repeated parameter. */
export type Query = Record<string, QueryValue>;
type QueryValue = string | number | boolean | null | undefined | string[];

/** Values from a form. The API checks them, so any text may stand for a choice or a number. */
type Sent<T> = T extends string ? string
  : T extends number ? number | string
  : T extends readonly (infer Item)[] ? readonly Sent<Item>[]
  : T extends object ? { [Name in keyof T]: Sent<T[Name]> }
  : T;

type Params<S> = S extends z.ZodType ? { params: { [Name in keyof z.input<S>]?: string } } : unknown;
type QueryOf<S> = S extends z.ZodType ? { query?: { [Name in keyof z.input<S>]?: QueryValue } } : unknown;
type Body<S> = S extends z.ZodType ? { body: Sent<z.input<S>> | FormData } : { body?: FormData };

/** The input of an operation: the parameters of its path and query, its body, and If-Match. */
export type Input<Id extends OperationId> =
  & Params<TypesOf<Id>["params"]>
  & QueryOf<TypesOf<Id>["query"]>
  & Body<TypesOf<Id>["body"]>
  & Pick<LooseInput, "ifMatch" | "headers" | "signal">;

/** The arguments of a call: an operation that needs no input is called with its id alone. */
export type Arguments<Id extends OperationId> = Record<never, never> extends Input<Id> ? [input?: Input<Id>]
  : [input: Input<Id>];

type Answers<A> = {
  [Status in keyof A]: A[Status] extends { schema: infer S extends z.ZodType } ? z.input<S> : undefined;
}[keyof A];

/** The body of an operation's answer. */
export type Answer<Id extends OperationId> = Answers<TypesOf<Id>["answers"]>;

/** One row of what an operation lists. */
export type Row<Id extends OperationId> = Answer<Id> extends { items: (infer Item)[] } ? Item
  : Answer<Id> extends (infer Item)[] ? Item
  : never;

/** The input of any operation. */
export interface LooseInput {
  params?: Record<string, string | undefined>;
  query?: Query;
  body?: unknown;
  /** ETag that was read with the resource. The API refuses the change if the resource has changed since. */
  ifMatch?: string;
  headers?: Record<string, string>;
  signal?: AbortSignal;
}

/** The members of an endpoint that a call of it needs. Routes of extensions have them too. */
export type CalledEndpoint = Pick<Endpoint, "id" | "method" | "path"> & {
  access: { permissions: string[] };
};

const endpoints = new Map<string, Endpoint>(ENDPOINTS.map((spec) => [spec.id, spec]));

/** The endpoint of an operation. */
export function endpointOf(id: OperationId): Endpoint {
  const spec = endpoints.get(id);
  if (!spec) throw new Error(`no endpoint has the operation id ${id}`);
  return spec;
}

/** The query parameters of an endpoint. */
const parametersOf = ({ query }: Pick<Endpoint, "query">): Record<string, z.ZodType> =>
  ((query instanceof z.ZodPipe ? query.in : query ?? {}) as { shape?: Record<string, z.ZodType> }).shape ??
    {};

/** True if an endpoint shows a system administrator all tenants, unless its parameter `tenantId` names one. */
export const showsAllTenants = (endpoint: CalledEndpoint & { query?: Endpoint["query"] }): boolean =>
  !/^\/api\/v1\/(admin|auth)\//.test(endpoint.path) && Object.hasOwn(parametersOf(endpoint), "tenantId");

/** The parameters of a page's address that an operation has too. The page size may be "largest". */
export function queryOf(endpoint: Endpoint, address: URLSearchParams): Query {
  const shape = parametersOf(endpoint);
  const known = Object.fromEntries([...address].filter(([name]) => Object.hasOwn(shape, name)));
  if (known.pageSize === undefined && shape.pageSize?.safeParse(DEFAULT_ROWS).success) {
    return { ...known, pageSize: DEFAULT_ROWS };
  }
  if (known.pageSize !== "largest") return known;
  const largest = PAGE_SIZES.find((size) => shape.pageSize?.safeParse(size).success);
  return { ...known, pageSize: largest ?? null };
}

/** The page size of a list if its operation accepts it. */
const DEFAULT_ROWS = "50";
/** The largest page sizes of operations, largest first. */
const PAGE_SIZES = ["100", "50", "20"];

/** The path and query of a call. */
export function addressOf(
  endpoint: Pick<Endpoint, "id" | "path">,
  { params = {}, query = {} }: LooseInput,
): string {
  const path = endpoint.path.replaceAll(/\{(\w+)\}/g, (_, name: string) => {
    const value = params[name];
    if (value === undefined || value === "") {
      throw new Error(`${endpoint.id} needs the path parameter ${name}`);
    }
    return encodeURIComponent(value);
  });
  return path + searchOf(query);
}

/** `?a=1&b=2`, or "" if no parameter has a value. */
export function searchOf(query: Query): string {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (Array.isArray(value)) { for (const item of value) search.append(name, item); }
    else if (value !== undefined && value !== null && value !== "") search.set(name, String(value));
  }
  const text = search.toString();
  return text ? `?${text}` : "";
}
