import { Hono } from "hono";
import type { Child } from "hono/jsx";
import { browserToken, readBrowserSession } from "../../domain/access/sign_in/browser_session.ts";
import type { ListPages } from "../../domain/console/platform.ts";
import { listSavedFilters } from "../../domain/console/saved_filters.ts";
import { Problem } from "../../domain/problems/problem.ts";
import type { ServicePlatform } from "../../domain/platform.ts";
import { accountPages } from "./account/account.tsx";
import { proofOf } from "./account/proof_forms.tsx";
import { formAsText, interruptedBy, resumedForm, STEP_UP, stepUpView } from "./account/step_up.tsx";
import { ACCESS_CHANGED, createSignIn } from "./account/sign_in.tsx";
import type { ConsolePages } from "./lists/console_pages.ts";
import { downloadList } from "./lists/count_rows.ts";
import { listPagesOf } from "./lists/list_pages.ts";
import { listPages } from "./lists/mod.ts";
import { sections as builtInSections } from "./sections.ts";
import { traceIdOf } from "../../infra/telemetry/trace_ids.ts";
import type { Handle, Mount } from "../app.ts";
import { addMissing } from "../shared/answer.ts";
import { requireConnection } from "../shared/require_connection.ts";
import { Api, Refusal, refusalOf } from "./shared/api.ts";
import { sharedAssets } from "./shared/assets.ts";
import { commonTexts } from "./shared/common_texts.ts";
import { cookieWriter, formCsrf, isFormCsrf, readCookies } from "./shared/cookies.ts";
import { PAGE_FORM_BYTES, readForm } from "./shared/form.ts";
import { LOCALES } from "./shared/languages.ts";
import {
  type ConsolePage,
  type ConsoleSection,
  mayOpen,
  type Outcome,
  type View,
  type Viewer,
  type Visit,
} from "./shared/page.ts";
import { contentPolicy, isSameOrigin } from "./shared/request_security.ts";
import { BarePage } from "./shared/document.tsx";
import { Layout } from "./shared/layout.tsx";
import { shownResult, undoPage } from "./shared/undo.ts";
import { filteredTo } from "./scope/filtered_to.ts";
import { afterSwitch } from "./scope/switch.ts";
import { leadToId } from "./search/lead_to_id.ts";
import {
  forbiddenView,
  needsTenantView,
  notFoundView,
  refusalView,
  staleView,
} from "./shared/error_pages.tsx";

type Env = { Bindings: { ip: string | null } };

/**
 * Creates the operator console: pages under /console, rendered on the server from the API's answers to the viewer.
 * @param handle the service's API, called in the same process.
 * @param extensions sections of extensions, after the built-in ones.
 * @param tasks the API for tasks on lists, without quotas of callers.
 */
