import { Refusal } from "./api.ts";
import type { ConsolePage, Outcome, View, Visit } from "./page.ts";

/** A form that the API refused. */
export interface Refused {
  form: FormData;
  refusal: Refusal;
}

/** Goes to a page that shows `text` as the result of the action. */
export const done = (goTo: string, text: string): Outcome => ({ goTo, flash: { tone: "ok", text } });

/**
 * A page with a form. `send` calls the API; if the API refuses it, `show` shows the form again with what was typed and the
 * errors.
 */
export const formPage = ({ show, send, ...page }: {
  path: string;
  permissions?: string[];
  show(v: Visit, refused: Refused | null): View | Promise<View>;
  send(v: Visit, form: FormData): Promise<Outcome>;
}): ConsolePage => ({
  ...page,
  get: (v) => show(v, null),
  async post(v, form) {
    try {
      return await send(v, form);
    } catch (refusal) {
      if (!(refusal instanceof Refusal) || refusal.status === 401 || refusal.status >= 500) throw refusal;
      return { ...await show(v, { form, refusal }), status: refusal.status };
    }
  },
});
