import type { Child } from "hono/jsx";
import { openBrowserSession } from "../../../domain/access/sign_in/browser_session.ts";
import { readWantedTenant } from "../../../domain/oauth/authorization/request.ts";
import { newSecret } from "../../../domain/shared/secrets.ts";
import { CATALOGUE } from "../../../domain/problems/catalogue.ts";
import { Problem } from "../../../domain/problems/problem.ts";
import type { ServicePlatform } from "../../../domain/platform.ts";
import type { PasskeyInput } from "../../auth/factor_shapes.ts";
import { RequiredMark, TextField } from "../components/forms.tsx";
import { Icon } from "../components/icons.tsx";
import { Notice } from "../components/notice.tsx";
import { PasskeyForm, passkeyOf } from "../components/passkey_form.tsx";
import type { Handle } from "../../app.ts";
import { readHostedLooks } from "../../looks/hosted_page.ts";
import { Brand, brandStyle, styleSource } from "../shared/brand.tsx";
import { Api, Refusal, refusalOf } from "../shared/api.ts";
import { commonTexts } from "../shared/common_texts.ts";
import { cookieWriter, csrfToken, isCsrfToken, readCookies } from "../shared/cookies.ts";
import { readForm, SIGN_IN_FORM_BYTES } from "../shared/form.ts";
import { field, optionalField } from "../shared/page.ts";
import { isSameOrigin } from "../shared/request_security.ts";
import { BarePage, type ConsoleUrls } from "../shared/document.tsx";
import { FactorStep, neededFactor, readChoice } from "./factor_step.tsx";
import { factorTexts } from "./factor_texts.ts";
import { accountTexts } from "./texts.ts";

interface SignInNotice {
  tone: "info" | "ok" | "bad";
  text: string;
  detail?: string;
}

/** Value of `reason` in the sign-in address: the viewer's access changed and ended the session. */
export const ACCESS_CHANGED = "access-changed";

