import type { z } from "zod";
import { type Context, Hono } from "hono";
import { type Caller, principalId } from "../domain/rights/caller.ts";
import { admit } from "../domain/rights/checks.ts";
import { addressKey } from "../domain/access/sign_in/address.ts";
import { problem } from "../domain/problems/problem.ts";
import type { OnceWork } from "../domain/requests/idempotency.ts";
import { type Quota, RateLimit, requireQuota } from "../domain/requests/rate_limit.ts";
import type { ServicePlatform } from "../domain/platform.ts";
import { withDatabase } from "../domain/shared/platform.ts";
import { requireStorableText } from "../domain/shared/storable.ts";
import type { Config } from "../infra/config.ts";
import { mainPool, type Sql } from "../infra/postgres/postgres.ts";
import { traceIdOf } from "../infra/telemetry/trace_ids.ts";
import { nameRequestSpan } from "../infra/telemetry/tracing.ts";
import { addMissing, type Answer, commonHeaders, type Respond, responder } from "./shared/answer.ts";
import { shapeOf } from "./shared/body_members.ts";
import { BODY_LIMIT, Call, parse } from "./shared/call.ts";
import { callerOf } from "./shared/caller_of.ts";
import { compressedPage, mayCompress } from "./shared/compression.ts";
import { Cors } from "./shared/cors.ts";
import { AREAS_WITH_ERROR_LISTS, type Endpoint } from "./shared/endpoint.ts";
import { answeredOnce, idempotencyKey, requireNoKey } from "./shared/idempotency_key.ts";
import { refusalCodes } from "./shared/openapi_refusals.ts";
import { problemAnswer } from "./shared/problem_document.ts";
import { requireConnection } from "./shared/require_connection.ts";
import { onReplica } from "./shared/replica_reads.ts";
import { logSecurityEvent } from "./shared/security_log.ts";
import { untilRead } from "./shared/stream_end.ts";
import { TimeLimit } from "./shared/time_limit.ts";
import { queryValues } from "./shared/validation.ts";

export interface AppOptions {
  /** Passed to the endpoints. */
  platform: ServicePlatform;
  endpoints: readonly Endpoint[];
  /** For tests: fails if an answer does not match the shape or the codes that its endpoint declares. */
  checkAnswers?: boolean;
  /** True if no quota limits its callers: for work that the service does in the name of a user. */
  unlimited?: boolean;
}

/** Answers a request of the client address `ip`. */
export type Handle = (request: Request, ip: string | null) => Promise<Response>;

/** The parts that all requests of an application share. */
interface Pipeline extends AppOptions {
  respond: Respond;
  timeLimit: TimeLimit;
  /** The endpoints whose answers may be compressed. */
  compressed: ReadonlySet<Endpoint>;
  /** Quotas of callers, and of addresses for requests without a valid token; null: no limit. */
  callers: RateLimit | null;
  addresses: RateLimit | null;
}

/** For routes that pages of every origin may call. Credentials are never allowed, see `Cors`. */
const EVERY_ORIGIN = new Cors("*");

/** Methods that metrics count by name; all others count as `other`. */
const METHODS: ReadonlySet<string> = new Set(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]);

