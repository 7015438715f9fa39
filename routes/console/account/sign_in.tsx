import { openBrowserSession } from "../../../domain/access/sign_in/browser_session.ts";
import { readPageOwner } from "../../../domain/oauth/authorization/request.ts";
import { newSecret } from "../../../domain/shared/secrets.ts";
import { CATALOGUE } from "../../../domain/problems/catalogue.ts";
import { Problem } from "../../../domain/problems/problem.ts";
import type { ServicePlatform } from "../../../domain/platform.ts";
import type { PasskeyInput } from "../../auth/factor_shapes.ts";
import { passkeyOf } from "./passkey_form.tsx";
import type { Handle } from "../../app.ts";
import { readHostedLooks } from "../../looks/hosted_page.ts";
import { ACCESS_CHANGED, type Answers } from "../layout/answers.tsx";
import { brandStyle, styleSource } from "../layout/brand.tsx";
import { Api, Refusal, refusalOf } from "../shared/api.ts";
import { clientRequestOf, UI_LOCALES } from "../shared/client_request.ts";
import { commonTexts } from "../shared/common_texts.ts";
import { cookieWriter, csrfToken, isCsrfToken, readCookies } from "../shared/cookies.ts";
import { readForm, SIGN_IN_FORM_BYTES } from "../shared/form.ts";
import { field, optionalField } from "../shared/page.ts";
import { isSameOrigin } from "../shared/request_security.ts";
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

  /** Shows the page; after a change of the viewer's access, with this reason. */
  async open(asked: Asked): Promise<Response> {
    const { searchParams } = new URL(asked.request.url);
    const text = CATALOGUE.SESSION_INVALIDATED.user[this.#stateOf(asked).locale];
    const notice = searchParams.get("reason") === ACCESS_CHANGED ? { tone: "info" as const, text } : null;
    return await this.#show(asked, notice, searchParams.get("email") ?? "");
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
      if (form.get("do") === "register") {
        const { tenantId } = await ownerOf(this.p, destinationOf(request));
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
        : await firstOrSecondStep(api, form, device);
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
      return await this.#show(asked, refusal.flash, email);
    }
  }

  async #show(asked: Asked, notice: SignInNotice | null, email = ""): Promise<Response> {
    const { urls, baseUrl } = this.answers;
    const { locale, theme, oidcStart } = this.#stateOf(asked);
    const to = destinationOf(asked.request);
    const { tenantId, clientName } = await ownerOf(this.p, to);
    const looks = await readHostedLooks(this.p, tenantId, clientName);
    const api = this.#apiOf(asked);
    const providers = await api.call("listOpenIdProviders");
    const registration = tenantId && (await api.call("readRegistrationMode", { query: { tenantId } })).mode;
    const startSecret = oidcStart ?? newSecret();
    const back = new URLSearchParams({ ...to ? { to } : {}, begun: csrfToken(startSecret) });
    return await this.answers.html(
      <SignInPage
        urls={urls}
        v={{ locale, theme }}
        looks={looks}
        to={to}
        notice={notice}
        email={email}
        providers={providers}
        mayRegister={registration === "open" || registration === "domain"}
        back={`${urls.base}sign-in?${back}`}
        begun={new URL(asked.request.url).searchParams.get("begun") ?? ""}
      />,
      notice?.tone === "bad" ? 401 : 200,
      providers.length > 0 && !oidcStart ? [cookieWriter(baseUrl).oidcStart(startSecret)] : [],
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
    const { tenantId, clientName } = await ownerOf(this.p, destinationOf(asked.request));
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
async function firstOrSecondStep(api: Api, form: FormData, deviceToken: string | undefined) {
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
        body: { email: field(form, "email"), password: String(form.get("password") ?? ""), deviceToken },
      });
  }
}

/** Whose pages a sign-in has: those of the client and tenant that the user signs in to, else the service's. */
async function ownerOf(p: ServicePlatform, to: string) {
  const request = clientRequestOf(to);
  return request ? await readPageOwner(p, request) : { tenantId: null, clientName: null };
}

/** The path to open after sign-in. Only paths of the console and the provider are accepted, to prevent open redirects. */
function destinationOf(request: Request): string {
  const to = new URL(request.url).searchParams.get("to");
  if (to && clientRequestOf(to)) return to;
  return to && /^[\w-][\w/.:-]*(\?[^#\\]*)?$/.test(to) && !/^[\w+.-]+:/.test(to) ? to : "";
}
