import { CsrfField } from "../components/forms.tsx";
import type { Refusal } from "../shared/api.ts";
import { type ConsolePage, field, type View, type Visit } from "../shared/page.ts";
import { factorTexts } from "./texts.ts";
import { ProofForms } from "./proof_forms.tsx";

/** Path of the page. console.tsx handles its form, because it continues with any other page. */
export const STEP_UP = "step-up";

/** The request of the viewer that needs a step-up. */
export interface Interrupted {
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

/** The interrupted work that a step-up form contains. Its paths lead only to pages of the console. */
export function interruptedBy(form: FormData): Interrupted {
  const to = field(form, "to");
  return { to: /^[\w-][\w/.:?&=%+-]*$/.test(to) ? to : "", form: String(form.get("interrupted") ?? "") };
}

/** The interrupted form. */
export function resumedForm({ form }: Interrupted): FormData {
  const data = new FormData();
  for (const [name, value] of JSON.parse(form)) data.append(String(name), String(value));
  return data;
}

/** The page itself, for viewers whose session lacks a required second factor. */
export const stepUpPage: ConsolePage = {
  path: STEP_UP,
  forEnrolling: true,
  get: (v) => stepUpView(v, interruptedBy(asForm(v.query)), null),
  post: (v, form) => stepUpView(v, interruptedBy(form), null),
};

function asForm(query: URLSearchParams): FormData {
  const form = new FormData();
  form.set("to", query.get("to") ?? "");
  return form;
}

/** Asks the viewer to prove again who they are. */
export async function stepUpView(v: Visit, interrupted: Interrupted, refusal: Refusal | null): Promise<View> {
  const t = factorTexts[v.locale];
  const choice = await v.api.call("readStepUpChoice");
  return {
    title: t.confirmIdentity,
    scripts: ["passkey.js"],
    status: refusal?.status ?? 200,
    body: (
      <>
        <p>{t.stepUpText}</p>
        <ProofForms locale={v.locale} action={STEP_UP} choice={choice} refusal={refusal} label={t.confirm}>
          <CsrfField v={v} />
          <input type="hidden" name="to" value={interrupted.to} />
          <input type="hidden" name="interrupted" value={interrupted.form} />
        </ProofForms>
      </>
    ),
  };
}
