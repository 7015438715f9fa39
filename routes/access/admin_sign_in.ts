import { z } from "zod";
import { sendUserResetLink } from "../../domain/access/account/password_changes.ts";
import { removeUserFactors } from "../../domain/access/factors/factors.ts";
import { acrossTenants, afterStepUp } from "../../domain/rights/checks.ts";
import {
  endUserSessions,
  listUserSessions,
  OwnSession,
  unlockUser,
} from "../../domain/access/sign_in/open_sessions.ts";
import { ok, okAfter, okEmpty } from "../shared/answer.ts";
import { endpointsIn } from "../shared/endpoint.ts";
import { uuid } from "../../domain/shared/shapes.ts";
import { userIdPath } from "./user_shapes.ts";

const endpoint = endpointsIn("Admin users");

/** The answer to the removal of a user's factors. */
export const removedFactors = {
  200: {
    description: "Number of factors that were removed",
    schema: z.object({ removed: z.int() }).meta({ id: "RemovedFactorsDto" }),
  },
};

/** The answer to the end of all sessions of a user. */
export const endedSessions = {
  200: {
    description: "Number of sessions that were ended",
    schema: z.object({ ended: z.int() }).meta({ id: "EndedSessionsDto" }),
  },
};

const overUsers = acrossTenants("admin:system", "manage:all-users");

/** Open sessions of a user, and the lockout after wrong passwords. */
export const adminSignInRoutes = [
  endpoint("GET /api/v1/admin/users/{id}/sessions", {
    id: "listUserSessions",
    summary: "List the open sessions of a user, newest first",
    access: overUsers,
    params: userIdPath,
    answers: { 200: { description: "At most 100 sessions", schema: z.array(OwnSession) } },
    problems: ["USER_NOT_FOUND"],
    run: async ({ platform, caller, params }) =>
      ok(await listUserSessions(platform, caller, params.id, null)),
  }),
  endpoint("DELETE /api/v1/admin/users/{id}/sessions", {
    id: "endUserSessions",
    summary: "End all sessions of a user",
    access: overUsers,
    params: userIdPath,
    answers: endedSessions,
    problems: ["USER_NOT_FOUND"],
    run: async ({ platform, caller, params }) =>
      ok({ ended: await endUserSessions(platform, caller, params.id, { within: null, sessionId: null }) }),
  }),
  endpoint("DELETE /api/v1/admin/users/{id}/sessions/{sessionId}", {
    id: "endUserSession",
    summary: "End one session of a user",
    access: overUsers,
    params: userIdPath.extend({ sessionId: uuid }),
    answers: { 200: { description: "The session has ended" } },
    problems: ["USER_NOT_FOUND", "SESSION_NOT_FOUND"],
    async run({ platform, caller, params }) {
      const which = { within: null, sessionId: params.sessionId };
      await endUserSessions(platform, caller, params.id, which);
      return okEmpty();
    },
  }),
  endpoint("POST /api/v1/admin/users/{id}/unlock", {
    id: "unlockUser",
    summary: "Unlock a user after too many wrong passwords; no effect if the user is not locked",
    access: overUsers,
    params: userIdPath,
    answers: { 200: { description: "The user is not locked" } },
    problems: ["USER_NOT_FOUND"],
    run: ({ platform, caller, params }) => okAfter(unlockUser(platform, caller, params.id, null)),
  }),
  endpoint("POST /api/v1/admin/users/{id}/password-reset", {
    id: "sendPasswordResetAnywhere",
    summary: "Mail a user a link that sets a new password",
    access: overUsers,
    params: userIdPath,
    answers: { 202: { description: "The mail is queued" } },
    problems: ["USER_NOT_FOUND", "USER_INACTIVE_CONFLICT"],
    async run({ platform, caller, params }) {
      await sendUserResetLink(platform, caller, params.id, null);
      return { status: 202, headers: {}, body: undefined };
    },
  }),
  endpoint("DELETE /api/v1/admin/users/{id}/factors", {
    id: "removeUserFactors",
    summary: "Remove all second factors of a user who lost them, and end the user's sessions",
    access: afterStepUp(overUsers),
    params: userIdPath,
    answers: removedFactors,
    problems: ["USER_NOT_FOUND"],
    run: async ({ platform, caller, params }) =>
      ok({ removed: await removeUserFactors(platform, caller, params.id, null) }),
  }),
] as const;