/** The HTTP application: all endpoints share one pipeline of trace, authentication, permission, validation and answer. */
export function createApp(o: AppOptions): Handle {
  const { config, baseUrl, stopping, log, metrics } = o.platform;
  const cors = config.CORS_ORIGINS ? new Cors(config.CORS_ORIGINS) : null;
  const limit = (perMinute: number) => perMinute > 0 && !o.unlimited ? new RateLimit(perMinute) : null;
  const pipeline: Pipeline = {
    ...o,
    respond: responder({ baseUrl, isSecure: isSecure(config), cors }),
    compressed: new Set(o.endpoints.filter(mayCompress)),
    timeLimit: new TimeLimit(config.REQUEST_TIMEOUT_SECONDS * 1000, stopping),
    callers: limit(config.RATE_LIMIT_PER_MINUTE),
    addresses: limit(config.RATE_LIMIT_ANONYMOUS_PER_MINUTE),
  };
  const app = new Hono<{ Bindings: { ip: string | null } }>();
  const refuse = ({ req }: Context, failure: unknown) => {
    const traceId = traceIdOf(req.raw.headers);
    const { path } = req;
    const context = { baseUrl: baseUrl(), instance: path, loggedPath: path, traceId, errorList: false };
    const answer = problemAnswer(failure, context, log);
    metrics.countRequest(METHODS.has(req.method) ? req.method : "other", "none", answer.status, 0);
    return pipeline.respond(answer, req.raw, traceId);
  };
  const methodsByPath = new Map<string, Set<string>>();
  for (const spec of o.endpoints) {
    for (const path of [spec.path, ...spec.alsoAt ?? []]) {
      const pattern = path.replaceAll(/\{(\w+)\}/g, ":$1");
      app.on(spec.method, pattern, (c) => serve(spec, c.req.raw, c.req.param(), c.env.ip, pipeline));
      methodsByPath.set(pattern, (methodsByPath.get(pattern) ?? new Set()).add(spec.method.toUpperCase()));
    }
  }
  const routes = [...methodsByPath].map(([pattern, methods]) => ({ fits: pathExpression(pattern), methods }));
  app.notFound((c) => {
    const { path, method } = c.req;
    const methods = routes.filter(({ fits }) => fits.test(path)).flatMap(({ methods }) => [...methods]);
    if (methods.length === 0) {
      return refuse(c, problem("ROUTE_NOT_FOUND", `No route answers ${method} ${path}.`));
    }
    const allow = [...new Set(methods.flatMap((name) => name === "GET" ? ["GET", "HEAD"] : [name]))].join(
      ", ",
    );
    const detail = `${path} answers ${allow}; the request's method is ${method}.`;
    return refuse(c, problem("METHOD_NOT_ALLOWED", detail, { headers: { allow } }));
  });
  app.onError((failure, c) => refuse(c, failure));
  const common = commonHeaders(isSecure(config));
  const open = new Set(
    o.endpoints.filter(({ anyOrigin }) => anyOrigin).flatMap(({ path, alsoAt = [] }) => [path, ...alsoAt]),
  );
  const corsFor = (request: Request) =>
    request.method === "OPTIONS" && open.has(pathOf(request).split("?")[0] ?? "") ? EVERY_ORIGIN : cors;
  return async (request, ip) => {
    const preflight = corsFor(request)?.preflight(request);
    return preflight ? addMissing(preflight, common) : await app.fetch(request, { ip });
  };
}

/** Path and query of a request. A URL object would resolve `..` and replace backslashes. */
const pathOf = ({ url }: Request): string => url.slice(url.indexOf("/", url.indexOf("//") + 2));

/** Whether browsers must use TLS. */
const isSecure = (config: Pick<Config, "PUBLIC_URL">): boolean =>
  config.PUBLIC_URL?.startsWith("https:") ?? false;

/** The paths that a route pattern matches, like in the router. A URL object would resolve `..` and replace backslashes. */
const pathExpression = (pattern: string): RegExp =>
  new RegExp(`^${pattern.replaceAll(".", "\\.").replaceAll(/:\w+/g, "[^/]+")}$`);

/** A part with its own pages under one path. It is called before the API; null passes the request to the API. */
export interface Mount {
  /** Its path, for example `/console`. It gets requests to this path and all paths below. */
  path: string;
  serve(request: Request, ip: string | null): Promise<Response | null>;
}

/** Calls the mounted parts, then the API. */
export function withMounts(
  mounts: readonly Mount[],
  api: Handle,
  { log, config }: Pick<ServicePlatform, "log" | "config">,
): Handle {
  if (mounts.length === 0) return api;
  const common = commonHeaders(isSecure(config));
  return async (request, ip) => {
    const path = pathOf(request);
    for (const mount of mounts) {
      if (!isBelow(path, mount.path)) continue;
      // a Host header that is no host; pages read the URL
      if (!URL.canParse(request.url)) return addMissing(new Response("Bad Request", { status: 400 }), common);
      try {
        const response = await mount.serve(request, ip);
        if (response) return addMissing(await compressedPage(response, request), common);
      } catch (error) {
        log.error("a mounted part failed", { path: mount.path, error });
        return addMissing(new Response("Internal Server Error", { status: 500 }), common);
      }
    }
    return await api(request, ip);
  };
}

const isBelow = (path: string, base: string): boolean =>
  path.startsWith(base) && ["", "/", "?"].includes(path.charAt(base.length));

