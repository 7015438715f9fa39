import type { z } from "zod";
import type { Access } from "../../domain/rights/checks.ts";
import type { ProblemCode } from "../../domain/problems/problem.ts";
import type { OnceWork } from "../../domain/requests/idempotency.ts";
import type { ServicePlatform } from "../../domain/platform.ts";
import type { Sql } from "../../infra/postgres/postgres.ts";
import type { Answer } from "./answer.ts";
import type { Call } from "./call.ts";

export const AREAS = {
  "Sign-in": "Sessions, tokens, own profile",
  "Sign-in providers": "A tenant's own identity providers and the email domains of their users",
  "Users": "Users of the caller's tenant",
  "Admin users": "Users of all tenants",
  "Tenants": "Tenants that the caller may read or manage",
  "Admin tenants": "All tenants",
  "SCIM":
    "Provisioning of the tenant's users and roles by a directory (SCIM 2.0). Errors have the format of SCIM",
  "Roles": "Roles of the caller's tenant",
  "Permissions": "The permission catalog",
  "Delegations": "Administrators who act as a user for a limited time",
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
  "Settings": "Texts by key that a tenant stores",
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

/** The way in which `run` reads a body. Exactly one member is set. */
export interface OwnContent {
  /** With `call.readJson`, after another check. */
  json?: z.ZodType;
  /** With `call.readFile`: the name of the multipart part. */
  file?: string;
  /** With `call.readContent`: the content types of the raw body. */
  raw?: string[];
  /** With `call.readForm` (application/x-www-form-urlencoded). */
  form?: z.ZodType;
}

/**
 * The declaration of a route: shapes, permission, answers, refusals and handler. `C` is the caller, `P`, `Q` and `B` are
 * the shapes of parameters, query and body, `I` is what the handler gets.
 */
export interface EndpointSpec<C, P, Q, B, I = EndpointInput<C, P, Q, B>> {
  method: "get" | "post" | "put" | "patch" | "delete";
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
   * Throws if the caller may not know of the resource that the path names. This error has priority: a request that any check
   * of headers, query or body refuses too is answered with it.
   */
  find?(input: FindInput<C>): Promise<void>;
  params?: P;
  query?: Q;
  body?: B;
  /** A body that `run` reads itself. */
  content?: OwnContent;
  /** True if an absent body counts as `{}`. */
  bodyOptional?: boolean;
  /** Accepts numbers in the body that a double does not hold; `run` reads them with `call.exactBody`. */
  exactNumbers?: boolean;
  /** Maximum size of the body in bytes; default 1 MiB. */
  bodyLimit?: number;
  /**
   * The handling of the Idempotency-Key header by a route that creates something. `atomically`: all work is one database
   * transaction. `in steps`: the work also calls other servers; the repeat of an interrupted request gets `once`.
   * `a secret`: the answer contains a secret that is never stored, so the header is refused. Absent: it is ignored.
   */
  creates?: "atomically" | "in steps" | "a secret";
  /**
   * Identifies a caller without a bearer token. The request counts for the quota of this caller; if it is null or this member
   * is absent, for the quota of the address.
   */
  principal?(platform: ServicePlatform, call: Call): Promise<string | null>;
  /** True if pages of every origin may call it regardless of CORS_ORIGINS, because browser clients of the OpenID provider do. */
  anyOrigin?: true;
  /**
   * The quota for which requests count. `none`: only refused requests count. `reports`: programs send reports to this route,
   * which count for a separate quota by the size of the body. Absent: the quota of the caller.
   */
  quota?: "none" | "reports";
  /**
   * The class of service, which decides how the request is admitted under load. `essential`: it is admitted even while
   * requests wait too long for a database connection. `stream`: it may wait long for an event, so it does not count as a
   * running request. `point read`: it only reads a few rows by their keys from `db`, so no statement takes long. `waits for
   * others`: it waits for a password hash or another server, so it starts at once and blocks no other request.
   */
  service?: "essential" | "stream" | "point read" | "waits for others";
  answers: Record<number, AnswerSpec>;
  problems: ProblemCode[];
  run(input: I): Promise<Answer> | Answer;
}

/** An endpoint of any types; `endpointsIn` checks them at the declaration. */
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

/** True if the route takes an Idempotency-Key. */
export const takesKey = ({ creates }: Pick<Endpoint, "creates">): boolean =>
  creates !== undefined && creates !== "a secret";

type Verb = Uppercase<Endpoint["method"]>;
const ROOT = "/api/v1";

/**
 * Declares routes of an area: `const endpoint = endpointsIn("Users")`, then `endpoint("GET /api/v1/users/{id}", { … })`. The
 * input types of `run` are derived from the shapes. Without `problems`, the route has none of its own.
 * @param short such as `/auth`: routes below `/api/v1/auth` are also served below `/auth`
 */
export const endpointsIn = (area: Area, short?: string) =>
<
  C,
  const Id extends string,
  A extends Record<number, AnswerSpec>,
  P extends z.ZodType | undefined = undefined,
  Q extends z.ZodType | undefined = undefined,
  B extends z.ZodType | undefined = undefined,
  L extends z.ZodType | undefined = undefined,
>(
  route: `${Verb} ${string}`,
  spec: Omit<EndpointSpec<C, P, Q, B>, "method" | "path" | "area" | "problems"> & {
    id: Id;
    answers: A;
    problems?: ProblemCode[];
    content?: OwnContent & { json?: L };
  },
): Operation<Id, P, Q, B extends undefined ? L : B, A> => {
  const [verb = "", path = ""] = route.split(" ");
  const alsoAt = short && path.startsWith(`${ROOT}${short}/`) ? { alsoAt: [path.slice(ROOT.length)] } : {};
  const declared = { problems: [], ...alsoAt, ...spec, method: verb.toLowerCase(), path, area };
  return declared as unknown as Operation<Id, P, Q, B extends undefined ? L : B, A>;
};
