import { openBrowserSession } from "../../../domain/access/sign_in/browser_session.ts";
import { readPageOwner } from "../../../domain/oauth/authorization/request.ts";
import { newSecret } from "../../../domain/shared/secrets.ts";
import { isUuid } from "../../../domain/shared/ids.ts";
import { CATALOGUE, isProblemCode, Problem } from "../../../domain/problems/problem.ts";
import type { ServicePlatform } from "../../../domain/platform.ts";
import type { PasskeyInput } from "../../auth/factors.ts";
import { passkeyOf } from "./proof_forms.tsx";
import type { Handle } from "../../app.ts";
import { readHostedLooks } from "../../looks/hosted_page.ts";
import { ACCESS_CHANGED, type Answers } from "../layout/answers.tsx";
import { brandStyle, styleSource } from "../layout/document.tsx";
import { Api, Refusal, refusalOf } from "../shared/api.ts";
import {
  clientRequestOf,
  isSameOrigin,
  readForm,
  SIGN_IN_FORM_BYTES,
  UI_LOCALES,
} from "../shared/request_security.ts";
import { commonTexts } from "../shared/common_texts.ts";
import { type BrowserState, cookieWriter, csrfToken, isCsrfToken, readCookies } from "../shared/cookies.ts";
import { type Answer, searchOf } from "../shared/operations.ts";
import { field, optionalField } from "../shared/page.ts";
import { FactorStep, neededFactor, readChoice, type SignInNotice, SignInPage } from "./sign_in_page.tsx";
import { accountTexts } from "./texts.ts";

/** One request for the sign-in page, or of one of its forms. */
export class SignInRequest {
  readonly #query: URLSearchParams;
  /** The path to open after sign-in. */
  readonly #to: string;
  /** The tenant whose sign-in page this is. */
  readonly #tenantId: string | null;
  readonly #state: BrowserState;
  readonly #api: Api;

