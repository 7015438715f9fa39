import type { Child } from "hono/jsx";
import type { PasskeyInput } from "../../auth/factors.ts";
import { FormRefusal, TextField } from "../components/forms.tsx";
import { PasskeyForm, passkeyOf } from "./passkey_form.tsx";
import type { Refusal } from "../shared/api.ts";
import type { Locale } from "../shared/languages.ts";
import type { Answer } from "../shared/operations.ts";
import { optionalField } from "../shared/page.ts";
import { accountTexts, factorTexts } from "./texts.ts";

/** Forms by which the viewer proves who they are: password and code, or a passkey. */
export function ProofForms({ locale, action, choice, refusal, label, children }: {
  locale: Locale;
  action: string;
  choice: Answer<"readStepUpChoice">;
  refusal: Refusal | null;
  label: string;
  /** Hidden fields of each form. */
  children: Child;
}) {
  const t = factorTexts[locale];
  const hasCode = choice.factors.includes("totp");
  const hasRecovery = choice.factors.includes("recoveryCode");
  const password = choice.hasPassword && (
    <TextField
      label={accountTexts[locale].currentPassword}
      name="password"
      type="password"
      autocomplete="current-password"
      errors={refusal?.fields.password}
      required
    />
  );
  const code = hasCode
    ? (
      <TextField
        label={t.code}
        name="code"
        autocomplete="one-time-code"
        maxlength={10}
        errors={refusal?.fields.code}
        required
      />
    )
    : hasRecovery && (
      <TextField
        label={t.recoveryCode}
        name="recoveryCode"
        maxlength={100}
        errors={refusal?.fields.recoveryCode}
        required
      />
    );
  return (
    <div class="stack">
      <FormRefusal v={{ locale }} refusal={refusal} known={["password", "code", "recoveryCode"]} />
      {choice.passkeyOptions && (
        <PasskeyForm
          locale={locale}
          kind="get"
          action={action}
          options={{ json: choice.passkeyOptions }}
          label={t.usePasskey}
          value="passkey"
        >
          {children}
        </PasskeyForm>
      )}
      <form class="card form" method="post" action={action}>
        {children}
        {password}
        {code}
        <button type="submit" class="button primary" name="do" value="prove">{label}</button>
      </form>
    </div>
  );
}

/** The proof that a form of `ProofForms` sent. */
export const proofOf = (form: FormData) => ({
  password: String(form.get("password") ?? "") || undefined,
  code: optionalField(form, "code"),
  recoveryCode: optionalField(form, "recoveryCode"),
  passkey: passkeyOf<PasskeyInput | undefined>(form),
});
