import { createHmac, timingSafeEqual } from "node:crypto";
import { Buffer } from "node:buffer";
import type { Endpoint } from "../../shared/endpoint.ts";
import { type Api, orNull, Refusal } from "./api.ts";
import { INVERSES } from "./inverses.ts";
import { listTexts } from "./common_texts.ts";
import type { Flash, Result, Undo, UndoPage } from "./looks.ts";
import { addressOf, endpointOf, type LooseInput, type OperationId } from "./operations.ts";
import { type ConsolePage, field, type Visit } from "./page.ts";

/** Path of the page that undoes an action. */
export const UNDO = "undo";

/**
 * The call that undoes an action, by an endpoint of the service or of an extension. Give it the ETag of the resource after
 * the action as `ifMatch`, so that the API refuses it if someone has changed the resource since.
 */
export const inverseOf = (endpoint: Endpoint, input: LooseInput = {}): Undo => ({
  method: endpoint.method.toUpperCase(),
  path: addressOf(endpoint, input),
  body: input.body,
  ifMatch: input.ifMatch,
});

/**
 * A copy of a visit that learns from its calls of the API what undoes them (`INVERSES`).
 * @returns `undo` answers what undoes the calls since its last call; undefined: nothing does, or one call cannot
 */
export function undoable(v: Visit): { v: Visit; undo(): Undo | undefined } {
  let undos: Undo[] = [];
  const learning = (api: Api, tenantId: string | null): Api =>
    api.around(async (api, { id }, input, send) => {
      const inverse = Object.hasOwn(INVERSES, id) ? INVERSES[id as OperationId] : undefined;
      if (!inverse) return await send();
      const before = inverse.before ? await orNull(inverse.before(api, input, v)) : {};
      const answer = await send();
      if (!before) return answer;
      const params = before.params ?? input.params;
      const version = inverse.version && await versionAfter(api, inverse.version, params);
      if (version === null) return answer;
      const ifMatch = answer.headers.get("etag") ?? version;
      const call = { params, body: before.body, ...ifMatch && { ifMatch } };
      undos.push({ ...inverseOf(endpointOf(inverse.by ?? id as OperationId), call), tenantId });
      return answer;
    });
  return {
    v: {
      ...v,
      api: learning(v.api, v.viewer.tenant?.id ?? null),
      inScope: async (tenantId) => learning(await v.inScope(tenantId), tenantId),
    },
    undo() {
      const [undo, ...others] = undos;
      undos = [];
      return others.length === 0 ? undo : undefined;
    },
  };
}

/** The ETag of a resource after an action; null if the viewer may not read it any more. */
async function versionAfter(api: Api, id: OperationId, params: LooseInput["params"]): Promise<string | null> {
  try {
    return (await api.ask(endpointOf(id), { params })).headers.get("etag");
  } catch (refusal) {
    if (refusal instanceof Refusal) return null;
    throw refusal;
  }
}

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
    if ("page" in undo) return { goTo: undo.page };
    const { goTo } = undo;
    try {
      await callUndo(v, undo);
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

/** Calls the API to undo an action, in the tenant in which it took place. @throws Refusal */
export async function callUndo(v: Visit, { method, path, body, ifMatch, tenantId }: Undo): Promise<void> {
  const api = tenantId === undefined ? v.api : await v.inScope(tenantId);
  await api.request(method, path, body, ifMatch ? { "if-match": ifMatch } : {});
}

function readUndo(v: Visit, value: string): (Undo | UndoPage) & { goTo: string } | null {
  const [text = "", given = ""] = value.split(".");
  const expected = signature(v, text);
  const isOurs = given.length === expected.length &&
    timingSafeEqual(Buffer.from(given), Buffer.from(expected));
  return isOurs ? JSON.parse(Buffer.from(text, "base64url").toString()) : null;
}

const signature = ({ secret }: Pick<Visit, "secret">, text: string): string =>
  createHmac("sha256", secret).update(`console undo ${text}`).digest("base64url");
