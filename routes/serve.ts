import type { z } from "zod";
import type { ServicePlatform } from "../domain/platform.ts";
import type { OnceWork } from "../domain/requests/idempotency.ts";
import { type Caller, isSystemAdmin, principalId } from "../domain/rights/caller.ts";
import { admit, requireDelegated, requireWithinTenant } from "../domain/rights/checks.ts";
import { withDatabase } from "../domain/shared/platform.ts";
import { requireStorableText } from "../domain/shared/storable.ts";
import type { Log } from "../infra/log.ts";
import { mainPool, type Sql } from "../infra/postgres/postgres.ts";
import { nameRequestSpan, traceIdOf, withTrace } from "../infra/telemetry/tracing.ts";
import type { Answer, Respond } from "./shared/answer.ts";
import { allMembers, type Shape, shapeOf } from "./shared/body_members.ts";
import { BODY_LIMIT, type BodyLimits, Call, parse } from "./shared/call.ts";
import { mayCompress } from "./shared/compression.ts";
import { Cors } from "./shared/cors.ts";
import { AREAS_WITH_ERROR_LISTS, type Endpoint, takesKey } from "./shared/endpoint.ts";
import { answeredOnce, idempotencyKey, requireNoKey } from "./shared/idempotency_key.ts";
import { refusalCodes } from "./shared/openapi_refusals.ts";
import { problemAnswer } from "./shared/problem_document.ts";
import { quotaHeaders, type Quotas } from "./shared/quotas.ts";
import { onReplica } from "./replica_reads.ts";
import { requireConnection } from "./shared/require_connection.ts";
import type { TimeLimit } from "./shared/time_limit.ts";
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

/** The parts that all requests of an application share. */
export interface Pipeline extends AppOptions {
  respond: Respond;
  timeLimit: TimeLimit;
  quotas: Quotas;
}

/** An endpoint with what all requests for it share. */
export interface Route {
  spec: Endpoint;
  limits: BodyLimits;
  /** True if its answers may be compressed. */
  mayCompress: boolean;
  /** The members of all answers of its resource. */
  answered: () => Shape | null;
}

export function routeOf(spec: Endpoint, { platform, endpoints }: AppOptions): Route {
  let shape: Shape | null | undefined;
  return {
    spec,
    limits: {
      bytes: spec.bodyLimit ?? BODY_LIMIT,
      milliseconds: platform.config.BODY_TIMEOUT_SECONDS * 1000,
      room: platform.runningRequests,
    },
    mayCompress: mayCompress(spec),
    answered: () => shape === undefined ? shape = answersOf(spec, endpoints) : shape,
  };
}

/** One request for an endpoint. */
interface Served {
  spec: Endpoint;
  call: Call;
  rawParams: Record<string, string>;
  /** The caller, if it became known before the body was read; null: none. */
  presented?: Caller | null;
}

/** Larger bodies are read for callers that are known and have a quota left. */
const LARGE_BODY_BYTES = 64 * 1024;

/** For routes that pages of every origin may call. Credentials are never allowed, see `Cors`. */
export const EVERY_ORIGIN = new Cors("*");

/** Answers a request for an endpoint. */
export async function serve(
  { spec, limits, mayCompress, answered }: Route,
  { request, rawParams, ip }: { request: Request; rawParams: Record<string, string>; ip: string | null },
  o: Pipeline,
): Promise<Response> {
  const started = performance.now();
  nameRequestSpan(request.method, spec.path);
  const call = new Call(request, traceIdOf(request.headers), ip, limits, answered);
  const served = { spec, call, rawParams };
  let answer: Answer;
  try {
    answer = await o.timeLimit.within(call, started, withTrace(call.traceId, () => run(served, o)));
  } catch (failure) {
    answer = refusal(o.quotas.countedFailure(failure, call), served, o);
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
  }, mayCompress);
}

/** The problem document of a failed request. */
function refusal(failure: unknown, { spec, call }: Served, { platform, checkAnswers }: Pipeline): Answer {
  const errorList = AREAS_WITH_ERROR_LISTS.has(spec.area);
  const instance = call.url.pathname;
  const loggedPath = spec.hasSecretPath ? spec.path : instance;
  const context = { baseUrl: platform.baseUrl(), instance, loggedPath, traceId: call.traceId, errorList };
  const answer = problemAnswer(failure, context, platform.log);
  if (checkAnswers) checkRefusal(spec, answer);
  return answer;
}

