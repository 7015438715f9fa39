import { PINS } from "../../../domain/console/saved_filters.ts";
import { Problem, problem } from "../../../domain/problems/problem.ts";
import { providerFactorRequired } from "../../../domain/rights/checks.ts";
import { beyondTenant } from "../../../domain/rights/tenant_sign_in.ts";
import { headerUrl } from "../../shared/answer.ts";
import {
  formAsText,
  interruptedBy,
  proofOf,
  resumedForm,
  STEP_UP,
  stepUpView,
} from "../account/proof_forms.tsx";
import { downloadList } from "../lists/count_rows.ts";
import { afterSwitch } from "../scope/switch.ts";
import { notDone } from "../shared/actions.ts";
import { Refusal, refusalOf } from "../shared/api.ts";
import { type BrowserState, cookieWriter, isFormCsrf } from "../shared/cookies.ts";
import {
  forbiddenView,
  needsTenantView,
  notFoundView,
  refusalView,
  staleView,
} from "../layout/error_pages.tsx";
import { isSameOrigin, PAGE_FORM_BYTES, readForm } from "../shared/request_security.ts";
import { brandStyle, styleSource } from "../layout/document.tsx";
import { Layout, SetUpLayout } from "../layout/layout.tsx";
import type { ConsolePage, Outcome, View, Visit } from "../shared/page.ts";
import { actsHere, keptInScope } from "../shared/scope.ts";
import { scopeTexts } from "../shared/common_texts.ts";
import type { Undo } from "../shared/looks.ts";
import { shownResult, undoable } from "../shared/undo.ts";
import { unreadCount } from "../shared/viewer.ts";
import { openVisit, type VisitContext, type VisitRequest } from "./open_visit.ts";
import { findAnyById, findById, kindOf } from "../search/kinds.ts";
import { idIn } from "../shared/search_query.ts";

/**
 * Handles one request: session, permissions, form token, page, layout. `page` is null if no page matches the path.
 * @param open reads what stands for a session, and its viewer
 */
export async function servePage(
  parts: VisitContext,
  page: ConsolePage | null,
  asked: VisitRequest,
  open: typeof openVisit = openVisit,
): Promise<Response> {
  const opened = await open(parts, asked);
  return opened instanceof Response
    ? opened
    : await new PageServing(parts, asked, opened.v, opened.state).serve(page);
}

/** Forms that change what belongs to the viewer or the browser without the API, which refuses a delegation and a session of a tenant's provider. */
const OWN_PAGES = /^(lists|tenant|work-in)(\/|$)/;

/** Answers one request of a viewer. */
class PageServing {
  readonly #cookies;
  /** Cookies that tell the next requests that the viewer has changed something; they then read the primary database. */
  readonly #changedCookies: string[];
  #sent: FormData | null = null;

  constructor(
    private readonly parts: VisitContext,
    private readonly asked: VisitRequest,
    private readonly v: Visit,
    private readonly state: BrowserState,
  ) {
    this.#cookies = cookieWriter(parts.answers.baseUrl);
    this.#changedCookies = parts.p.replica && asked.request.method === "POST"
      ? [this.#cookies.changed()]
      : [];
  }

  async serve(page: ConsolePage | null): Promise<Response> {
    const { v } = this;
    try {
      const closed = this.parts.sitemap.whyClosed(page, this.asked.params, v.viewer);
      if (closed === "not-enrolled" && v.boundTo !== null) throw providerFactorRequired(v.boundTo);
      if (closed === "not-enrolled") return await this.parts.answers.goTo("account/security", []);
      if (closed === "forbidden") return await this.#refuse(() => forbiddenView(v, page?.permissions ?? []));
      if (closed === "no-tenant") return await this.#refuse(() => needsTenantView(v));
      if (closed !== null || !page) return await this.#refuse(() => notFoundView(v));
      return this.asked.request.method === "POST" ? await this.#post(page) : await this.#get(page);
    } catch (thrown) {
      return await this.#failed(thrown);
    }
  }

  async #get(page: ConsolePage): Promise<Response> {
    const { v } = this;
    const found = await leadToId(v);
    if (found) return await this.#goToPage(found);
    if (page.get && v.query.get("as") === "csv") {
      return await this.#answer(await downloadList(this.parts.p, page, v));
    }
    return page.get ? await this.#answer(await page.get(v)) : await this.#refuse(() => notFoundView(v));
  }

