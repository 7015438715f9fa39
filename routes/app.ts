import { type Context, Hono } from "hono";
import type { Caller } from "../domain/access/caller.ts";
import { problem } from "../domain/problems/problem.ts";
import type { Log } from "../infra/log.ts";
import type { Answer } from "./shared/answer.ts";
import { BODY_LIMIT, Call, parse, requireStorableText } from "./shared/call.ts";
import { AREAS_WITH_ERROR_LISTS, type Endpoint } from "./shared/endpoint.ts";
import { problemAnswer } from "./shared/problem_document.ts";
import { traceIdOf, traceResponse } from "./shared/trace.ts";
import { queryValues } from "./shared/validation.ts";

export interface AppOptions {
  endpoints: Endpoint[];
  /** Verifies the request's token and resolves its tenant context; null when the request carries none. */
  authenticate(call: Call): Promise<Caller | null>;
  baseUrl: () => string;
  log: Log;
  /** Tests: compare every success with the shape its endpoint declares, and fail where they differ. */
  checkAnswers?: boolean;
}

const COMMON_HEADERS = { "cache-control": "no-store", "x-content-type-options": "nosniff" };
const JSON_HEADERS = { ...COMMON_HEADERS, "content-type": "application/json" };

type Handle = (request: Request, ip: string | null) => Promise<Response>;

/** The HTTP application: every endpoint behind one pipeline of trace, token, permission, shapes, answer. */
export function createApp(o: AppOptions): Handle {
  const app = new Hono<{ Bindings: { ip: string | null } }>();
  const refuse = ({ req }: Context, failure: unknown) => {
    const traceId = traceIdOf(req.raw.headers);
    const context = { baseUrl: o.baseUrl(), instance: req.path, traceId, errorList: false };
    return respond(problemAnswer(failure, context, o.log), traceId);
  };
  const methodsByPath = new Map<string, Set<string>>();
  for (const spec of o.endpoints) {
    for (const path of [spec.path, ...spec.alsoAt ?? []]) {
      const pattern = path.replaceAll(/\{(\w+)\}/g, ":$1");
      app.on(spec.method, pattern, (c) => serve(spec, c.req.raw, c.req.param(), c.env.ip, o));
      methodsByPath.set(pattern, (methodsByPath.get(pattern) ?? new Set()).add(spec.method.toUpperCase()));
    }
  }
  const routes = [...methodsByPath].map(([pattern, methods]) => ({
    pathname: new URLPattern({ pathname: pattern }),
    methods,
  }));
  app.notFound((c) => {
    const path = c.req.path;
    const methods = routes.filter((route) => route.pathname.test({ pathname: path })).flatMap((
      route,
    ) => [...route.methods]);
    const failure = methods.length === 0
      ? problem("ROUTE_NOT_FOUND", `No route answers ${c.req.method} ${path}.`)
      : problem(
        "METHOD_NOT_ALLOWED",
        `${path} answers ${methods.join(", ")}; the request's method is ${c.req.method}.`,
        {
          headers: {
            allow: [...new Set(methods.flatMap((m) => m === "GET" ? ["GET", "HEAD"] : [m]))].join(", "),
          },
        },
      );
    return refuse(c, failure);
  });
  app.onError((failure, c) => refuse(c, failure));
  return async (request, ip) => await app.fetch(request, { ip });
}

async function serve(
  spec: Endpoint,
  request: Request,
  rawParams: Record<string, string>,
  ip: string | null,
  o: AppOptions,
): Promise<Response> {
  const started = performance.now();
  const call = new Call(request, traceIdOf(request.headers), ip, spec.bodyLimit ?? BODY_LIMIT);
  let answer: Answer;
  try {
    answer = await run(spec, call, rawParams, o);
  } catch (failure) {
    const errorList = AREAS_WITH_ERROR_LISTS.has(spec.area);
    const context = { baseUrl: o.baseUrl(), instance: call.url.pathname, traceId: call.traceId, errorList };
    answer = problemAnswer(failure, context, o.log);
  }
  o.log.debug("request", {
    method: request.method,
    route: spec.path,
    status: answer.status,
    durationMs: Math.round((performance.now() - started) * 10) / 10,
    traceId: call.traceId,
  });
  return respond(answer, call.traceId);
}

async function run(
  spec: Endpoint,
  call: Call,
  rawParams: Record<string, string>,
  o: AppOptions,
): Promise<Answer> {
  const { request } = call;
  const caller = spec.access.admit(spec.access.needsCaller ? await o.authenticate(call) : null);
  const rawQuery = request.url.includes("?") ? queryValues(call.url.searchParams) : {};
  if (request.url.includes("%")) {
    requireStorableText(rawParams);
    requireStorableText(rawQuery);
  }
  const params = spec.params && parse(spec.params, rawParams);
  const query = spec.query && parse(spec.query, rawQuery);
  const body = spec.body && await call.readJson(spec.body, { optional: spec.bodyOptional });
  const answer = await spec.run({ caller, params, query, body, call });
  if (o.checkAnswers) checkAnswer(spec, answer);
  return answer;
}

/** All headers are given at once: setting them one by one on a response is several times slower. */
function respond({ status, headers, body }: Answer, traceId: string): Response {
  const hasBody = body !== undefined;
  const isJson = hasBody && headers["content-type"] === undefined;
  return new Response(isJson ? JSON.stringify(body) : hasBody ? body as BodyInit : null, {
    status,
    headers: {
      ...(isJson ? JSON_HEADERS : COMMON_HEADERS),
      ...headers,
      traceresponse: traceResponse(traceId),
    },
  });
}

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
