import { html } from "hono/html";
import type { Child } from "hono/jsx";
import { Problem } from "../../../domain/problems/problem.ts";
import { Refusal, refusalOf, searchOf } from "./api.ts";
import type { Locale } from "./languages.ts";
import type { Undo } from "./looks.ts";
import type { Answer, Arguments, Input, OperationId } from "./operations.ts";
import { type ConsolePage, field, may, type Outcome, type View, type Visit } from "./page.ts";

/** A form that was sent and is shown again, usually because the API refused it. */
export interface Sent {
  /** The form as it was sent; null if the form starts again with the current values. */
  form: FormData | null;
  refusal: Refusal | null;
}

/**
 * Goes to a page that shows `text` as the result of the action.
 * @param o.undo the call that undoes the action, if it is not one of `INVERSES`: the page shows the button "Undo".
 */
export const done = (goTo: string, text: string, o: { undo?: Undo } = {}): Outcome => ({
  goTo,
  flash: { tone: "ok", text, ...o },
});

/** Goes to a page that shows `text` as the reason why nothing was done. */
export const notDone = (goTo: string, text: string): Outcome => ({ goTo, flash: { tone: "bad", text } });

/**
 * Goes to a page that shows the text `key` as the result of an action. The address may name parameters of the action's
 * path: "jobs/{id}". The page shows the tenant that the action's address names.
 */
export const showing =
  <Key extends string>(goTo: string, texts: Record<Locale, Record<Key, string>>, key: Key) =>
  ({ params, query, locale }: Visit): Outcome =>
    done(
      goTo.replaceAll(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(params[name] ?? "")) +
        searchOf({ tenantId: query.get("tenantId") }),
      texts[locale][key],
    );

/** The id of an operation, or the function that chooses it for the viewer. */
type Chosen<Id extends OperationId> = Id | ((v: Visit) => Id);

const chosenBy = <Id extends OperationId>(v: Visit, operation: Chosen<Id>): Id =>
  typeof operation === "string" ? operation : operation(v);

/** The action of a button: calls an operation with the parameters of the page's path, and shows the result. */
export const action = <Id extends OperationId>(
  path: string,
  operation: Chosen<Id>,
  result: (v: Visit, answer: Answer<Id>) => Outcome,
  permissions?: string[],
): ConsolePage => ({
  path,
  ...permissions && { permissions },
  post: async (v) => result(v, await v.api.act(chosenBy(v, operation), v)),
});

/**
 * The actions of the buttons of the page `at`, by the end of their path. Each calls an operation with the parameters of the
 * path and then shows a text, on the page `at` unless the action names another one.
 */
export const actionsOf = <Key extends string>(
  at: string,
  texts: Record<Locale, Record<Key, string>>,
  actions: Record<string, [operation: Chosen<OperationId>, text: Key, goTo?: string]>,
  permissions?: string[],
): ConsolePage[] =>
  Object.entries(actions).map(([end, [operation, text, goTo = at]]) =>
    action(`${at}/${end}`, operation, showing(goTo, texts, text), permissions)
  );

/** Redirects to the signed URL of a document. If the API refuses it, redirects to the page `back`, which shows the reason. */
export async function toDocument(v: Visit, asked: Promise<{ url: string }>, back: string): Promise<Outcome> {
  try {
    const { url } = await asked;
    return new Response(null, { status: 303, headers: { location: url, "cache-control": "no-store" } });
  } catch (thrown) {
    const refusal = thrown instanceof Problem ? refusalOf(thrown, v.locale) : thrown;
    if (!(refusal instanceof Refusal) || ![400, 409, 422].includes(refusal.status)) throw refusal;
    return { goTo: back, flash: refusal.flash };
  }
}

/** Name of a button that shows a form again with what is typed, without sending it to the API. */
export const SHOW_AGAIN = "showAgain";

/**
 * A page with a form. `send` calls the API; if the API refuses it, `show` shows the form again with what was typed and the
 * errors.
 */
export const formPage = ({ show, send, restarts, managedBy, ...page }: {
  path: string;
  permissions?: string[];
  actsInScope?: true;
  /** The permission to send the form, if other viewers may open the page too and see the form read-only. */
  managedBy?: string;
  /** The form starts again with the current values if someone else has changed the resource (412), or always. */
  restarts?: true | "always";
  show(v: Visit, sent: Sent | null): View | Promise<View>;
  send(v: Visit, form: FormData): Promise<Outcome>;
}): ConsolePage => ({
  ...page,
  get: (v) => show(v, null),
  async post(v, form) {
    if (form.has(SHOW_AGAIN)) return await show(v, { form, refusal: null });
    try {
      return await send(v, form);
    } catch (refusal) {
      if (!(refusal instanceof Refusal) || refusal.status === 401 || refusal.status >= 500) throw refusal;
      if (refusal.code === "STEP_UP_REQUIRED_FORBIDDEN") throw refusal; // the step-up page sends the form again
      if (managedBy && !may(v.viewer, managedBy)) throw refusal;
      const isChanged = refusal.code === "PRECONDITION_FAILED";
      const kept = restarts === "always" || (restarts && isChanged) ? null : form;
      return { ...await show(v, { form: kept, refusal }), status: refusal.status };
    }
  },
});

/** The body of an operation. */
type BodyOf<Id extends OperationId> = Input<Id> extends { body?: infer B } ? B : never;

/**
 * The `send` of a form that one operation receives: it is called with the parameters of the page's path, `bodyOf` the form,
 * and the ETag that the form has, if it has one.
 */
export const sendTo = <Id extends OperationId>(
  operation: Chosen<Id>,
  bodyOf: (form: FormData, v: Visit) => BodyOf<Id>,
  result: (v: Visit, answer: Answer<Id>) => Outcome,
) =>
async (v: Visit, form: FormData): Promise<Outcome> => {
  const input = { params: v.params, body: bodyOf(form, v), ifMatch: field(form, "etag") };
  return result(v, await v.api.call(chosenBy(v, operation), ...[input] as unknown as Arguments<Id>));
};

/** Renders part of a page as the response to an htmx request. */
export async function fragment(piece: Child): Promise<Response> {
  return new Response(String(await html`${await piece}`), {
    headers: { "content-type": "text/html; charset=utf-8" },
  });
}
