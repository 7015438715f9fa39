import type { HostedLooks } from "../../looks/hosted_page.ts";
import { RequiredMark, TextField } from "../components/forms.tsx";
import { Icon } from "../components/icons.tsx";
import { Notice } from "../components/notice.tsx";
import { PasskeyForm } from "./proof_forms.tsx";
import { BarePage, Brand, type ConsoleUrls } from "../layout/document.tsx";
import { PROVIDER_PAGE } from "../shared/request_security.ts";
import type { Locale } from "../shared/languages.ts";
import type { Result, Theme } from "../shared/looks.ts";
import type { Answer } from "../shared/operations.ts";
import { accountTexts, factorTexts } from "./texts.ts";
import type { Api } from "../shared/api.ts";

export type SignInNotice = Pick<Result, "tone" | "text" | "detail">;

interface SignInPageProps {
  urls: ConsoleUrls;
  v: { locale: Locale; theme: Theme };
  looks: HostedLooks;
  /** The path to open after sign-in. */
  to: string;
  /** The address of the form. */
  action: string;
  notice: SignInNotice | null;
  email: string;
  /** The providers of the service. */
  providers: Answer<"listOpenIdProviders">;
  /** The providers of the tenant, or of the tenants of an email's domain. */
  ownProviders: Answer<"readSignInOptions">["providers"];
  /** False: a link leads to the fields of the password. */
  hasPassword: boolean;
  /** True if it is known to which tenant the user signs in. */
  isOfTenant: boolean;
  /** The tenant of the client lets strangers in. */
  mayRegister: boolean;
  /** The address to which OpenID providers send the browser back. */
  back: string;
  /** The token with which the browser left for a provider; "" if it does not come back from one. */
  begun: string;
}

/** Sign-in by password, by passkey, by an OpenID provider, or a request for a password reset link. */
export function SignInPage(asked: SignInPageProps) {
  const { v, looks, action, notice, hasPassword } = asked;
  const { locale } = v;
  const t = accountTexts[locale];
  const buttons = (ways: [name: string, startUrl: string][]) =>
    ways.length > 0 && (
      <div class="card">
        {ways.map(([name, startUrl]) => (
          <a class="button" href={`${startUrl}?returnTo=${encodeURIComponent(asked.back)}`}>
            <Icon name="lock" />
            {t.signInBy(name)}
          </a>
        ))}
      </div>
    );
  return (
    <BarePage urls={asked.urls} v={v} title={t.signIn} looks={looks} scripts={["passkey.js"]}>
      <div class="stack">
        <Brand looks={looks} />
        <div>
          <h1>{t.signIn}</h1>
          {!asked.to.startsWith(PROVIDER_PAGE) && <p class="muted">{t.intro}</p>}
        </div>
        {notice && <Notice tone={notice.tone} title={notice.text}>{notice.detail}</Notice>}
        {buttons(asked.ownProviders.map(({ name, startUrl }) => [name, startUrl]))}
        {hasPassword
          ? [
            <form class="card form" method="post" action={action}>
              <TextField
                label={t.email}
                name="email"
                type="email"
                autocomplete="username"
                value={asked.email}
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
            </form>,
            <PasskeyForm
              locale={locale}
              kind="get"
              action={action}
              options={{ url: "../api/v1/auth/login/passkey/options" }}
              label={factorTexts[locale].signInByPasskey}
              value="passkey"
            />,
            buttons(asked.providers.map(({ displayName, signInUrl }) => [displayName, signInUrl])),
          ]
          : (
            <p>
              <a href={`${action}${action.includes("?") ? "&" : "?"}password=1`}>{t.usePassword}</a>
            </p>
          )}
        <form method="post" action={action} data-handover hidden>
          <input type="hidden" name="do" value="exchange" />
          <input type="hidden" name="code" />
          <input type="hidden" name="begun" value={asked.begun} />
        </form>
        {!asked.isOfTenant && (
          <MailForm
            action={action}
            locale={locale}
            kind="company"
            summary={t.company}
            text={t.companyText}
            submit={t.goOn}
          />
        )}
        {hasPassword && (
          <MailForm action={action} locale={locale} kind="forgot" summary={t.forgot} text={t.forgotText} />
        )}
        {asked.mayRegister && (
          <MailForm
            action={action}
            locale={locale}
            kind="register"
            summary={t.register}
            text={t.registerText}
          />
        )}
      </div>
    </BarePage>
  );
}