  constructor(
    private readonly p: ServicePlatform,
    handle: Handle,
    private readonly answers: Answers,
    private readonly asked: { request: Request; ip: string | null },
  ) {
    const { request, ip } = asked;
    this.#query = new URL(request.url).searchParams;
    this.#to = destinationIn(this.#query);
    const tenantId = this.#query.get("tenantId")?.toLowerCase() ?? "";
    this.#tenantId = isUuid(tenantId) ? tenantId : null;
    const uiLocales = clientRequestOf(this.#to)?.get(UI_LOCALES) ?? null;
    this.#state = readCookies(answers.baseUrl, request.headers, uiLocales);
    this.#api = new Api(handle, {
      token: null,
      ip,
      headers: { "user-agent": request.headers.get("user-agent") ?? "" },
      locale: this.#state.locale,
    });
  }

  /** Shows the page; with the reason if a provider's sign-in was refused, or the viewer's access has changed. */
  async open(): Promise<Response> {
    const { locale } = this.#state;
    const email = this.#query.get("email") ?? "";
    const error = this.#query.get("error");
    if (error !== null && isProblemCode(error)) {
      const text = CATALOGUE[error].user[locale];
      return await this.#show({ tone: "bad", text, detail: error }, { email });
    }
    const text = CATALOGUE.SESSION_INVALIDATED.user[locale];
    const hasChanged = this.#query.get("reason") === ACCESS_CHANGED;
    return await this.#show(hasChanged ? { tone: "info", text } : null, { email });
  }

  /** Does what the button of a form says. */
  async submit(): Promise<Response> {
    const { locale, oidcStart, secret: former } = this.#state;
    const stale = () => this.#show({ tone: "bad", text: commonTexts[locale].stale });
    if (!isSameOrigin(this.asked.request, this.answers.baseUrl)) return await stale();
    let email = "";
    let factorToken = "";
    try {
      const form = await readForm(this.asked, {
        bytes: SIGN_IN_FORM_BYTES,
        milliseconds: this.p.config.BODY_TIMEOUT_SECONDS * 1000,
        room: this.p.runningRequests,
      });
      email = field(form, "email");
      if (form.get("do") === "company") return await this.#toCompany(email);
      const { tenantId } = await this.#readOwner();
      if (form.get("do") === "register") {
        await this.#api.call("register", { body: { tenantId: tenantId ?? undefined, email } });
        return await this.#show({ tone: "ok", text: accountTexts[locale].registrationSent });
      }
      if (form.get("do") === "forgot") {
        await this.#api.call("forgotPassword", { body: { email } });
        return await this.#show({ tone: "ok", text: accountTexts[locale].linkSent });
      }
      // Login CSRF: a code from another browser must not sign this one in as another user.
      const isReturn = form.get("do") === "exchange";
      if (isReturn && !(oidcStart && isCsrfToken(form.get("begun"), oidcStart))) return await stale();
      factorToken = field(form, "factorToken");
      const signedIn = await this.#signIn(form);
      const secret = await openBrowserSession(this.p, signedIn.accessToken, former);
      const cookies = cookieWriter(this.answers.baseUrl);
      return await this.answers.goTo(this.#to, [
        ...cookies.session(secret),
        ...signedIn.deviceToken ? [cookies.device(signedIn.deviceToken)] : [],
      ]);
    } catch (thrown) {
      const refusal = thrown instanceof Problem ? refusalOf(thrown, locale) : thrown;
      if (!(refusal instanceof Refusal)) throw refusal;
      if (refusal.code === "SECOND_FACTOR_REQUIRED_UNAUTHORIZED") {
        return await this.#askForFactor(neededFactor(refusal.document), null);
      }
      const choice = factorToken ? await readChoice(this.#api, factorToken) : null;
      if (choice) return await this.#askForFactor({ factorToken, choice }, refusal);
      return await this.#show(refusal.flash, { email, status: refusal.status });
    }
  }

  /** Sends what the viewer entered: email and password, a passkey alone, or a second factor; or a provider's code. */
  async #signIn(form: FormData) {
    const deviceToken = this.#state.deviceToken?.slice(0, 200);
    const passkey = passkeyOf<PasskeyInput>(form);
    switch (form.get("do")) {
      case "exchange":
        return await this.#api.call("exchangeOpenIdCode", {
          body: { code: field(form, "code"), deviceToken },
        });
      case "passkey":
        return await this.#api.call("signInByPasskey", { body: { passkey, deviceToken } });
      case "factor": {
        const [code, recoveryCode] = [optionalField(form, "code"), optionalField(form, "recoveryCode")];
        return await this.#api.call("finishSignIn", {
          body: { factorToken: field(form, "factorToken"), code, recoveryCode, passkey, deviceToken },
        });
      }
      default:
        return await this.#api.call("signIn", {
          body: {
            email: field(form, "email"),
            password: String(form.get("password") ?? ""),
            deviceToken,
            ...this.#tenantId && { tenantId: this.#tenantId },
          },
        });
    }
  }

  /** Leads to the provider of an email's domain. With several, the page shows them. */
  async #toCompany(email: string): Promise<Response> {
    const { providers } = await this.#api.call("readSignInOptions", { query: { email } });
    const [only, ...others] = providers;
    if (!only) {
      const text = accountTexts[this.#state.locale].noCompany;
      return await this.#show({ tone: "info", text }, { email });
    }
    if (others.length > 0) return await this.#show(null, { email, ownProviders: providers });
    const { back, cookies } = this.#leave();
    const path = `..${only.startUrl.slice(this.p.baseUrl().length)}`;
    return await this.answers.goTo(`${path}?${new URLSearchParams({ returnTo: back })}`, cookies);
  }

  /** The address to which a provider sends the browser back, and the cookie that binds its return to this browser. */
  #leave(): { back: string; cookies: string[] } {
    const { oidcStart } = this.#state;
    const startSecret = oidcStart ?? newSecret();
    const query = new URLSearchParams({ ...this.#kept(), begun: csrfToken(startSecret) });
    return {
      back: `${this.answers.urls.base}sign-in?${query}`,
      cookies: oidcStart ? [] : [cookieWriter(this.answers.baseUrl).oidcStart(startSecret)],
    };
  }

  async #show(
    notice: SignInNotice | null,
    { email = "", ownProviders, status = notice?.tone === "bad" ? 401 : 200 }: {
      email?: string;
      ownProviders?: Answer<"readSignInOptions">["providers"];
      status?: number;
    } = {},
  ): Promise<Response> {
    const api = this.#api;
    const { tenantId, clientName } = await this.#readOwner();
    const looks = await readHostedLooks(this.p, tenantId, clientName);
    const providers = await api.call("listOpenIdProviders");
    const options = tenantId && await api.call("readSignInOptions", { query: { tenantId } });
    const registration = tenantId && (await api.call("readRegistrationMode", { query: { tenantId } })).mode;
    const { back, cookies } = this.#leave();
    const own = ownProviders ?? (options ? options.providers : []);
    return await this.answers.html(
      <SignInPage
        urls={this.answers.urls}
        v={this.#state}
        looks={looks}
        to={this.#to}
        action={`sign-in${searchOf(this.#kept())}`}
        notice={notice}
        email={email}
        providers={providers}
        ownProviders={own}
        hasPassword={!options || options.passwordSignIn || this.#query.has("password")}
        isOfTenant={tenantId !== null}
        mayRegister={registration === "open" || registration === "domain"}
        back={back}
        begun={this.#query.get("begun") ?? ""}
      />,
      status,
      providers.length + own.length > 0 ? cookies : [],
      styleSource(brandStyle(looks)),
    );
  }

  /** @param refusal why the last attempt failed; null: it is the first */
  async #askForFactor(needed: ReturnType<typeof neededFactor>, refusal: Refusal | null): Promise<Response> {
    const { tenantId, clientName } = await this.#readOwner();
    const looks = await readHostedLooks(this.p, tenantId, clientName);
    return await this.answers.html(
      <FactorStep
        urls={this.answers.urls}
        v={this.#state}
        looks={looks}
        {...needed}
        action={`sign-in${new URL(this.asked.request.url).search}`}
        notice={refusal && refusal.flash}
      />,
      401,
      [],
      styleSource(brandStyle(looks)),
    );
  }

  /** Whose pages a sign-in has: those of the client and tenant that the user signs in to, else the service's. */
  async #readOwner() {
    const asked = clientRequestOf(this.#to);
    return asked ? await readPageOwner(this.p, asked) : { tenantId: this.#tenantId, clientName: null };
  }

  /** The parameters of the page that its forms and links keep. */
  #kept(): Record<string, string> {
    return {
      ...this.#to && { to: this.#to },
      ...this.#tenantId && { tenantId: this.#tenantId },
      ...this.#query.has("password") && { password: "1" },
    };
  }
}

/** The path to open after sign-in. Only paths of the console and the provider are accepted, to prevent open redirects. */
function destinationIn(query: URLSearchParams): string {
  const to = query.get("to");
  if (to && clientRequestOf(to)) return to;
  return to && /^[\w-][\w/.:-]*(\?[^#\\]*)?$/.test(to) && !/^[\w+.-]+:/.test(to) ? to : "";
}
