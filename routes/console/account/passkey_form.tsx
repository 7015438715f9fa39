import type { Child } from "hono/jsx";
import { Refusal } from "../shared/api.ts";
import type { Locale } from "../shared/languages.ts";
import { factorTexts } from "./texts.ts";
import { Icon } from "../components/icons.tsx";

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
