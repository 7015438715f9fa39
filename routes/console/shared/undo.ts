import { Buffer } from "node:buffer";
import { createHmac, timingSafeEqual } from "node:crypto";
import type { Endpoint } from "../../shared/endpoint.ts";
import { done, notDone } from "./actions.ts";
import { type Api, orNull, Refusal } from "./api.ts";
import { listTexts } from "./common_texts.ts";
import type { Flash, Result, Undo, UndoPage } from "./looks.ts";
import {
  addressOf,
  type Answer,
  endpointOf,
  type LooseInput,
  type OperationId,
  showsAllTenants,
} from "./operations.ts";
import { type ConsolePage, field, may, type Visit } from "./page.ts";

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
      const by = endpointOf(inverse.by ?? id as OperationId);
      const query = showsAllTenants(by) ? { tenantId: input.query?.tenantId } : {};
      const call = { params, query, body: before.body, ...ifMatch && { ifMatch } };
      undos.push({ ...inverseOf(by, call), tenantId });
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
    if (!undo) return notDone("", t.undoExpired);
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
      return notDone(goTo, text);
    }
    return done(goTo, t.undone);
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

/** How the API undoes an operation. */
interface Inverse {
  /** The operation that undoes it; absent: itself, with what was before. */
  by?: OperationId;
  /**
   * Reads before the operation what the undoing call needs; null if nothing can undo it, or nothing would change. Absent:
   * nothing is needed.
   */
  before?(api: Api, input: LooseInput, v: Visit): Promise<Pick<LooseInput, "params" | "body"> | null>;
  /** Reads the ETag that the operation itself does not answer. */
  version?: OperationId;
}

type Body = Record<string, unknown>;

/** Two operations with the same parameters that undo each other. */
const paired = (
  on: OperationId,
  off: OperationId,
  o: { on?: Inverse["before"]; off?: Inverse["before"] } = {},
): Partial<Record<OperationId, Inverse>> => ({
  [on]: { by: off, ...o.on && { before: o.on } },
  [off]: { by: on, ...o.off && { before: o.off } },
});

/** Operations that pause with a reason. To repeat them changes nothing, and then there is nothing to undo. */
const pausing = (
  on: OperationId,
  off: OperationId,
  read: (...given: Parameters<NonNullable<Inverse["before"]>>) => Promise<{ reason: string | null } | null>,
) =>
  paired(on, off, {
    on: async (...given) => await read(...given) ? null : {},
    off: async (...given) => {
      const pause = await read(...given);
      return pause && { body: { reason: pause.reason } };
    },
  });

const pauseOf = (kind: "queue" | "type") => async (api: Api, { params = {} }: LooseInput, v: Visit) => {
  const pauses = await api.call("listJobPauses");
  const scope = v.scope ? "tenant" : "all";
  const isIt = (pause: typeof pauses[number]) => pause.kind === kind && pause.scope === scope;
  return pauses.find((pause) => isIt(pause) && pause.name === (params.queue ?? params.name)) ?? null;
};

/**
 * An operation that is undone by itself: `read` has the values from before.
 * @param body the body that restores them; absent: the members that were sent
 */
const restored = <Id extends OperationId>(
  read: Id,
  body: (former: Answer<Id>, sent: Body, v: Visit) => Body | null = membersSent,
  o: Pick<Inverse, "version"> = {},
): Inverse => ({
  ...o,
  async before(api, { params = {}, body: sent }, v) {
    const former = await api.act(read, { params: params as Record<string, string> });
    const restoring = body(former, sent as Body, v);
    return restoring && { body: restoring };
  },
});

function membersSent(former: unknown, sent: Body): Body {
  return Object.fromEntries(Object.keys(sent).map((name) => [name, (former as Body)[name]]));
}

/** Restores all links and roles of a user. Only who manages all users may. */
async function linksBefore(api: Api, id: string | undefined, { viewer }: Visit) {
  if (!may(viewer, "manage:all-users")) return null;
  const links = await api.call("listUserTenantsAnywhere", { params: { id } });
  const tenants = links.map(({ tenantId, isActive, isDefault, externalId, roles }) => ({
    tenantId,
    isActive,
    isDefault,
    externalId,
    roleIds: roles.map((role) => role.id),
  }));
  return { params: { id }, body: { tenants } };
}