/**
 * Runs a request within the bounds of the instance. It takes its place when its body has arrived. What it holds is
 * released when its work has ended, which may be long after a refusal at the time limit. A stream holds its place until
 * it ends.
 */
async function run(served: Served, o: Pipeline): Promise<Answer> {
  const { spec, call } = served;
  if (spec.service === "essential") return await answerOf(served, o);
  const mayWait = spec.service === "stream";
  if (!hasOwnConnections(spec, o.platform)) requireConnection(o.platform);
  const { runningRequests } = o.platform;
  const end = () => runningRequests.end(call.holding);
  let isStream = false;
  try {
    if (spec.method !== "get") await receiveBody(served, o);
    if (!mayWait) await runningRequests.run(call.holding, spec.service === "waits for others");
    const answer = await answerOf(served, o);
    isStream = mayWait && answer.body instanceof ReadableStream && !call.signal.aborted;
    return isStream ? { ...answer, body: untilRead(answer.body as ReadableStream, end) } : answer;
  } finally {
    if (!isStream) end();
    call.releaseBody();
  }
}

/**
 * Reads the body. The caller of a large one, or of one that its address has no room for, becomes known first, and has its
 * request counted. A place bounds that.
 */
async function receiveBody(served: Served, o: Pipeline): Promise<void> {
  const { spec, call } = served;
  const { runningRequests } = o.platform;
  const isLarge = call.declaredSize > LARGE_BODY_BYTES;
  const hasCredential = spec.access.needsCaller && call.request.headers.has("authorization");
  if (hasCredential && (isLarge || !runningRequests.mayReceive(call.holding))) {
    await runningRequests.run(call.holding, true);
    try {
      served.presented = await o.quotas.countedCaller(spec, call);
    } finally {
      runningRequests.end(call.holding);
    }
  }
  await call.bytes().catch(() => {}); // the failure is thrown to who reads the body
}

/** The stream, which calls `onEnd` when it has ended, failed or was cancelled. */
function untilRead(
  stream: ReadableStream<Uint8Array>,
  onEnd: () => void,
): ReadableStream<Uint8Array> {
  const reader = stream.getReader();
  return new ReadableStream({
    async pull(controller) {
      try {
        const { done, value } = await reader.read();
        if (!done) return controller.enqueue(value);
        controller.close();
      } catch (error) {
        controller.error(error);
      }
      onEnd();
    },
    async cancel(reason) {
      onEnd();
      await reader.cancel(reason);
    },
  });
}

/** Checks the caller and the permission, then all else, and runs the endpoint. */
async function answerOf(served: Served, o: Pipeline): Promise<Answer> {
  const { spec, call, rawParams } = served;
  const { presented = await o.quotas.countedCaller(spec, call) } = served;
  if (spec.service === "stream" && presented) o.platform.runningRequests.wait(call.holding);
  call.ignoresTenantHeader = namesOtherTenant(presented, call.request.headers);
  requireWithinTenant(spec.access, presented);
  const caller = admit(spec.access, presented);
  requireDelegated(spec.access, presented, spec.method === "get");
  try {
    return await answerAdmitted(served, { caller, presented }, o);
  } catch (failure) {
    await spec.find?.({ db: o.platform.sql, caller, params: rawParams });
    throw failure;
  }
}

