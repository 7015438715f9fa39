import { type Context, Hono } from "hono";
import type { ServicePlatform } from "../domain/platform.ts";
import { problem } from "../domain/problems/problem.ts";
import { areaList, hasAllAreas } from "../infra/areas.ts";
import type { Config } from "../infra/config.ts";
import { traceIdOf } from "../infra/telemetry/tracing.ts";
import { type AppOptions, EVERY_ORIGIN, type Pipeline, routeOf, serve } from "./serve.ts";
import { addMissing, commonHeaders, responder } from "./shared/answer.ts";
import { compressedPage } from "./shared/compression.ts";
import { Cors } from "./shared/cors.ts";
import { problemAnswer } from "./shared/problem_document.ts";
import { Quotas } from "./shared/quotas.ts";
import { TimeLimit } from "./shared/time_limit.ts";

/** Answers a request of the client address `ip`. */
export type Handle = (request: Request, ip: string | null) => Promise<Response>;

/** Methods that metrics count by name; all others count as `other`. */
const METHODS: ReadonlySet<string> = new Set(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]);

/** The HTTP application: all endpoints share one pipeline of trace, authentication, permission, validation and answer. */
export function createApp(o: AppOptions): Handle {
  const { config, baseUrl, stopping, log, metrics } = o.platform;
  const cors = config.CORS_ORIGINS ? new Cors(config.CORS_ORIGINS) : null;
  const pipeline: Pipeline = {
    ...o,
    respond: responder({ baseUrl, isSecure: isSecure(config), cors }),
    timeLimit: new TimeLimit(config.REQUEST_TIMEOUT_SECONDS * 1000, stopping),
    quotas: new Quotas(o.platform, o),
  };
  const app = new Hono<{ Bindings: { ip: string | null } }>({ strict: false }); // a trailing slash is the same route
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
    const route = routeOf(spec, o);
    for (const path of [spec.path, ...spec.alsoAt ?? []]) {
      const pattern = path.replaceAll(/\{(\w+)\}/g, ":$1");
      app.on(spec.method, pattern, (c) => {
        const { req, env } = c;
        if (req.path !== pattern && methodsByPath.has(req.path)) return refuseMethod(c); // `/jobs/bulk` is no `/jobs/{id}`
        return serve(route, { request: req.raw, rawParams: req.param(), ip: env.ip }, pipeline);
      });
      methodsByPath.set(pattern, (methodsByPath.get(pattern) ?? new Set()).add(spec.method.toUpperCase()));
    }
  }
  const routes = [...methodsByPath].map(([pattern, methods]) => ({ fits: pathExpression(pattern), methods }));
  const refuseMethod = (c: Context) => {
    const { path, method } = c.req;
    const fitting = routes.filter(({ fits }) => fits.test(path)).flatMap(({ methods }) => [...methods]);
    const methods = [...methodsByPath.get(path) ?? fitting];
    if (methods.length === 0) {
      const onlyAreas = hasAllAreas(config) ? "" : ` This instance has only AREAS=${areaList(config.AREAS)}.`;
      return refuse(c, problem("ROUTE_NOT_FOUND", `No route answers ${method} ${path}.${onlyAreas}`));
    }
    const allow = [...new Set(methods.flatMap((name) => name === "GET" ? ["GET", "HEAD"] : [name]))].join(
      ", ",
    );
    const detail = `${path} answers ${allow}; the request's method is ${method}.`;
    return refuse(c, problem("METHOD_NOT_ALLOWED", detail, { headers: { allow } }));
  };
  app.notFound(refuseMethod);
  app.onError((failure, c) => refuse(c, failure));
  const common = commonHeaders(isSecure(config));
  const open = new Set(
    o.endpoints.filter(({ anyOrigin }) => anyOrigin).flatMap(({ path, alsoAt = [] }) => [path, ...alsoAt]),
  );
  const corsFor = (request: Request) =>
    request.method === "OPTIONS" && open.has(pathOf(request).replace(/\/?(\?.*)?$/, ""))
      ? EVERY_ORIGIN
      : cors;
  return async (request, ip) => {
    const own = corsFor(request)?.preflight(request) ?? redirectOfPage(request);
    return own ? addMissing(own, common) : await app.fetch(request, { ip });
  };
}

/** Redirects a browser to the path without a trailing slash, because the links of pages are relative to it. */
function redirectOfPage(request: Request): Response | null {
  const [, name, search = ""] = /\/([^/?]+)\/(\?.*)?$/.exec(pathOf(request)) ?? [];
  const isPage = name && request.method === "GET" && request.headers.get("accept")?.includes("text/html");
  return isPage ? new Response(null, { status: 308, headers: { location: `../${name}${search}` } }) : null;
}

/** Path and query of a request. A URL object would resolve `..` and replace backslashes. */
const pathOf = ({ url }: Request): string => url.slice(url.indexOf("/", url.indexOf("//") + 2));

/** True if browsers must use TLS. */
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
        // HEAD is answered like GET, with its headers: the server leaves out the body.
        const asked = request.method === "HEAD" ? new Request(request, { method: "GET" }) : request;
        const response = await mount.serve(asked, ip);
        if (response) return addMissing(await compressedPage(response, asked), common);
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
