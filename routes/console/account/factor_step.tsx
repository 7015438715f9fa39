import { TextField } from "../components/forms.tsx";
import type { HostedLooks } from "../../looks/hosted_page.ts";
import { Notice } from "../components/notice.tsx";
import { PasskeyForm } from "./passkey_form.tsx";
import type { Api } from "../shared/api.ts";
import type { Locale } from "../shared/languages.ts";
import type { Answer } from "../shared/operations.ts";
import { Brand } from "../layout/brand.tsx";
import { BarePage, type ConsoleUrls } from "../layout/document.tsx";
import type { Theme } from "../shared/looks.ts";
import { factorTexts } from "./factor_texts.ts";

export type FactorChoice = Answer<"readFactorChoice">;

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