/** Checks the Idempotency-Key and the shape, in this order, and runs the endpoint. */
async function answerAdmitted(
  served: Served,
  { caller, presented }: { caller: unknown; presented: Caller | null },
  o: Pipeline,
): Promise<Answer> {
  const { spec, call, rawParams } = served;
  const { request } = call;
  const { platform, endpoints } = o;
  if (spec.creates === "a secret") requireNoKey(request.headers);
  const key = takesKey(spec) ? idempotencyKey(request.headers) : null;
  const rawQuery = request.url.includes("?") ? queryValues(call.url.searchParams) : {};
  if (!filtersByTenant(spec, presented)) delete rawQuery.tenantId;
  if (request.url.includes("%")) {
    requireStorableText(rawParams);
    requireStorableText(rawQuery);
  }
  const params = spec.params && parse(spec.params, rawParams);
  const query = spec.query && parseQuery(spec, spec.query, rawQuery, call);
  const { bodyOptional: optional, exactNumbers } = spec;
  const body = spec.body && await call.readJson(spec.body, { optional, exactNumbers });
  const work = async (db: Sql, once: OnceWork | null) => {
    const answer = await spec.run({
      platform: isOwnPool(db, platform) ? platform : withDatabase(platform, db),
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
  const read = (db: Sql) => work(db, null);
  if (spec.method === "get") {
    const pool = spec.service === "point read" ? platform.pointReads : platform.sql;
    const old = platform.replica && await onReplica(platform.replica, call, read);
    return old ?? await read(pool);
  }
  if (key === null || presented === null) return await work(platform.sql, null);
  const leaseSeconds = o.platform.config.JOB_LEASE_SECONDS;
  return await answeredOnce(
    mainPool(platform.sql),
    { spec, caller: presented, key, call, leaseSeconds },
    work,
    (failure) => refusal(failure, served, o),
  );
}

/** True if its statements do not wait for the connections of other requests. */
const hasOwnConnections = (spec: Endpoint, { sql, pointReads }: ServicePlatform): boolean =>
  spec.service === "point read" && pointReads !== sql;

const isOwnPool = (db: Sql, { sql, pointReads }: ServicePlatform): boolean => db === sql || db === pointReads;

/**
 * True if the query parameter `tenantId` selects what a route answers. Otherwise it only names the context, or is not looked
 * at because the token has a tenant: then only a holder of admin:system, who sees all tenants, selects by it.
 */
function filtersByTenant({ path, query }: Endpoint, caller: Caller | null): boolean {
  if (!query || !shapeOf(query)?.members?.has("tenantId")) return false;
  return !caller?.tokenTenantId || isSystemAdmin(caller) || path.startsWith("/api/v1/admin/");
}

/** The members of all answers of the endpoint's resource. */
function answersOf(spec: Endpoint, endpoints: readonly Endpoint[]): Shape | null {
  const answers = endpoints.filter((other) => collectionOf(other) === collectionOf(spec))
    .flatMap(({ answers }) => Object.values(answers));
  return allMembers(answers.map(({ schema }) => schema ? shapeOf(schema) : null));
}

const collectionOf = ({ path }: Endpoint): string => path.replace(/\/\{\w+\}$/, "");

/**
 * Parses the query of a request. Unknown parameters of API routes are treated like unknown members of a body. The routes of
 * protocols such as OAuth ignore what they do not know.
 * @throws VALIDATION_ERROR
 */
const parseQuery = <S extends z.ZodType>(
  { path }: Endpoint,
  schema: S,
  query: Record<string, string | string[]>,
  call: Call,
): z.output<S> => path.startsWith("/api/") ? call.parseQuery(schema, query) : parse(schema, query);

/** True if X-Tenant-ID names another tenant than the token. The token decides, and a header tells the caller. */
function namesOtherTenant(caller: Caller | null, headers: Headers): boolean {
  const named = headers.get("x-tenant-id")?.trim().toLowerCase();
  return Boolean(named && caller?.tokenTenantId && named !== caller.tokenTenantId);
}

const IGNORED_HEADER = "steward-ignored-members";
const MAX_NAMED = 20;
const LONGEST_NAME = 200;

/** Names as a header value. Commas and characters that are not visible ASCII are percent-encoded. */
const listed = (names: readonly string[]): string =>
  names.slice(0, MAX_NAMED).map((name) =>
    name.slice(0, LONGEST_NAME).toWellFormed().replaceAll(/[^\x21-\x7e]|[%,]/gu, encodeURIComponent)
  ).join(", ");

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

/** The statuses of refusals that are logged: not signed in, not permitted, too many requests. */
const LOGGED_REFUSALS: ReadonlySet<number> = new Set([401, 403, 429]);

/** Logs refused access, and every sign-in and refresh. The values are never those that the caller sent as a secret. */
function logSecurityEvent(spec: Endpoint, call: Call, answer: Answer, log: Log): void {
  const { traceId, ip, caller } = call;
  if (LOGGED_REFUSALS.has(answer.status)) {
    log.info("access refused", {
      operation: spec.id,
      status: answer.status,
      code: codeOf(answer),
      caller: caller && principalId(caller),
      tenantId: caller?.tenantId ?? null,
      ip,
      traceId,
    });
  } else if (isSignedIn(answer.body)) {
    const { user, tenant } = answer.body;
    log.info("signed in", {
      operation: spec.id,
      userId: user.id,
      tenantId: tenant?.id ?? null,
      ip,
      traceId,
    });
  }
}

function codeOf({ body }: Answer): string | null {
  return typeof body === "string" ? JSON.parse(body).code ?? null : null;
}

const isSignedIn = (
  body: unknown,
): body is { user: { id: string }; tenant: { id: string } | null } =>
  typeof body === "object" && body !== null && "refreshToken" in body && "user" in body;
