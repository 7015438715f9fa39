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
import { cookieWriter, csrfToken, isCsrfToken, readCookies } from "../shared/cookies.ts";
import { type Answer, searchOf } from "../shared/operations.ts";
import { field, optionalField } from "../shared/page.ts";
import { FactorStep, neededFactor, readChoice, type SignInNotice, SignInPage } from "./sign_in_page.tsx";
import { accountTexts } from "./texts.ts";

/** A request for the sign-in page. */
interface Asked {
  request: Request;
  ip: string | null;
}

/** The routes of the sign-in page. */
export class SignIn {
  constructor(
    private readonly p: ServicePlatform,
    private readonly handle: Handle,
    private readonly answers: Answers,
  ) {}

  /** Shows the page; with the reason if a provider's sign-in was refused, or the viewer's access has changed. */
  async open(asked: Asked): Promise<Response> {
    const { searchParams } = new URL(asked.request.url);
    const { locale } = this.#stateOf(asked);
    const email = searchParams.get("email") ?? "";
    const error = searchParams.get("error");
    if (error !== null && isProblemCode(error)) {
      const text = CATALOGUE[error].user[locale];
      return await this.#show(asked, { tone: "bad", text, detail: error }, { email });
    }
    const text = CATALOGUE.SESSION_INVALIDATED.user[locale];
    const notice = searchParams.get("reason") === ACCESS_CHANGED ? { tone: "info" as const, text } : null;
    return await this.#show(asked, notice, { email });
  }

  async submit(asked: Asked): Promise<Response> {
    const { request } = asked;
    const { locale, oidcStart, secret: former, deviceToken } = this.#stateOf(asked);
    const device = deviceToken?.slice(0, 200);
    const stale = () => this.#show(asked, { tone: "bad", text: commonTexts[locale].stale });
    if (!isSameOrigin(request, this.answers.baseUrl)) return await stale();
    const api = this.#apiOf(asked);
    let email = "";
    let factorToken = "";
    try {
      const form = await readForm(asked, {
        bytes: SIGN_IN_FORM_BYTES,
        milliseconds: this.p.config.BODY_TIMEOUT_SECONDS * 1000,
        room: this.p.runningRequests,
      });
      email = field(form, "email");
      if (form.get("do") === "company") return await this.#toCompany(asked, api, email);
      const { tenantId } = await ownerOf(this.p, request);
      if (form.get("do") === "register") {
        await api.call("register", { body: { tenantId: tenantId ?? undefined, email } });
        return await this.#show(asked, { tone: "ok", text: accountTexts[locale].registrationSent });
      }
      if (form.get("do") === "forgot") {
        await api.call("forgotPassword", { body: { email } });
        return await this.#show(asked, { tone: "ok", text: accountTexts[locale].linkSent });
      }
      const isReturn = form.get("do") === "exchange";
      // Login CSRF: a code from another browser must not sign this one in as another user.
      if (isReturn && !(oidcStart && isCsrfToken(form.get("begun"), oidcStart))) return await stale();
      factorToken = field(form, "factorToken");
      const signedIn = isReturn
        ? await api.call("exchangeOpenIdCode", { body: { code: field(form, "code"), deviceToken: device } })
        : await firstOrSecondStep(api, form, device, tenantOf(request));
      const secret = await openBrowserSession(this.p, signedIn.accessToken, former);
      const cookies = cookieWriter(this.answers.baseUrl);
      return await this.answers.goTo(destinationOf(request), [
        ...cookies.session(secret),
        ...signedIn.deviceToken ? [cookies.device(signedIn.deviceToken)] : [],
      ]);
    } catch (thrown) {
      const refusal = thrown instanceof Problem ? refusalOf(thrown, locale) : thrown;
      if (!(refusal instanceof Refusal)) throw refusal;
      if (refusal.code === "SECOND_FACTOR_REQUIRED_UNAUTHORIZED") {
        return await this.#askForFactor(asked, neededFactor(refusal.document), null);
      }
      const choice = factorToken ? await readChoice(api, factorToken) : null;
      if (choice) return await this.#askForFactor(asked, { factorToken, choice }, refusal);
      return await this.#show(asked, refusal.flash, { email, status: refusal.status });
    }
  }

  /** Leads to the provider of an email's domain. With several, the page shows them. */
  async #toCompany(asked: Asked, api: Api, email: string): Promise<Response> {
    const { providers } = await api.call("readSignInOptions", { query: { email } });
    const [only, ...others] = providers;
    if (!only) {
      const text = accountTexts[this.#stateOf(asked).locale].noCompany;
      return await this.#show(asked, { tone: "info", text }, { email });
    }
    if (others.length > 0) return await this.#show(asked, null, { email, ownProviders: providers });
    const { back, cookies } = this.#leave(asked);
    const path = `..${only.startUrl.slice(this.p.baseUrl().length)}`;
    return await this.answers.goTo(`${path}?${new URLSearchParams({ returnTo: back })}`, cookies);
  }