async function serve(
  spec: Endpoint,
  request: Request,
  rawParams: Record<string, string>,
  ip: string | null,
  o: Pipeline,
): Promise<Response> {
  const started = performance.now();
  nameRequestSpan(request.method, spec.path);
  const call = new Call(request, traceIdOf(request.headers), ip, {
    bytes: spec.bodyLimit ?? BODY_LIMIT,
    milliseconds: o.platform.config.BODY_TIMEOUT_SECONDS * 1000,
    room: o.platform.runningRequests,
  });
  const refuse = (failure: unknown) => {
    const errorList = AREAS_WITH_ERROR_LISTS.has(spec.area);
    const instance = call.url.pathname;
    const loggedPath = spec.hasSecretPath ? spec.path : instance;
    const context = { baseUrl: o.platform.baseUrl(), instance, loggedPath, traceId: call.traceId, errorList };
    const answer = problemAnswer(failure, context, o.platform.log);
    if (o.checkAnswers) checkRefusal(spec, answer);
    return answer;
  };
  let answer: Answer;
  try {
    answer = await o.timeLimit.within(call, started, run(spec, call, rawParams, o, refuse));
  } catch (failure) {
    answer = refuse(failure);
  }
  const milliseconds = performance.now() - started;
  logSecurityEvent(spec, call, answer, o.platform.log);
  o.platform.metrics.countRequest(request.method, spec.path, answer.status, milliseconds / 1000);
  o.platform.log.debug("request", {
    method: request.method,
    route: spec.path,
    status: answer.status,
    durationMs: Math.round(milliseconds * 10) / 10,
    traceId: call.traceId,
  });
  const { quota, ignoredMembers, ignoresTenantHeader } = call;
  return o.respond(answer, request, call.traceId, {
    ...spec.anyOrigin ? EVERY_ORIGIN.headers(request) : {},
    ...quota ? quotaHeaders(quota) : {},
    ...ignoresTenantHeader ? { "steward-ignored-headers": "X-Tenant-ID" } : {},
    ...ignoredMembers.size > 0 ? { [IGNORED_HEADER]: listed([...ignoredMembers]) } : {},
  }, o.compressed.has(spec));
}

/**
 * Runs a request within the bounds of the instance. What it holds is released when its work has ended, which may be long
 * after a refusal at the time limit. A stream holds its place until it ends.
 */
async function run(
  spec: Endpoint,
  call: Call,
  rawParams: Record<string, string>,
  o: Pipeline,
  refuse: (failure: unknown) => Answer,
): Promise<Answer> {
  if (spec.skipsConnectionWait) return await answerOf(spec, call, rawParams, o, refuse);
  requireConnection(o.platform);
  if (!spec.mayWait) call.release = await o.platform.runningRequests.run(spec.waitsForOthers);
  let isStream = false;
  try {
    const answer = await answerOf(spec, call, rawParams, o, refuse);
    isStream = spec.mayWait === true && answer.body instanceof ReadableStream && !call.signal.aborted;
    return isStream ? { ...answer, body: untilRead(answer.body as ReadableStream, call.release) } : answer;
  } finally {
    if (!isStream) call.release();
    call.releaseBody();
  }
}

async function answerOf(
  spec: Endpoint,
  call: Call,
  rawParams: Record<string, string>,
  o: Pipeline,
  refuse: (failure: unknown) => Answer,
): Promise<Answer> {
  const { request } = call;
  const { platform, endpoints } = o;
  const presented = await countedCaller(spec, call, o);
  if (spec.mayWait && presented) call.release = platform.runningRequests.wait(principalId(presented));
  call.ignoresTenantHeader = namesOtherTenant(presented, request.headers);
  const caller = admit(spec.access, presented);
  if (spec.showsSecret) requireNoKey(request.headers);
  const key = spec.creates ? idempotencyKey(request.headers) : null;
  const rawQuery = request.url.includes("?") ? queryValues(call.url.searchParams) : {};
  if (request.url.includes("%")) {
    requireStorableText(rawParams);
    requireStorableText(rawQuery);
  }
  const params = spec.params && parse(spec.params, rawParams);
  const query = spec.query && parseQuery(spec, spec.query, rawQuery, call);
  const body = spec.body && await call.readJson(spec.body, { optional: spec.bodyOptional });
  const work = async (db: Sql, once: OnceWork | null) => {
    const answer = await spec.run({
      platform: db === platform.sql ? platform : withDatabase(platform, db),
      db,
      endpoints,
      caller,
      params,
      query,
      body,
      call,
      once,
    });
    if (o.checkAnswers) checkAnswer(spec, answer);
    return answer;
  };
  const read = async (db: Sql) => await work(db, null);
  if (spec.method === "get") return await onReplica(platform, call, read) ?? await read(platform.sql);
  if (key === null || presented === null) return await work(platform.sql, null);
  const leaseSeconds = o.platform.config.JOB_LEASE_SECONDS;
  return await answeredOnce(
    mainPool(platform.sql),
    { spec, caller: presented, key, call, leaseSeconds },
    work,
    refuse,
  );
}

