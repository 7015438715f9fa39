import { Refusal } from "../shared/api.ts";
import type { Outcome, View } from "../shared/page.ts";

/** Runs the action of a button. The page it redirects to shows the result or the error. */
export async function runAction(
  o: { back: string; done: string; goTo?: string },
  run: () => Promise<unknown>,
): Promise<Outcome> {
  try {
    await run();
  } catch (refusal) {
    if (!(refusal instanceof Refusal) || refusal.status === 401) throw refusal;
    return { goTo: o.back, flash: refusal.flash };
  }
  return { goTo: o.goTo ?? o.back, flash: { tone: "ok", text: o.done } };
}

/** Sends a form. If the API refuses it, `again` shows the form with the values and errors. */
export async function submitForm<T>(
  run: () => Promise<T>,
  o: { done: (value: T) => Outcome; again: (refusal: Refusal) => Promise<View> | View },
): Promise<Outcome> {
  try {
    return o.done(await run());
  } catch (refusal) {
    if (!(refusal instanceof Refusal) || refusal.status === 401 || refusal.status >= 500) throw refusal;
    return { ...await o.again(refusal), status: refusal.status };
  }
}
