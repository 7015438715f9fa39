import {
  browserToken,
  readActingSession,
  readBrowserSession,
} from "../../../domain/access/sign_in/browser_session.ts";
import { listSavedFilters } from "../../../domain/console/saved_filters.ts";
import type { ServicePlatform } from "../../../domain/platform.ts";
import { readScheduleNames } from "../../../domain/reports/schedules/schedule.ts";
import { TtlCache } from "../../../domain/shared/ttl_cache.ts";
import { traceIdOf } from "../../../infra/telemetry/tracing.ts";
import type { Handle } from "../../app.ts";
import { requireConnection } from "../../shared/require_connection.ts";
import { addressOf, type Answers } from "../layout/answers.tsx";
import { Api } from "../shared/api.ts";
import { type BrowserState, formCsrf, readCookies } from "../shared/cookies.ts";
import type { Visit } from "../shared/page.ts";
import { apiWithin, scopeAt } from "../shared/scope.ts";
import { readViewer } from "../shared/viewer.ts";
import type { Sitemap } from "./sitemap.ts";

/** The parts of the service that every visit uses. */
export interface VisitContext {
  p: ServicePlatform;
  /** The service's API, called in the same process. */
  handle: Handle;
  answers: Answers;
  sitemap: Sitemap;
  /** Tokens of browser sessions, because a signature and its check take longer than the rest of a small page. */
  tokens: TtlCache<string>;
  /** The permissions that open nothing, because their areas are off. */
  unserved: ReadonlySet<string>;
}

/** A request for a page of the console. */
export interface VisitRequest {
  request: Request;
  ip: string | null;
  params: Record<string, string>;
}

/** Reads the browser's session and its viewer. @returns a redirect to the sign-in if there is no session */
export async function openVisit(
  { p, handle, answers, sitemap, tokens, unserved }: VisitContext,
  { request, ip, params }: VisitRequest,
): Promise<{ v: Visit; state: BrowserState } | Response> {
  const state = readCookies(answers.baseUrl, request.headers);
  requireConnection(p);
  const { secret, locale } = state;
  const own = secret && await readBrowserSession(p.sql, secret);
  if (!secret || !own) return await answers.toSignIn(request, null);
  if (own === "access-changed") return await answers.toSignIn(request, "SESSION_INVALIDATED");
  const acting = own.isActing ? await readActingSession(p.sql, secret) : null;
  const session = acting ?? own;
  const { userId, tenantId } = session;
  const traceparent = request.headers.get("traceparent");
  const now = p.clock.now();
  const tokenIn = (tenantId: string | null) =>
    tokens.read(
      [session.sessionId, tenantId, session.securityVersion, minuteOf(now)].join(),
      () => browserToken(p, { ...session, tenantId }),
    );
  const apiIn = async (tenantId: string | null) =>
    new Api(handle, {
      token: await tokenIn(tenantId),
      ip,
      headers: {
        "user-agent": request.headers.get("user-agent") ?? "",
        ...traceparent ? { traceparent } : {},
      },
      unserved,
      mayBeStale: !state.hasChanged && request.method === "GET",
      locale,
    });
  const api = await apiIn(tenantId);
  const viewer = await readViewer(api, userId);
  const address = addressOf(request);
  const [path = ""] = address.split("?");
  const query = new URL(request.url).searchParams;
  const scope = await scopeAt(api, viewer, query);
  const v: Visit = {
    viewer,
    api: await apiWithin(api, apiIn, viewer, scope),
    acting,
    boundTo: session.boundTo,
    actor: {
      userId,
      actedBy: acting && { userId: acting.actorId, mayWrite: acting.mayWrite },
      tenantId,
      traceId: traceIdOf(request.headers),
      ip,
    },
    params,
    query,
    hosted: null,
    baseUrl: p.baseUrl(),
    address,
    scope,
    nav: sitemap.navOf(viewer, locale),
    cards: sitemap.cardsOf(viewer),
    log: p.log,
    dismissed: new Set(state.dismissed),
    inScope: apiIn,
    locale,
    timeZone: state.timeZone,
    theme: state.theme,
    csrf: formCsrf(secret, { acting, viewer }),
    flash: state.flash,
    secret,
    signal: request.signal,
    now,
    // Saved filters are the person's in all tenants.
    readSavedFilters: async (list = path) =>
      session.boundTo === null ? await listSavedFilters(p.sql, userId, list) : [],
    readScheduleNames: (runIds) => readScheduleNames(p.sql, runIds),
  };
  return { v, state };
}

/** A token serves the pages of one minute of the service's clock, by which it expires much later. */
const minuteOf = (at: Date): number => Math.floor(at.getTime() / 60_000);