  /** The address to which a provider sends the browser back, and the cookie that binds its return to this browser. */
  #leave(asked: Asked): { back: string; cookies: string[] } {
    const { oidcStart } = this.#stateOf(asked);
    const startSecret = oidcStart ?? newSecret();
    const query = new URLSearchParams({ ...formQuery(asked.request), begun: csrfToken(startSecret) });
    return {
      back: `${this.answers.urls.base}sign-in?${query}`,
      cookies: oidcStart ? [] : [cookieWriter(this.answers.baseUrl).oidcStart(startSecret)],
    };
  }

  async #show(
    asked: Asked,
    notice: SignInNotice | null,
    { email = "", ownProviders, status = notice?.tone === "bad" ? 401 : 200 }: {
      email?: string;
      ownProviders?: Answer<"readSignInOptions">["providers"];
      status?: number;
    } = {},
  ): Promise<Response> {
    const { request } = asked;
    const { urls } = this.answers;
    const { locale, theme } = this.#stateOf(asked);
    const { tenantId, clientName } = await ownerOf(this.p, request);
    const looks = await readHostedLooks(this.p, tenantId, clientName);
    const api = this.#apiOf(asked);
    const providers = await api.call("listOpenIdProviders");
    const options = tenantId && await api.call("readSignInOptions", { query: { tenantId } });
    const registration = tenantId && (await api.call("readRegistrationMode", { query: { tenantId } })).mode;
    const { back, cookies } = this.#leave(asked);
    const own = ownProviders ?? (options ? options.providers : []);
    const { searchParams } = new URL(request.url);
    return await this.answers.html(
      <SignInPage
        urls={urls}
        v={{ locale, theme }}
        looks={looks}
        to={destinationOf(request)}
        action={`sign-in${searchOf(formQuery(request))}`}
        notice={notice}
        email={email}
        providers={providers}
        ownProviders={own}
        hasPassword={!options || options.passwordSignIn || searchParams.has("password")}
        isOfTenant={tenantId !== null}
        mayRegister={registration === "open" || registration === "domain"}
        back={back}
        begun={searchParams.get("begun") ?? ""}
      />,
      status,
      providers.length + own.length > 0 ? cookies : [],
      styleSource(brandStyle(looks)),
    );
  }

  /** @param refusal why the last attempt failed; null: it is the first */
  async #askForFactor(
    asked: Asked,
    needed: ReturnType<typeof neededFactor>,
    refusal: Refusal | null,
  ): Promise<Response> {
    const { locale, theme } = this.#stateOf(asked);
    const { tenantId, clientName } = await ownerOf(this.p, asked.request);
    const looks = await readHostedLooks(this.p, tenantId, clientName);
    return await this.answers.html(
      <FactorStep
        urls={this.answers.urls}
        v={{ locale, theme }}
        looks={looks}
        {...needed}
        action={`sign-in${new URL(asked.request.url).search}`}
        notice={refusal && refusal.flash}
      />,
      401,
      [],
      styleSource(brandStyle(looks)),
    );
  }

  #stateOf({ request }: Asked) {
    const uiLocales = clientRequestOf(destinationOf(request))?.get(UI_LOCALES) ?? null;
    return readCookies(this.answers.baseUrl, request.headers, uiLocales);
  }

  #apiOf(asked: Asked): Api {
    return new Api(this.handle, {
      token: null,
      ip: asked.ip,
      headers: { "user-agent": asked.request.headers.get("user-agent") ?? "" },
      locale: this.#stateOf(asked).locale,
    });
  }
}

/** Sends what the viewer entered: email and password, a passkey alone, or a second factor. */
async function firstOrSecondStep(
  api: Api,
  form: FormData,
  deviceToken: string | undefined,
  tenantId: string | undefined,
) {
  const passkey = passkeyOf<PasskeyInput>(form);
  switch (form.get("do")) {
    case "passkey":
      return await api.call("signInByPasskey", { body: { passkey, deviceToken } });
    case "factor": {
      const factorToken = field(form, "factorToken");
      const [code, recoveryCode] = [optionalField(form, "code"), optionalField(form, "recoveryCode")];
      return await api.call("finishSignIn", {
        body: { factorToken, code, recoveryCode, passkey, deviceToken },
      });
    }
    default:
      return await api.call("signIn", {
        body: {
          email: field(form, "email"),
          password: String(form.get("password") ?? ""),
          deviceToken,
          ...tenantId === undefined ? {} : { tenantId },
        },
      });
  }
}

/** Whose pages a sign-in has: those of the client and tenant that the user signs in to, else the service's. */
async function ownerOf(p: ServicePlatform, request: Request) {
  const asked = clientRequestOf(destinationOf(request));
  if (asked) return await readPageOwner(p, asked);
  return { tenantId: tenantOf(request) ?? null, clientName: null };
}

/** The tenant whose sign-in page this is. */
function tenantOf(request: Request): string | undefined {
  const tenantId = new URL(request.url).searchParams.get("tenantId")?.toLowerCase();
  return tenantId && isUuid(tenantId) ? tenantId : undefined;
}

/** The parameters of the page that its forms and links keep. */
function formQuery(request: Request): Record<string, string> {
  const [to, tenantId] = [destinationOf(request), tenantOf(request)];
  const hasPassword = new URL(request.url).searchParams.has("password");
  return { ...to && { to }, ...tenantId && { tenantId }, ...hasPassword && { password: "1" } };
}

/** The path to open after sign-in. Only paths of the console and the provider are accepted, to prevent open redirects. */
function destinationOf(request: Request): string {
  const to = new URL(request.url).searchParams.get("to");
  if (to && clientRequestOf(to)) return to;
  return to && /^[\w-][\w/.:-]*(\?[^#\\]*)?$/.test(to) && !/^[\w+.-]+:/.test(to) ? to : "";
}
