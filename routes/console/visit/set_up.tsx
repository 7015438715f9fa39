import { Problem } from "../../../domain/problems/problem.ts";
import { SETUP_PERMISSION } from "../../../domain/rights/key_rights.ts";
import { traceIdOf } from "../../../infra/telemetry/tracing.ts";
import { readHostedLooks } from "../../looks/hosted_page.ts";
import { requireConnection } from "../../shared/require_connection.ts";
import { signInPages } from "../access/sign_in/provider_pages.tsx";
import { providerTexts } from "../access/sign_in/texts.ts";
import { Notice } from "../components/notice.tsx";
import { addressOf, type Answers } from "../layout/answers.tsx";
import { BarePage } from "../layout/document.tsx";
import { SetUpHandover } from "../layout/layout.tsx";
import { Api, Refusal, refusalOf } from "../shared/api.ts";
import { type BrowserState, cookieWriter, formCsrf, readCookies } from "../shared/cookies.ts";
import { isSameOrigin, readForm, SIGN_IN_FORM_BYTES } from "../shared/request_security.ts";
import { field, type Visit } from "../shared/page.ts";
import type { VisitContext, VisitRequest } from "./open_visit.ts";
import { Sitemap } from "./sitemap.ts";

/** The pages of who has a set-up link. The token of the link stands for a session, and gives one permission in one tenant. */
export const setUpSitemap = new Sitemap([], signInPages("set-up"));

/** Keeps the token of a link in a cookie. An address would tell it to logs and other sites. */
export async function takeSetUpToken({ p, answers }: VisitContext, asked: VisitRequest): Promise<Response> {
  if (!isSameOrigin(asked.request, answers.baseUrl)) return await answers.goTo("set-up", []);
  const form = await readForm(asked, {
    bytes: SIGN_IN_FORM_BYTES,
    milliseconds: p.config.BODY_TIMEOUT_SECONDS * 1000,
    room: p.runningRequests,
  });
  const [token = ""] = /^su_[\w-]+$/.exec(field(form, "token")) ?? [];
  return await answers.goTo("set-up", [cookieWriter(answers.baseUrl).setUp(token)]);
}

/** Opens a visit by the token in the cookie. @returns a page that says why there is none */
export async function openSetUp(
  { p, handle, answers }: VisitContext,
  { request, ip, params }: VisitRequest,
): Promise<{ v: Visit; state: BrowserState } | Response> {
  const state = readCookies(answers.baseUrl, request.headers);
  const { setUpToken: token, locale, timeZone, theme, flash } = state;
  requireConnection(p);
  if (token === null) return await noLinkPage(answers, state, null);
  const link = await p.rights.keys.readSetupLink(token).catch((refusal) => {
    if (refusal instanceof Problem) return refusalOf(refusal, locale);
    throw refusal;
  });
  if (link instanceof Refusal) return await noLinkPage(answers, state, link);
  const tenant = { id: link.tenantId, name: link.tenantName, type: "Standard" };
  const viewer = {
    userId: link.createdBy,
    email: "",
    name: "",
    tenant,
    hasOtherTenants: false,
    isInPlatform: false,
    permissions: new Set([SETUP_PERMISSION]),
  };
  const headers = { "user-agent": request.headers.get("user-agent") ?? "" };
  const api = new Api(handle, { token, ip, headers, locale });
  const traceId = traceIdOf(request.headers);
  const v: Visit = {
    viewer,
    api,
    acting: null,
    boundTo: null,
    actor: { userId: link.createdBy, tenantId: tenant.id, traceId, ip },
    params,
    query: new URL(request.url).searchParams,
    hosted: await readHostedLooks(p, tenant.id),
    baseUrl: p.baseUrl(),
    address: addressOf(request),
    scope: tenant,
    nav: [],
    cards: [],
    dismissed: new Set(),
    inScope: () => Promise.resolve(api),
    locale,
    timeZone,
    theme,
    csrf: formCsrf(token, { acting: null, viewer }),
    flash,
    secret: token,
    log: p.log,
    signal: request.signal,
    now: p.clock.now(),
    readSavedFilters: () => Promise.resolve([]),
    readScheduleNames: () => Promise.resolve(new Map()),
  };
  return { v, state };
}

/** The first page of a link, whose script sends the token; and the page of a link that has ended. */
async function noLinkPage(answers: Answers, v: BrowserState, refusal: Refusal | null): Promise<Response> {
  const t = providerTexts[v.locale];
  return await answers.html(
    <BarePage urls={answers.urls} v={v} title={t.setUp}>
      <div class="stack">
        <h1>{t.setUp}</h1>
        <Notice tone={refusal ? "bad" : "info"}>{refusal ? t.linkEnded : t.openLink}</Notice>
        {refusal && <p class="muted" lang="en">{refusal.detail}</p>}
        <SetUpHandover />
      </div>
    </BarePage>,
    refusal?.status ?? 200,
  );
}
