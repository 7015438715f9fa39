import { z } from "zod";
import type { Child } from "hono/jsx";
import type { PasskeyInput } from "../../auth/factors.ts";
import { parse } from "../../shared/call.ts";
import { CsrfField, FormRefusal, TextField } from "../components/forms.tsx";
import { Icon } from "../components/icons.tsx";
import { Refusal } from "../shared/api.ts";
import type { Locale } from "../shared/languages.ts";
import { type ConsolePage, field, jsonIn, optionalField, type View, type Visit } from "../shared/page.ts";
import { consoleAddress, storableForm } from "../shared/request_security.ts";
import { accountTexts, factorTexts } from "./texts.ts";

/** Path of the page. console.tsx handles its form, because it continues with any other page. */
export const STEP_UP = "step-up";

/** The request of the viewer that needs a step-up. */
interface Interrupted {
  /** Path of the page under /console, with its query. */
  to: string;
  /** The form that was sent there, as JSON; "" if a page was opened. */
  form: string;
}

/** A sent form as text; "" if it contains a file, which the viewer chooses again. */
export function formAsText(form: FormData): string {
  const entries = [...form].filter(([name]) => name !== "csrf");
  return entries.some(([, value]) => typeof value !== "string") ? "" : JSON.stringify(entries);
}

/** The interrupted work that a step-up form contains. */
export const interruptedBy = (form: FormData): Interrupted => ({
  to: consoleAddress(field(form, "to")),
  form: String(form.get("interrupted") ?? ""),
});

const SentFields = z.array(z.tuple([z.string(), z.string()]));

/** The form that was interrupted. @throws VALIDATION_ERROR if its text is malformed */
export function resumedForm({ form }: Interrupted): FormData {
  const data = new FormData();
  for (const [name, value] of parse(SentFields, jsonIn(form))) data.append(name, value);
  return storableForm(data);
}

/** The page itself, for viewers whose session lacks a required second factor. */
export const stepUpPage: ConsolePage = {
  path: STEP_UP,
  forEnrolling: true,
  get: (v) => stepUpView(v, { to: consoleAddress(v.query.get("to") ?? ""), form: "" }, null),
  post: (v, form) => stepUpView(v, interruptedBy(form), null),
};

/** Asks the viewer to prove again who they are: by password and code, or by a passkey. */
export async function stepUpView(v: Visit, interrupted: Interrupted, refusal: Refusal | null): Promise<View> {
  const t = factorTexts[v.locale];
  const { factors, hasPassword, passkeyOptions } = await v.api.call("readStepUpChoice");
  const kept = [
    <CsrfField v={v} />,
    <input type="hidden" name="to" value={interrupted.to} />,
    <input type="hidden" name="interrupted" value={interrupted.form} />,
  ];
  const input = (name: string, label: string, more: Partial<Parameters<typeof TextField>[0]>) => (
    <TextField label={label} name={name} errors={refusal?.fields[name]} required {...more} />
  );
  return {
    title: t.confirmIdentity,
    scripts: ["passkey.js"],
    status: refusal?.status ?? 200,
    body: [
      <p>{t.stepUpText}</p>,
      <div class="stack">
        <FormRefusal v={v} refusal={refusal} known={["password", "code", "recoveryCode"]} />
        {passkeyOptions && (
          <PasskeyForm
            locale={v.locale}
            kind="get"
            action={STEP_UP}
            options={{ json: passkeyOptions }}
            label={t.usePasskey}
            value="passkey"
          >
            {kept}
          </PasskeyForm>
        )}
        <form class="card form" method="post" action={STEP_UP}>
          {kept}
          {hasPassword && input("password", accountTexts[v.locale].currentPassword, {
            type: "password",
            autocomplete: "current-password",
          })}
          {factors.includes("totp")
            ? input("code", t.code, { autocomplete: "one-time-code", maxlength: 10 })
            : factors.includes("recoveryCode") && input("recoveryCode", t.recoveryCode, { maxlength: 100 })}
          <button type="submit" class="button primary" name="do" value="prove">{t.confirm}</button>
        </form>
      </div>,
    ],
  };
}

/** The proof that the form of `stepUpView` sent. */
export const proofOf = (form: FormData) => ({
  password: String(form.get("password") ?? "") || undefined,
  code: optionalField(form, "code"),
  recoveryCode: optionalField(form, "recoveryCode"),
  passkey: passkeyOf<PasskeyInput | undefined>(form),
});

/**
 * A form that sends the answer of a passkey in the field `passkey`. passkey.js shows and completes it, so the page needs
 * that script.
 * @param options for the browser, or the address they come from
 */
export function PasskeyForm({ locale, kind, action, options, label, value, children }: {
  locale: Locale;
  kind: "get" | "create";
  action: string;
  options: { json: unknown } | { url: string };
  label: string;
  /** Value of the button `do`. */
  value: string;
  children?: Child;
}) {
  const t = factorTexts[locale];
  const from = "json" in options
    ? { "data-options": JSON.stringify(options.json) }
    : { "data-options-url": options.url };
  return (
    <div>
      <form class="card form" method="post" action={action} data-passkey={kind} {...from} hidden>
        <input type="hidden" name="passkey" />
        {children}
        <div class="notice bad" role="alert" tabindex={-1} data-passkey-error hidden>{t.passkeyFailed}</div>
        <button type="submit" class="button" name="do" value={value}>
          <Icon name="lock" />
          {label}
        </button>
      </form>
      <p class="muted" data-no-passkeys hidden>{t.noPasskeys}</p>
    </div>
  );
}

/** The passkey's answer in a sent form, undefined if it has none. The API checks its shape. */
export function passkeyOf<T>(form: FormData): T {
  const text = String(form.get("passkey") ?? "");
  try {
    return (text === "" ? undefined : JSON.parse(text)) as T;
  } catch {
    throw new Refusal({ status: 400, detail: "The answer of the passkey is not JSON." });
  }
}