export async function createConsole(
  p: ServicePlatform,
  handle: Handle,
  extensions: readonly ConsoleSection[] = [],
  tasks: Handle = handle,
): Promise<Mount & { listPages: ListPages }> {
  const sections = [...builtInSections, ...extensions];
  const assets = await sharedAssets();
  const policy = contentPolicy(p.config);
  const formMs = p.config.BODY_TIMEOUT_SECONDS * 1000;
  const app = new Hono<Env>();
  const baseUrl = () => new URL(p.baseUrl());
  const base = () => `${baseUrl().pathname.replace(/\/$/, "")}/console/`;
  const urls = () => ({
    base: base(),
    asset: assets.href,
    timeZoneCookie: cookieWriter(baseUrl()).timeZone(),
  });
  const html = async (body: Child, status: number, cookies: string[] = [], style = ""): Promise<Response> => {
    const headers = new Headers({
      "content-type": "text/html; charset=utf-8",
      ...contentPolicy(p.config, "", style),
    });
    for (const cookie of cookies) headers.append("set-cookie", cookie);
    const text = await (await body)?.toString(); // a promise if the page has an async component
    return new Response(String(text ?? ""), { status, headers });
  };
  /**
   * A page that leads on by itself. After a form, the policy `form-action` holds for all redirects, and the OpenID provider
   * redirects to other sites.
   */
  const leadOn = (to: string, cookies: string[]) =>
    html(
      <BarePage urls={urls()} v={{ locale: "en", theme: "auto" }} title="Steward" refreshTo={to}>
        <p>
          <a href={to}>{LOCALES.map((locale) => commonTexts[locale].goOn).join(" · ")}</a>
        </p>
      </BarePage>,
      200,
      cookies,
    );
  const goTo = (to: string, cookies: string[]): Response | Promise<Response> => {
    if (to.startsWith("../")) return leadOn(to, cookies);
    const headers = new Headers({ location: base() + to });
    for (const cookie of cookies) headers.append("set-cookie", cookie);
    return new Response(null, { status: 303, headers });
  };

  /** Redirects to sign-in and back afterwards. SESSION_INVALIDATED adds the reason to the address. */
  const toSignIn = (request: Request, code: string | null): Response | Promise<Response> => {
    const to = request.method === "GET" ? addressOf(request) : backTo(request, base());
    // After a link of another site, the browser has a session but does not send the cookie, which then must stay.
    const { secret } = readCookies(baseUrl(), request.headers);
    const spent = secret === null ? [] : cookieWriter(baseUrl()).noSession();
    const query = new URLSearchParams({
      ...to ? { to } : {},
      ...code === "SESSION_INVALIDATED" ? { reason: ACCESS_CHANGED } : {},
    });
    return goTo(`sign-in${query.size > 0 ? `?${query}` : ""}`, spent);
  };

  app.get("/console", () => goTo("", []));
  app.get("/console/assets/:name", (c) => assets.answer(c.req.param("name")));
  const signIn = createSignIn({ p, handle, html, goTo, urls, baseUrl });
  app.get("/console/sign-in", (c) => signIn.show(c.req.raw, c.env.ip));
  app.post("/console/sign-in", (c) => signIn.submit(c.req.raw, c.env.ip));

  const consolePages: ConsolePages = {
    find: (path) => findPage(path),
    isOpen: mayOpen,
    viewerOf: readViewer,
    apiOf: (token, locale) => new Api(tasks, { token, ip: null, headers: {}, locale }),
  };
  const pages: ConsolePage[] = [
    ...accountPages(p),
    undoPage,
    ...listPages(p, consolePages),
    ...sections.flatMap(({ pages }) => pages),
  ];
  const tenantOnly = new Set(
    sections.flatMap(({ nav }) => nav).filter(({ needsTenant }) => needsTenant).map(({ path }) => path),
  );

  const findPage = (path: string) => {
    for (const page of pages) {
      const match = new URLPattern({ pathname: `/${page.path.replaceAll(/\{(\w+)\}/g, ":$1")}` })
        .exec({ pathname: `/${path}` });
      if (match) return { page, params: match.pathname.groups as Record<string, string> };
    }
    return null;
  };

  /** Why a viewer cannot open a page; null if they can. */
  const whyClosed = (page: ConsolePage | null, params: Record<string, string>, viewer: Viewer) => {
    if (!page || !Object.values(params).every(isName)) return "not-found";
    if (viewer.isLimited && !page.forEnrolling) return "not-enrolled";
    if (!mayOpen(page, viewer)) return "forbidden";
    return !viewer.tenant && tenantOnly.has(page.path.split("/")[0] ?? "") ? "no-tenant" : null;
  };

  /** Handles one request: session, permissions, form token, page, layout. `page` is null if no page matches the path. */
  async function visit(
    page: ConsolePage | null,
    request: Request,
    ip: string | null,
    params: Record<string, string>,
  ) {
    const state = readCookies(baseUrl(), request.headers);
    const cookies = cookieWriter(baseUrl());
    const url = new URL(request.url);
    const address = addressOf(request);
    requireConnection(p);
    const session = state.secret && await readBrowserSession(p.sql, state.secret);
    if (!state.secret || !session) return toSignIn(request, null);
    if (session === "access-changed") return toSignIn(request, "SESSION_INVALIDATED");
    const traceparent = request.headers.get("traceparent");
    const apiIn = async (tenantId: string | null) =>
      new Api(handle, {
        token: await browserToken(p, { ...session, tenantId }),
        ip,
        headers: {
          "user-agent": request.headers.get("user-agent") ?? "",
          ...traceparent ? { traceparent } : {},
        },
        mayBeStale: !state.hasChanged && request.method === "GET",
        locale: state.locale,
      });
    const api = await apiIn(session.tenantId);
    const [path = ""] = address.split("?");
    const viewer = await readViewer(api, session.userId);
    const nav = viewer.isLimited ? [] : sections.map(({ title, nav }) => ({
      title: title?.[state.locale] ?? null,
      items: nav.filter((item) => mayOpen(item, viewer)),
    })).filter(({ items }) => items.length > 0);
    const v: Visit = {
      viewer,
      api,
      actor: { userId: session.userId, tenantId: session.tenantId, traceId: traceIdOf(request.headers), ip },
      params,
      query: url.searchParams,
      address,
      filteredTo: await filteredTo(api, viewer, url.searchParams),
      nav,
      dismissed: new Set(state.dismissed),
      inScope: apiIn,
      locale: state.locale,
      timeZone: state.timeZone,
      theme: state.theme,
      csrf: formCsrf(state.secret, viewer.tenant?.id ?? null),
      flash: state.flash,
      secret: state.secret,
      signal: request.signal,
      now: p.clock.now(),
      readSavedFilters: () => listSavedFilters(p.sql, session.userId, path),
    };
    const mark = p.replica && request.method === "POST" ? [cookies.changed()] : [];
    const show = async (view: View): Promise<Response> => {
      const unread = await unreadCount(api, viewer);
      return await html(
        <Layout urls={urls()} v={v} view={view} unread={unread} />,
        view.status ?? 200,
        [...state.flash ? [cookies.noFlash()] : [], ...mark],
      );
    };
    /** Shows why the page cannot be shown. After a switch of the scope, leads to a page that can. */
    const refuse = async (view: () => View | Promise<View>): Promise<Response> => {
      const instead = request.method === "GET" && state.flash?.hasSwitched ? afterSwitch(v) : null;
      return instead ? await goTo(instead.goTo, [cookies.flash(instead.flash)]) : await show(await view());
    };
    const answer = async (outcome: Outcome): Promise<Response> => {
      if (outcome instanceof Response) return outcome;
      if (!("goTo" in outcome)) return await show(outcome);
      const { flash } = outcome;
      const shown = flash ? [cookies.flash(shownResult(v, flash, outcome.goTo))] : [];
      return goTo(outcome.goTo, [...shown, ...mark]);
    };
    /** htmx replaces a part of the page, so it must be told to open another one. */
    const goToPage = (to: string): Response | Promise<Response> =>
      request.headers.has("hx-request")
        ? new Response(null, { headers: { "hx-redirect": base() + to } })
        : goTo(to, []);
    let sent: FormData | null = null;
    /** Renews the sign-in, then continues what it interrupted: sends the form, or opens the page. */
    const stepUp = async (v: Visit, form: FormData): Promise<Outcome> => {
      const interrupted = interruptedBy(form);
      try {
        await v.api.call("stepUp", { body: proofOf(form) });
      } catch (refusal) {
        if (!(refusal instanceof Refusal) || refusal.status !== 400) throw refusal;
        return await stepUpView(v, interrupted, refusal);
      }
      const [path = ""] = interrupted.to.split("?");
      const found = findPage(path);
      const isOpen = found !== null && whyClosed(found.page, found.params, v.viewer) === null;
      if (interrupted.form === "" || !found?.page.post || !isOpen) return { goTo: interrupted.to };
      const query = new URLSearchParams(interrupted.to.slice(path.length));
      const resumed = { ...v, params: found.params, query, address: interrupted.to };
      return await found.page.post(resumed, resumedForm(interrupted));
    };
    try {
      const closed = whyClosed(page, params, viewer);
      if (closed === "not-enrolled") return goTo("account/security", []);
      if (closed === "forbidden") return await refuse(() => forbiddenView(v, page?.permissions ?? []));
      if (closed === "no-tenant") return await refuse(() => needsTenantView(v));
      if (closed !== null || !page) return await refuse(() => notFoundView(v));
      if (request.method !== "POST") {
        const found = await leadToId(v);
        if (found) return goToPage(found);
        if (page.get && v.query.get("as") === "csv") return await answer(await downloadList(p, page, v));
        return page.get ? await answer(await page.get(v)) : await refuse(() => notFoundView(v));
      }
      const stale = () => {
        p.log.info("console form refused", { path: page.path, userId: session.userId, ip });
        return show(staleView(v));
      };
      if (!page.post || !isSameOrigin(request, baseUrl())) return await stale();
      const form = await readForm(request, {
        bytes: PAGE_FORM_BYTES,
        milliseconds: formMs,
        room: p.runningRequests,
      });
      const tenant = page.fitsEveryTenant ? {} : { tenantId: viewer.tenant?.id ?? null };
      if (!isFormCsrf(form.get("csrf"), { secret: state.secret, ...tenant })) return await stale();
      sent = form;
      return await answer(page.path === STEP_UP ? await stepUp(v, form) : await page.post(v, form));
    } catch (thrown) {
      const failure = thrown instanceof Problem ? refusalOf(thrown, v.locale) : thrown;
      if (!(failure instanceof Refusal)) throw failure;
      if (failure.status === 401) return toSignIn(request, failure.code);
      if (failure.code === "STEP_UP_REQUIRED_FORBIDDEN") {
        return await show(await stepUpView(v, { to: address, form: sent ? formAsText(sent) : "" }, null));
      }
      if (request.method === "POST") {
        return goTo(backTo(request, base()), [cookies.flash(shownResult(v, failure.flash, "")), ...mark]);
      }
      return await refuse(() => refusalView(failure, v));
    }
  }

  for (const page of pages) {
    const pattern = `/console/${page.path.replaceAll(/\{(\w+)\}/g, ":$1")}`;
    app.all(pattern, (c) => visit(page, c.req.raw, c.env.ip, c.req.param()));
  }
  app.all("/console/*", (c) => visit(null, c.req.raw, c.env.ip, {}));
  app.onError(async (error, c) => {
    const { locale, theme } = readCookies(baseUrl(), c.req.raw.headers);
    const t = commonTexts[locale];
    // thrown before a page ran, such as by readViewer
    const refusal = error instanceof Problem
      ? refusalOf(error, locale)
      : error instanceof Refusal
      ? error
      : null;
    if (refusal?.status === 401) return toSignIn(c.req.raw, refusal.code);
    const trace = crypto.randomUUID();
    if (!refusal) p.log.error("a console page failed", { error, trace });
    return await html(
      <BarePage urls={urls()} v={{ locale, theme }} title={t.failed}>
        <h1>{t.failed}</h1>
        <p>
          {refusal ? refusal.text : (
            <>
              {t.failedText} <code>{trace}</code>
            </>
          )}
        </p>
        <p>
          <a href="./">{t.home}</a>
        </p>
      </BarePage>,
      refusal?.status ?? 500,
    );
  });

  return {
    listPages: listPagesOf(p, consolePages),
    path: "/console",
    serve: async (request, ip) => addMissing(await app.fetch(request, { ip }), policy),
  };
}

