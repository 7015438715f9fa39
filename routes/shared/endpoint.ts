import type { z } from "zod";
import type { Access } from "../../domain/access/checks.ts";
import type { ProblemCode } from "../../domain/problems/catalogue.ts";
import type { OnceWork } from "../../domain/requests/idempotency.ts";
import type { Platform } from "../../domain/shared/platform.ts";
import type { Sql } from "../../infra/postgres/postgres.ts";
import type { Answer } from "./answer.ts";
import type { Call } from "./call.ts";

export const AREAS = {
  "Sign-in": "Sessions, tokens, own profile",
  "Users": "Users of the caller's tenant",
  "Admin users": "Users across tenants",
  "Tenants": "Tenants the caller reaches",
  "Admin tenants": "Tenants across the service",
  "Roles": "Roles of the caller's tenant",
  "Permissions": "The permission catalog",
  "Audit": "Who changed what",
  "API keys": "Keys by which machines call the service",
  "Webhook endpoints": "Where events of the tenant are sent, and what became of them",
  "Reports": "Templates, executions, schedules",
  "Jobs": "Background jobs, recurring jobs, dead letters",
  "Files": "The file registry",
  "Notifications": "Messages and in-app notifications",
  "Notification templates": "Texts with variables",
  "Applications": "The tenant's products",
  "Settings": "Texts by key, a tenant's own",
  "Operations": "Health, documents, problem pages",
} as const;
export type Area = keyof typeof AREAS;

/** Areas whose problem documents carry `errors` as a list of strings instead of an object by field. */
export const AREAS_WITH_ERROR_LISTS: ReadonlySet<Area> = new Set<Area>(
  ["Sign-in", "Users", "Admin users", "Tenants", "Admin tenants", "Roles", "Permissions", "Audit"],
);

/** One documented success: its body's shape (absent: no body), and its content type when it is not JSON. */
export interface AnswerSpec {
  description: string;
  schema?: z.ZodType;
  contentType?: string;
  /** Further types the same is answered in, as text, by Accept or by what was asked for. */
  alsoAs?: string[];
  /** True where the answer carries the ETag of the resource's version. */
  etag?: true;
}

type Parsed<S> = S extends z.ZodType ? z.output<S> : undefined;

export interface EndpointInput<C, P, Q, B> {
  /** The service that answers the request. */
  platform: Platform;
  /** The pool of the service's database, `platform.sql`. */
  db: Sql;
  /** All endpoints that the service answers. */
  endpoints: readonly Endpoint[];
  caller: C;
  params: Parsed<P>;
  query: Parsed<Q>;
  body: Parsed<B>;
  call: Call;
  /** For work "in steps" under an Idempotency-Key, else null. */
  once: OnceWork | null;
}

/** A route as it is declared: shape, permission, answers, refusals, and the one thing it does. */
export interface EndpointSpec<C, P, Q, B> {
  method: "get" | "post" | "put" | "delete";
  /** With parameters in braces: `/api/v1/users/{id}`. */
  path: string;
  /** Further paths that answer the same. */
  alsoAt?: string[];
  /** True where the path holds a secret: the log gets the route's pattern instead. */
  hasSecretPath?: true;
  area: Area;
  /** Operation id of the API document. */
  id: string;
  summary: string;
  /** What the API document says of it besides. */
  details?: string;
  access: Access<C>;
  params?: P;
  query?: Q;
  body?: B;
  /** A body that `run` reads itself through `call.readJson`, where another check comes before the body's. */
  lateBody?: z.ZodType;
  /** The multipart part `run` reads itself through `call.readFile`. */
  filePart?: string;
  /** True where an absent body counts as `{}`. */
  bodyOptional?: boolean;
  /** Most bytes of the body; 1 MiB by default. */
  bodyLimit?: number;
  /**
   * Honours the Idempotency-Key header, for a route that makes something on behalf of a caller: `atomically` where its
   * work is all in the database, `in steps` where it reaches outside; then a request that was interrupted is repeated
   * with `once`.
   */
  creates?: "atomically" | "in steps";
  /** The answer holds a lasting secret, which is never kept: an Idempotency-Key is refused. */
  showsSecret?: true;
  /** True where requests are never counted against a rate limit. */
  unlimited?: true;
  answers: Record<number, AnswerSpec>;
  problems: ProblemCode[];
  run(input: EndpointInput<C, P, Q, B>): Promise<Answer> | Answer;
}

/** An endpoint whose types have been checked at its declaration. */
export type Endpoint = EndpointSpec<
  unknown,
  z.ZodType | undefined,
  z.ZodType | undefined,
  z.ZodType | undefined
>;

/** Declares a route; the handler's input types follow from the shapes. */
export function endpoint<
  C,
  P extends z.ZodType | undefined = undefined,
  Q extends z.ZodType | undefined = undefined,
  B extends z.ZodType | undefined = undefined,
>(spec: EndpointSpec<C, P, Q, B>): Endpoint {
  return spec as unknown as Endpoint;
}