/**
 * Parses the query of a request. Unknown parameters of API routes are treated like unknown members of a body, except
 * `tenantId`, which names the context everywhere. The routes of protocols such as OAuth ignore what they do not know.
 * @throws VALIDATION_ERROR
 */
function parseQuery<S extends z.ZodType>(
  { path }: Endpoint,
  schema: S,
  { tenantId, ...query }: Record<string, string | string[]>,
  call: Call,
): z.output<S> {
  const isKnown = tenantId === undefined || shapeOf(schema)?.members?.has("tenantId");
  const given = isKnown && tenantId !== undefined ? { ...query, tenantId } : query;
  return path.startsWith("/api/") ? call.parseBody(schema, given) : parse(schema, given);
}

/** True if X-Tenant-ID names another tenant than the token. The token decides, and a header tells the caller. */
function namesOtherTenant(caller: Caller | null, headers: Headers): boolean {
  const named = headers.get("x-tenant-id")?.trim().toLowerCase();
  return Boolean(named && caller?.tokenTenantId && named !== caller.tokenTenantId);
}

/**
 * The caller of the request, or null. Each caller has a quota. Requests without a valid token share the quota of their
 * address.
 * @throws RATE_LIMITED, and what `authenticate` throws
 */
async function countedCaller(spec: Endpoint, call: Call, o: Pipeline): Promise<Caller | null> {
  const find = async () => spec.access.needsCaller ? await callerOf(o.platform, call) : null;
  if (spec.unlimited) return call.caller = await find();
  const caller = await find().catch((failure) => {
    countRequest(o.addresses, addressKey(call.ip), call);
    throw failure;
  });
  call.caller = caller;
  if (caller) countRequest(o.callers, principalId(caller), call);
  else await countStranger(spec, call, o);
  return caller;
}

/** Counts a request without a caller: for the client that it authenticates, else for its address. */
async function countStranger(spec: Endpoint, call: Call, o: Pipeline): Promise<void> {
  const principal = o.callers || o.addresses ? await spec.principal?.(o.platform, call) : null;
  if (principal) countRequest(o.callers, principal, call);
  else countRequest(o.addresses, addressKey(call.ip), call);
}

function countRequest(limit: RateLimit | null, key: string, call: Call): void {
  if (!limit) return;
  call.quota = limit.take(key);
  requireQuota(call.quota);
}

const IGNORED_HEADER = "steward-ignored-members";
const MOST_NAMED = 20;
const LONGEST_NAME = 200;

/** Names as a header value. Commas and characters that are not visible ASCII are percent-encoded. */
const listed = (names: readonly string[]): string =>
  names.slice(0, MOST_NAMED).map((name) =>
    name.slice(0, LONGEST_NAME).toWellFormed().replaceAll(/[^\x21-\x7e]|[%,]/gu, encodeURIComponent)
  ).join(", ");

/** The three fields of draft-ietf-httpapi-ratelimit-headers-06; later drafts use one field. */
const quotaHeaders = ({ limit, remaining, resetSeconds }: Quota): Record<string, string> => ({
  "ratelimit-limit": String(limit),
  "ratelimit-remaining": String(remaining),
  "ratelimit-reset": String(resetSeconds),
});

function checkAnswer(spec: Endpoint, { status, headers, body }: Answer): void {
  const declared = spec.answers[status];
  if (!declared) throw new Error(`${spec.id} answered ${status}, which it does not declare`);
  if (headers["content-type"]) return;
  if (declared.schema === undefined && body === undefined) return;
  const result = declared.schema?.safeParse(JSON.parse(JSON.stringify(body ?? null)));
  if (!result?.success) {
    throw new Error(`${spec.id} answered ${status} in another shape: ${result?.error.message}`);
  }
}

/** Fails if a route refuses with a code that it does not declare: the API document would be incomplete. */
function checkRefusal(spec: Endpoint, { body }: Answer): void {
  const { code } = JSON.parse(String(body));
  if (code === undefined || refusalCodes(spec).has(code)) return;
  throw new Error(`${spec.id} refused with ${code}, which it does not declare`);
}
