import type { z } from "zod";
import type { Access } from "../../domain/rights/checks.ts";
import type { ProblemCode } from "../../domain/problems/catalogue.ts";
import type { OnceWork } from "../../domain/requests/idempotency.ts";
import type { ServicePlatform } from "../../domain/platform.ts";
import type { Sql } from "../../infra/postgres/postgres.ts";
import type { Answer } from "./answer.ts";
import type { Call } from "./call.ts";

export const AREAS = {
  "Sign-in": "Sessions, tokens, own profile",
  "Users": "Users of the caller's tenant",
  "Admin users": "Users of all tenants",
  "Tenants": "Tenants the caller reaches",
  "Admin tenants": "All tenants",
  "Roles": "Roles of the caller's tenant",
  "Permissions": "The permission catalog",
  "Audit": "Who changed what",
  "API keys": "API keys of machines",
  "Service accounts": "Accounts of programs that act in several tenants",
  "OAuth clients": "Programs that users sign in to with this service as their OpenID provider",
  "OpenID provider":
    "Sign-in for other programs: OpenID Connect and OAuth 2.1. Errors have the format of OAuth",
  "Events": "Publishing events and polling for them",
  "Webhook endpoints": "Webhook endpoints of the tenant and their deliveries",
  "Reports": "Templates, executions, schedules",
  "Document templates": "Templates of documents such as invoices and letters",
  "Jobs": "Background jobs, recurring jobs, dead letters",
  "Files": "The file registry",
  "Notifications": "Messages and in-app notifications",
  "Notification templates": "Message templates with variables",
  "Applications": "The tenant's products",
  "Settings": "Texts by key, a tenant's own",
  "Looks": "How the tenant's mails, hosted pages and documents look, and its sender addresses",
  "Operations": "Health, documents, problem pages",
} as const;
export type Area = keyof typeof AREAS;

/** Areas whose problem documents have `errors` as a list of strings instead of an object by field. */
export const AREAS_WITH_ERROR_LISTS: ReadonlySet<string> = new Set<Area>(
  ["Sign-in", "Users", "Admin users", "Tenants", "Admin tenants", "Roles", "Permissions", "Audit"],
);

/** A success answer: the shape of its body (absent: no body), and its content type if it is not JSON. */
export interface AnswerSpec {
  description: string;
  schema?: z.ZodType;
  contentType?: string;
  /** Further content types of the answer, chosen by Accept or a parameter. */
  alsoAs?: string[];
  /** True if the answer has an ETag with the version of the resource. */
  etag?: true;
}

export interface FindInput<C> {
  db: Sql;
  caller: C;
  /** The parameters of the path as they were sent. */
  params: Record<string, string>;
}

type Parsed<S> = S extends z.ZodType ? z.output<S> : undefined;

export interface EndpointInput<C, P, Q, B> {
  /** The service that answers the request. */
  platform: ServicePlatform;
  /** The pool of the service's database: `platform.sql`, or of a point read `platform.pointReads`. */
  db: Sql;
  /** All endpoints that the service answers. */
  endpoints: readonly Endpoint[];
  caller: C;
  params: Parsed<P>;
  query: Parsed<Q>;
  body: Parsed<B>;
  call: Call;
  /** For `creates: "in steps"` with an Idempotency-Key; otherwise null. */
  once: OnceWork | null;
}

/**
 * The declaration of a route: shapes, permission, answers, refusals and handler. `C` is the caller, `P`, `Q` and `B` are
 * the shapes of parameters, query and body, `I` is what the handler gets.
 */