/**
 * Undoes each pause, hold, activation and change of roles that the API can undo. `undoable` uses it for every call of a
 * page, so that pages need no code for it.
 */
export const INVERSES: Partial<Record<OperationId, Inverse>> = {
  ...pausing("pauseJobQueue", "resumeJobQueue", pauseOf("queue")),
  ...pausing("pauseJobType", "resumeJobType", pauseOf("type")),
  ...pausing("pauseWebhookEndpoint", "resumeWebhookEndpoint", async (api, { params = {} }) => {
    const { pausedAt, pauseReason } = await api.call("readWebhookEndpoint", { params });
    return pausedAt === null ? null : { reason: pauseReason };
  }),
  ...paired("pauseRecurringJob", "resumeRecurringJob"),
  ...paired("pauseReportSchedule", "resumeReportSchedule"),
  ...paired("enableSignInProvider", "disableSignInProvider"),
  updateSignInSettings: restored("readSignInSettings"),
  updateRegistrationSettings: restored("readRegistrationSettings"),
  updateTenant: restored("readTenant"),
  updateWebhookEndpoint: restored("readWebhookEndpoint"),
  updateUser: restored("readUser"),
  updateUserAnywhere: {
    before: async (api, input, v) =>
      "tenants" in (input.body as Body)
        ? await linksBefore(api, input.params?.id, v)
        : await restored("readUserAnywhere").before?.(api, input, v) ?? null,
  },
  addUserTenant: {
    by: "updateUserAnywhere",
    version: "readUserAnywhere",
    before: (api, { params }, v) => linksBefore(api, params?.id, v),
  },
  addTenantUser: {
    by: "updateUserAnywhere",
    version: "readUserAnywhere",
    before: (api, { body }, v) => linksBefore(api, String((body as Body).userId), v),
  },
  setUserRoles: restored(
    "listUserRoles",
    (roles) => ({ roleIds: roles.map(({ id }) => id) }),
    { version: "listUserRoles" },
  ),
  updateRole: {
    async before(api, { params }) {
      const { items: [role] } = await api.call("listRoleGrants", { query: { ids: [params?.id ?? ""] } });
      if (!role) return null;
      const { name, description, permissions } = role;
      return {
        body: { name, description: description ?? "", permissionIds: permissions.map(({ id }) => id) },
      };
    },
  },
  // A role that is added here loses the permission on undoing also where a tenant had added it before.
  setDefaultRoles: restored("readPermission", ({ defaultRoles }, { roles }) => {
    const isOnlyLess = (roles as string[]).every((role) => defaultRoles.includes(role));
    return isOnlyLess ? { roles: defaultRoles } : null;
  }),
  mapScimGroup: {
    async before(api, { params }) {
      const mappings = await api.call("listScimGroupMappings");
      const former = mappings.find(({ roleId }) => roleId === params?.id);
      if (!former) return null;
      const { displayName, roleName, isGroup } = former;
      return { body: { displayName: displayName === roleName ? null : displayName, isGroup } };
    },
  },
  // A retention cannot be shortened, and only a system administrator may release a hold.
  changeRetention: restored("readFile", (file, { legalHold, retentionClass, retainUntil }, { viewer }) => {
    const isHoldOnly = (retentionClass ?? file.retentionClass) === file.retentionClass &&
      retainUntil === undefined && legalHold !== file.legalHold;
    if (!isHoldOnly || !(file.legalHold || may(viewer, "admin:system"))) return null;
    return { legalHold: file.legalHold, reason: file.legalHoldReason };
  }),
  releaseReference: {
    by: "referenceFile",
    async before(api, { params = {} }) {
      const { items } = await api.call("listFileReferences", {
        params: { id: params.id },
        query: { pageSize: 100 },
      });
      const reference = items.find(({ referenceId }) => referenceId === params.referenceId);
      return reference ? { body: { scope: reference.scope, ownerId: reference.ownerId } } : null;
    },
  },
  liftNotificationSuppression: {
    by: "addNotificationSuppression",
    async before(api, { params }) {
      const former = await api.call("readNotificationSuppression", { params: { id: params?.id } });
      const { channel, address, reason, detail } = former;
      return { params: {}, body: { channel, address, reason, detail } };
    },
  },
};