/** Whether a path parameter is safe to put into an API path: it cannot lead to another route. */
const isName = (text: string): boolean => /^[\w.:-]+$/.test(text) && !/^\.\.?$/.test(text);

/** A viewer whose session lacks a required second factor has no permissions, and sees only how to add one. */
async function readViewer(api: Api, userId: string): Promise<Viewer> {
  const me = await api.call("readMe").catch((refusal) => {
    if (refusal instanceof Refusal && refusal.code === "SECOND_FACTOR_REQUIRED") return null;
    throw refusal;
  });
  if (!me) {
    return {
      userId,
      email: "",
      name: "",
      tenant: null,
      tenants: [],
      permissions: new Set(),
      isLimited: true,
    };
  }
  const { user, tenant, tenants, permissions } = me;
  const name = `${user.firstName} ${user.lastName}`.trim() || user.email;
  return { userId: user.id, email: user.email, name, tenant, tenants, permissions: new Set(permissions) };
}

/** The unread count in the top bar. Null if the API refuses it: the page is shown anyway. */
async function unreadCount(api: Api, { userId }: Viewer): Promise<number | null> {
  try {
    return await api.call("countUnreadUserNotifications", { query: { userId } });
  } catch (error) {
    if (error instanceof Refusal) return null;
    throw error;
  }
}

/** The address of a page under /console, with its query. */
function addressOf(request: Request): string {
  const { pathname, search } = new URL(request.url);
  return pathname.replace(/^\/console\/?/, "") + search;
}

/** The console page that sent the form, from the Referer header; "" if it is another site's or missing. */
function backTo(request: Request, base: string): string {
  const referrer = request.headers.get("referer") ?? "";
  const from = URL.canParse(referrer) ? new URL(referrer) : null;
  if (!from || !from.pathname.startsWith(base)) return "";
  return from.pathname.slice(base.length) + from.search;
}