export interface EndpointSpec<C, P, Q, B, I = EndpointInput<C, P, Q, B>> {
  method: "get" | "post" | "put" | "delete";
  /** With parameters in braces: `/api/v1/users/{id}`. */
  path: string;
  /** Further paths of the same route. */
  alsoAt?: string[];
  /** True if the path contains a secret: the log then shows the route pattern. */
  hasSecretPath?: true;
  /** Heading in the API document: one of `AREAS`, or that of an extension. */
  area: string;
  /** Operation id of the API document. */
  id: string;
  summary: string;
  /** Further description in the API document. */
  details?: string;
  access: Access<C>;
  /**
   * Throws if the caller may not know of what the path names. A request that any other check refuses, of headers, query and
   * body too, is refused with this error instead.
   */
  find?(input: FindInput<C>): Promise<void>;
  params?: P;
  query?: Q;
  body?: B;
  /** A body that `run` reads with `call.readJson`, after another check. */
  lateBody?: z.ZodType;
  /** The multipart part that `run` reads with `call.readFile`. */
  filePart?: string;
  /** Content types of the raw body that `run` reads with `call.readContent`. */
  rawBody?: string[];
  /** The form (application/x-www-form-urlencoded) that `run` reads with `call.readForm`. */
  form?: z.ZodType;
  /** True if an absent body counts as `{}`. */
  bodyOptional?: boolean;
  /** Accepts numbers in the body that a double does not hold; `run` reads them with `call.exactBody`. */
  exactNumbers?: boolean;
  /** Maximum size of the body in bytes; default 1 MiB. */
  bodyLimit?: number;
  /**
   * Accepts the Idempotency-Key header, for a route that creates something. `atomically`: all work is one database
   * transaction. `in steps`: the work also calls other servers; the repeat of an interrupted request gets `once`.
   */
  creates?: "atomically" | "in steps";
  /** The answer contains a secret that is never stored, so an Idempotency-Key is refused. */
  showsSecret?: true;
  /**
   * Identifies a caller without a bearer token, whose quota the request then counts for; null: that of its address.
   * Absent: always that of its address.
   */
  principal?(platform: ServicePlatform, call: Call): Promise<string | null>;
  /** True if pages of every origin may call it, whatever CORS_ORIGINS allows: browser clients of the OpenID provider. */
  anyOrigin?: true;
  /** True if rate limits do not apply, except to refused requests. */
  unlimited?: true;
  /** True if programs report what they did to it: it counts for a quota of its own, by the size of its body. */
  isReport?: true;
  /** True if it is answered also while requests wait too long for a database connection. */
  skipsConnectionWait?: true;
  /** True if it may wait long for something to happen: a poll or a stream. It does not count as a running request. */
  mayWait?: true;
  /** True if it only reads a few rows by their keys from `db`, so that no statement takes long. */
  isPointRead?: true;
  /** True if its work may wait for a password hash or another server. It then starts at once and keeps no other waiting. */
  waitsForOthers?: true;
  answers: Record<number, AnswerSpec>;
  problems: ProblemCode[];
  run(input: I): Promise<Answer> | Answer;
}

/** An endpoint of any types; `endpoint` checks them at the declaration. */
export type Endpoint = EndpointSpec<
  unknown,
  z.ZodType | undefined,
  z.ZodType | undefined,
  z.ZodType | undefined
>;

/** An endpoint with the types of its id, shapes and answers, for typed calls of it. */
export interface Operation<Id extends string, P, Q, B, A> extends Endpoint {
  id: Id;
  types?: { params: P; query: Q; body: B; answers: A };
}

/** Declares a route. The input types of `run` follow from the shapes. */
export function endpoint<
  C,
  const Id extends string,
  A extends Record<number, AnswerSpec>,
  P extends z.ZodType | undefined = undefined,
  Q extends z.ZodType | undefined = undefined,
  B extends z.ZodType | undefined = undefined,
  L extends z.ZodType | undefined = undefined,
>(
  spec: EndpointSpec<C, P, Q, B> & { area: Area; id: Id; answers: A; lateBody?: L },
): Operation<Id, P, Q, B extends undefined ? L : B, A> {
  return spec as unknown as Operation<Id, P, Q, B extends undefined ? L : B, A>;
}