/** The sign-in page: by password, by an OpenID provider, or a request for a password reset link. */
export function createSignIn(o: {
  p: ServicePlatform;
  handle: Handle;
  html: (body: Child, status: number, cookies?: string[], style?: string) => Promise<Response>;
  goTo: (to: string, cookies: string[]) => Response | Promise<Response>;
  urls: () => ConsoleUrls;
  baseUrl: () => URL;
}) {
  const apiOf = (request: Request, ip: string | null) =>
    new Api(o.handle, {
      token: null,
      ip,
      headers: { "user-agent": request.headers.get("user-agent") ?? "" },
      locale: readCookies(o.baseUrl(), request.headers).locale,
    });

  async function show(
    request: Request,
    ip: string | null,
    notice: SignInNotice | null = null,
    email = "",
  ): Promise<Response> {
    const { locale, theme, oidcStart } = readCookies(o.baseUrl(), request.headers);
    const t = accountTexts[locale];
    const asked = new URL(request.url).searchParams;
    const to = destination(asked.get("to"));
    const looks = await looksFor(o.p, to);
    const providers = await apiOf(request, ip).call("listOpenIdProviders");
    const startSecret = oidcStart ?? newSecret();
    const back = `${o.urls().base}sign-in?${new URLSearchParams({
      ...to ? { to } : {},
      begun: csrfToken(startSecret),
    })}`;
    return await o.html(
      <BarePage urls={o.urls()} v={{ locale, theme }} title={t.signIn} looks={looks} scripts={["passkey.js"]}>
        <div class="stack">
          <Brand looks={looks} />
          <div>
            <h1>{t.signIn}</h1>
            {!to.startsWith(PROVIDER_PAGE) && <p class="muted">{t.intro}</p>}
          </div>
          {notice && <Notice tone={notice.tone} title={notice.text}>{notice.detail}</Notice>}
          <form
            class="card form"
            method="post"
            action={`sign-in${to ? `?to=${encodeURIComponent(to)}` : ""}`}
          >
            <TextField
              label={t.email}
              name="email"
              type="email"
              autocomplete="username"
              value={email}
              required
            />
            <TextField
              label={t.password}
              name="password"
              type="password"
              autocomplete="current-password"
              required
            />
            <button type="submit" class="button primary" name="do" value="sign-in">{t.signIn}</button>
          </form>
          <PasskeyForm
            locale={locale}
            kind="get"
            action={`sign-in${to ? `?to=${encodeURIComponent(to)}` : ""}`}
            options={{ url: "../api/v1/auth/login/passkey/options" }}
            label={factorTexts[locale].signInByPasskey}
            value="passkey"
          />
          {providers.length > 0 && (
            <div class="card">
              {providers.map(({ displayName, signInUrl }) => (
                <a class="button" href={`${signInUrl}?returnTo=${encodeURIComponent(back)}`}>
                  <Icon name="lock" />
                  {t.signInBy(displayName)}
                </a>
              ))}
              <form
                method="post"
                action={`sign-in${to ? `?to=${encodeURIComponent(to)}` : ""}`}
                data-handover
                hidden
              >
                <input type="hidden" name="do" value="exchange" />
                <input type="hidden" name="code" />
                <input type="hidden" name="begun" value={asked.get("begun") ?? ""} />
              </form>
            </div>
          )}
          <details>
            <summary>{t.forgot}</summary>
            <form class="card form" method="post" action="sign-in">
              <p class="muted">{t.forgotText}</p>
              <div class="field">
                <label for="reset-email">
                  {t.email} <RequiredMark />
                </label>
                <input id="reset-email" name="email" type="email" autocomplete="username" required />
              </div>
              <button type="submit" class="button" name="do" value="forgot">{t.sendLink}</button>
            </form>
          </details>
        </div>
      </BarePage>,
      notice?.tone === "bad" ? 401 : 200,
      providers.length > 0 && !oidcStart ? [cookieWriter(o.baseUrl()).oidcStart(startSecret)] : [],
      styleSource(brandStyle(looks)),
    );
  }

  async function submit(request: Request, ip: string | null): Promise<Response> {
    const { locale, oidcStart, secret: former, deviceToken } = readCookies(o.baseUrl(), request.headers);
    const t = accountTexts[locale];
    const stale = () => show(request, ip, { tone: "bad", text: commonTexts[locale].stale });
    if (!isSameOrigin(request, o.baseUrl())) return await stale();
    const api = apiOf(request, ip);
    const device = deviceToken?.slice(0, 200);
    let email = "";
    let factorToken = "";
    try {
      const form = await readForm(request, {
        bytes: SIGN_IN_FORM_BYTES,
        milliseconds: o.p.config.BODY_TIMEOUT_SECONDS * 1000,
        room: o.p.runningRequests,
      });
      email = field(form, "email");
      if (form.get("do") === "forgot") {
        await api.call("forgotPassword", { body: { email } });
        return await show(request, ip, { tone: "ok", text: t.linkSent });
      }
      const isReturn = form.get("do") === "exchange";
      // Login CSRF: a code from another browser must not sign this one in as another user.
      if (isReturn && !(oidcStart && isCsrfToken(form.get("begun"), oidcStart))) return await stale();
      factorToken = field(form, "factorToken");
      const signedIn = isReturn
        ? await api.call("exchangeOpenIdCode", { body: { code: field(form, "code") } })
        : await firstOrSecondStep(api, form, device);
      const secret = await openBrowserSession(o.p, signedIn.accessToken, former);
      const to = destination(new URL(request.url).searchParams.get("to"));
      const cookies = cookieWriter(o.baseUrl());
      return o.goTo(to, [
        ...cookies.session(secret),
        ...signedIn.deviceToken ? [cookies.device(signedIn.deviceToken)] : [],
      ]);
    } catch (thrown) {
      const refusal = thrown instanceof Problem ? refusalOf(thrown, locale) : thrown;
      if (!(refusal instanceof Refusal)) throw refusal;
      if (refusal.code === "SECOND_FACTOR_REQUIRED_UNAUTHORIZED") {
        return await askForFactor(request, neededFactor(refusal.document), null);
      }
      const choice = factorToken ? await readChoice(api, factorToken) : null;
      if (choice) return await askForFactor(request, { factorToken, choice }, refusal);
      return await show(request, ip, refusal.flash, email);
    }
  }

  /** @param refusal why the last attempt failed; null: it is the first */
  async function askForFactor(
    request: Request,
    needed: ReturnType<typeof neededFactor>,
    refusal: Refusal | null,
  ): Promise<Response> {
    const { locale, theme } = readCookies(o.baseUrl(), request.headers);
    const { search, searchParams } = new URL(request.url);
    const looks = await looksFor(o.p, destination(searchParams.get("to")));
    return await o.html(
      <FactorStep
        urls={o.urls()}
        v={{ locale, theme }}
        looks={looks}
        {...needed}
        action={`sign-in${search}`}
        notice={refusal && refusal.flash}
      />,
      401,
      [],
      styleSource(brandStyle(looks)),
    );
  }

  async function open(request: Request, ip: string | null): Promise<Response> {
    const asked = new URL(request.url).searchParams;
    const hasLostAccess = asked.get("reason") === ACCESS_CHANGED;
    const text = CATALOGUE.SESSION_INVALIDATED.user[readCookies(o.baseUrl(), request.headers).locale];
    const notice: SignInNotice | null = hasLostAccess ? { tone: "info", text } : null;
    return await show(request, ip, notice, asked.get("email") ?? "");
  }

  return { show: open, submit };
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

/** Where the OpenID provider sends users to sign in from, and expects them back. */
const PROVIDER_PAGE = "../oauth/authorize?";

/** The looks of a sign-in: those of the tenant that a client of the OpenID provider sends the user for, else the service's. */
async function looksFor(p: ServicePlatform, to: string) {
  const isForClient = to.startsWith(PROVIDER_PAGE);
  const request = new URLSearchParams(isForClient ? to.slice(PROVIDER_PAGE.length) : "");
  return await readHostedLooks(p, isForClient ? await readWantedTenant(p, request) : null);
}

/** The path to open after sign-in. Only paths of the console are accepted, to prevent open redirects. */
function destination(to: string | null): string {
  if (to?.startsWith(PROVIDER_PAGE)) return /[#\\]/.test(to) ? "" : to;
  return to && /^[\w-][\w/.:-]*(\?[^#\\]*)?$/.test(to) && !/^[\w+.-]+:/.test(to) ? to : "";
}