/** A form that needs an email only. @param submit label of its button; absent: that it has a link mailed */
function MailForm({ action, locale, kind, summary, text, submit }: {
  action: string;
  locale: Locale;
  kind: "company" | "forgot" | "register";
  summary: string;
  text: string;
  submit?: string;
}) {
  const t = accountTexts[locale];
  const id = `${kind}-email`;
  return (
    <details>
      <summary>{summary}</summary>
      <form class="card form" method="post" action={action}>
        <p class="muted">{text}</p>
        <div class="field">
          <label for={id}>
            {t.email} <RequiredMark />
          </label>
          <input id={id} name="email" type="email" autocomplete="username" required />
        </div>
        <button type="submit" class="button" name="do" value={kind}>{submit ?? t.sendLink}</button>
      </form>
    </details>
  );
}

type FactorChoice = Answer<"readFactorChoice">;

/** The page that asks for the second factor of a sign-in. */
export function FactorStep({ urls, v, looks, factorToken, choice, action, notice }: {
  urls: ConsoleUrls;
  v: { locale: Locale; theme: Theme };
  looks: HostedLooks;
  factorToken: string;
  choice: FactorChoice;
  /** The address of the sign-in form, with the page to open afterwards. */
  action: string;
  notice: { text: string; detail?: string } | null;
}) {
  const t = factorTexts[v.locale];
  const token = <input type="hidden" name="factorToken" value={factorToken} />;
  const has = (kind: FactorChoice["factors"][number]) => choice.factors.includes(kind);
  const codeForm = (name: "code" | "recoveryCode", label: string) => (
    <form class="card form" method="post" action={action}>
      {token}
      <TextField
        label={label}
        name={name}
        autocomplete={name === "code" ? "one-time-code" : "off"}
        maxlength={name === "code" ? 10 : 100}
        required
      />
      <button type="submit" class="button primary" name="do" value="factor">{t.confirm}</button>
    </form>
  );
  return (
    <BarePage urls={urls} v={v} title={t.secondFactor} looks={looks} scripts={["passkey.js"]}>
      <div class="stack">
        <Brand looks={looks} />
        <div>
          <h1>{t.secondFactor}</h1>
          <p class="muted">{t.secondFactorText}</p>
        </div>
        {notice && <Notice tone="bad" title={notice.text}>{notice.detail}</Notice>}
        {has("totp") && codeForm("code", t.code)}
        {choice.passkeyOptions && (
          <PasskeyForm
            locale={v.locale}
            kind="get"
            action={action}
            options={{ json: choice.passkeyOptions }}
            label={t.usePasskey}
            value="factor"
          >
            {token}
          </PasskeyForm>
        )}
        {has("recoveryCode") && (
          <details>
            <summary>{t.otherWay}</summary>
            {codeForm("recoveryCode", t.recoveryCode)}
          </details>
        )}
        <p>
          <a href="sign-in">{t.startAgain}</a>
        </p>
      </div>
    </BarePage>
  );
}

/** The token and choice of a refused sign-in that needs a second factor. */
export function neededFactor(
  document: Record<string, unknown>,
): { factorToken: string; choice: FactorChoice } {
  const { factorToken, factors, passkeyOptions } = document;
  return { factorToken: String(factorToken), choice: { factors, passkeyOptions } as FactorChoice };
}

/** The factors of a sign-in, with new options for a passkey; null if the sign-in must start again. */
export async function readChoice(api: Api, factorToken: string): Promise<FactorChoice | null> {
  return await api.call("readFactorChoice", { body: { factorToken } }).catch(() => null);
}