  async #post(page: ConsolePage): Promise<Response> {
    const { p, answers } = this.parts;
    const { v } = this;
    if (!page.post || !isSameOrigin(this.asked.request, answers.baseUrl)) return await this.#stale(page);
    const form = await readForm(this.asked, {
      bytes: PAGE_FORM_BYTES,
      milliseconds: p.config.BODY_TIMEOUT_SECONDS * 1000,
      room: p.runningRequests,
    });
    const visit = page.fitsEveryTenant ? {} : { visit: v };
    if (!isFormCsrf(form.get("csrf"), { secret: v.secret, ...visit })) return await this.#stale(page);
    if (v.boundTo !== null && OWN_PAGES.test(page.path) && page.path !== "tenant") throw beyondTenant();
    if (v.acting && OWN_PAGES.test(page.path)) {
      throw problem("DELEGATION_FORBIDDEN", "Only the viewer themselves may do this.");
    }
    if (!v.hosted && !actsHere(v) && !page.fitsEveryTenant && !page.actsInScope) {
      const text = scopeTexts[v.locale].looking(v.scope?.name ?? "");
      return await this.#answer(notDone(v.address, text));
    }
    this.#sent = form;
    const learning = undoable(v);
    const outcome = page.path === STEP_UP
      ? await this.#stepUp(learning.v, form)
      : await page.post(learning.v, form);
    return await this.#answer(outcome, learning.undo());
  }

  async #stale(page: ConsolePage): Promise<Response> {
    const { v, asked: { ip } } = this;
    this.parts.p.log.info("console form refused", { path: page.path, userId: v.actor.userId, ip });
    return await this.#show(staleView(v));
  }

  /** Renews the sign-in, then continues what it interrupted: sends the form, or opens the page. */
  async #stepUp(v: Visit, form: FormData): Promise<Outcome> {
    const { sitemap } = this.parts;
    const interrupted = interruptedBy(form);
    try {
      await v.api.call("stepUp", { body: proofOf(form) });
    } catch (refusal) {
      if (!(refusal instanceof Refusal) || refusal.status !== 400) throw refusal;
      return await stepUpView(v, interrupted, refusal);
    }
    const [path = ""] = interrupted.to.split("?");
    const found = sitemap.find(path);
    const isOpen = found !== null && sitemap.whyClosed(found.page, found.params, v.viewer) === null;
    if (interrupted.form === "" || !found?.page.post || !isOpen) return { goTo: interrupted.to };
    const query = new URLSearchParams(interrupted.to.slice(path.length));
    const resumed = { ...v, params: found.params, query, address: interrupted.to };
    return await found.page.post(resumed, resumedForm(interrupted));
  }

  async #failed(thrown: unknown): Promise<Response> {
    const { v, asked: { request }, parts: { answers } } = this;
    const failure = thrown instanceof Problem ? refusalOf(thrown, v.locale) : thrown;
    if (!(failure instanceof Refusal)) throw failure;
    if (failure.status === 401 && v.hosted) return await answers.goTo("set-up", []);
    if (failure.status === 401) return await answers.toSignIn(request, failure.code);
    if (failure.code === "STEP_UP_REQUIRED_FORBIDDEN" && v.boundTo !== null) {
      return await answers.toSignIn(request, failure.code); // by the provider, which then proves it again
    }
    if (failure.code === "STEP_UP_REQUIRED_FORBIDDEN") {
      const form = this.#sent ? formAsText(this.#sent) : "";
      return await this.#show(await stepUpView(v, { to: v.address, form }, null));
    }
    if (request.method === "POST") {
      const flash = this.#cookies.flash(shownResult(v, failure.flash, ""));
      return await answers.goTo(answers.backTo(request), [flash, ...this.#changedCookies]);
    }
    return await this.#refuse(() => refusalView(failure, v));
  }

  async #answer(outcome: Outcome, undo?: Undo): Promise<Response> {
    if (outcome instanceof Response) return outcome;
    if (!("goTo" in outcome)) return await this.#show(outcome);
    const { flash, goTo } = outcome;
    const result = flash && { ...undo && flash.tone === "ok" ? { undo } : {}, ...flash };
    const shown = result ? [this.#cookies.flash(shownResult(this.v, result, goTo))] : [];
    return await this.parts.answers.goTo(goTo, [...shown, ...this.#changedCookies]);
  }

  async #show(view: View): Promise<Response> {
    const { v, parts: { answers: { urls } } } = this;
    const [unread, pins] = await Promise.all([
      v.hosted ? null : unreadCount(v.api, v.viewer),
      v.readSavedFilters(PINS),
    ]);
    const page = v.hosted
      ? <SetUpLayout urls={urls} v={v} looks={v.hosted} view={view} />
      : <Layout urls={urls} v={v} view={view} unread={unread} pins={pins} />;
    return await this.parts.answers.html(
      page,
      view.status ?? 200,
      [...this.state.flash ? [this.#cookies.noFlash()] : [], ...this.#changedCookies],
      v.hosted ? styleSource(brandStyle(v.hosted)) : "",
      (html) => keptInScope(v, html),
    );
  }

  /** Shows the reason why the page cannot be shown. After a switch of the scope, redirects to a page that can be shown. */
  async #refuse(view: () => View | Promise<View>): Promise<Response> {
    const hasSwitched = this.asked.request.method === "GET" && this.state.flash?.hasSwitched;
    const instead = hasSwitched ? afterSwitch(this.v) : null;
    if (!instead) return await this.#show(await view());
    return await this.parts.answers.goTo(instead.goTo, [this.#cookies.flash(instead.flash)]);
  }

  /** Redirects to a page. A request of htmx replaces only a part of a page, so it gets the redirect in a header of htmx. */
  async #goToPage(to: string): Promise<Response> {
    const { answers } = this.parts;
    return this.asked.request.headers.has("hx-request")
      ? new Response(null, { headers: { "hx-redirect": headerUrl(answers.base + to) } })
      : await answers.goTo(to, []);
  }
}

/** The parameters of lists that people type into. */
const TYPED = ["search", "searchTerm", "recipient"];

/**
 * The page of the thing whose id was typed into the search field of a list: one of the list's kind, else any other. Null if
 * it is no id, or nothing with it exists in the current scope.
 */
async function leadToId(v: Visit): Promise<string | null> {
  const [section = ""] = v.address.split("?");
  const typed = TYPED.map((name) => v.query.get(name)?.trim()).find(Boolean);
  const id = typed && idIn(typed);
  if (!id || !v.nav.some(({ items }) => items.some(({ path }) => path === section))) return null;
  const kind = kindOf(section);
  const own = kind ? await findById(v, kind, id) : null;
  return (own ?? (await findAnyById(v, id))[0])?.href ?? null;
}
