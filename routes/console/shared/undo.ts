import { createHmac, timingSafeEqual } from "node:crypto";
import { Buffer } from "node:buffer";
import type { Endpoint } from "../../shared/endpoint.ts";
import { Refusal } from "./api.ts";
import { listTexts } from "./list_texts.ts";
import type { Flash, Result, Undo } from "./looks.ts";
import { addressOf, type Arguments, endpointOf, type LooseInput, type OperationId } from "./operations.ts";
import { type ConsolePage, field, type Visit } from "./page.ts";

/** Path of the page that undoes an action. */
export const UNDO = "undo";

/**
 * The call of the API that undoes an action. Give it the ETag of the resource after the action as `ifMatch`, so that
 * the API refuses it if someone has changed the resource since.
 */
export const inverse = <Id extends OperationId>(id: Id, ...[input]: Arguments<Id>): Undo =>
  inverseOf(endpointOf(id), input);

/** The call that undoes an action, by an endpoint of the service or of an extension; see `inverse`. */
export const inverseOf = (endpoint: Endpoint, input: LooseInput = {}): Undo => ({
  method: endpoint.method.toUpperCase(),
  path: addressOf(endpoint, input),
  body: input.body,
  ifMatch: input.ifMatch,
});

/**
 * The result of an action as the next page shows it. The call that undoes it is signed for the session of the viewer.
 */
export function shownResult(
  v: Pick<Visit, "secret">,
  { undo, ...result }: Result,
  goTo: string,
): Flash {
  if (!undo) return result;
  const text = Buffer.from(JSON.stringify({ ...undo, goTo })).toString("base64url");
  return { ...result, undo: `${text}.${signature(v, text)}` };
}

/** Undoes the action of the form. The API checks the permissions of the viewer again. */
export const undoPage: ConsolePage = {
  path: UNDO,
  async post(v, form) {
    const t = listTexts[v.locale];
    const undo = readUndo(v, field(form, "undo"));
    if (!undo) return { goTo: "", flash: { tone: "bad", text: t.undoExpired } };
    const { method, path, body, ifMatch, goTo } = undo;
    try {
      await v.api.request(method, path, body, ifMatch ? { "if-match": ifMatch } : {});
    } catch (refusal) {
      if (!(refusal instanceof Refusal) || refusal.status === 401 || refusal.status >= 500) throw refusal;
      if (refusal.code === "STEP_UP_REQUIRED_FORBIDDEN") throw refusal; // the step-up page sends the form again
      const text = refusal.code === "PRECONDITION_FAILED"
        ? t.undoChanged
        : `${t.undoRefused} ${refusal.text}`;
      return { goTo, flash: { tone: "bad", text } };
    }
    return { goTo, flash: { tone: "ok", text: t.undone } };
  },
};

function readUndo(v: Visit, value: string): Undo & { goTo: string } | null {
  const [text = "", given = ""] = value.split(".");
  const expected = signature(v, text);
  const isOurs = given.length === expected.length &&
    timingSafeEqual(Buffer.from(given), Buffer.from(expected));
  return isOurs ? JSON.parse(Buffer.from(text, "base64url").toString()) : null;
}

const signature = ({ secret }: Pick<Visit, "secret">, text: string): string =>
  createHmac("sha256", secret).update(`console undo ${text}`).digest("base64url");
