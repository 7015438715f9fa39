import { z } from "zod";
import { sendUserResetLink } from "../../domain/access/account/password_changes.ts";
import { removeUserFactors } from "../../domain/access/factors/factors.ts";
import {
  endUserSessions,
  listUserSessions,
  OwnSession,
  unlockUser,
} from "../../domain/access/sign_in/open_sessions.ts";
import type { Caller } from "../../domain/rights/caller.ts";
import { afterStepUp } from "../../domain/rights/checks.ts";
import { uuid } from "../../domain/shared/shapes.ts";
import { acceptedAfter, ok, okAfter, okEmpty } from "../shared/answer.ts";
import { ofAllTenants, ofTenant, type UserReach } from "./user_reach.ts";
import { userIdPath } from "./user_shapes.ts";

const RemovedFactors = z.object({ removed: z.int() }).meta({ id: "RemovedFactorsDto" });
const EndedSessions = z.object({ ended: z.int() }).meta({ id: "EndedSessionsDto" });

/** Password, lock, sessions and second factors of a user. */
function securityRoutes<C extends Caller, P extends string, E extends string>(
  { endpoint, users, aUser, access, within, refusals, idPart, idEnd }: UserReach<C, P, E>,
  sessionDetails?: string,
) {
  const mayChange = access("update:users");
  return [
    endpoint(`POST ${users}/{id}/password-reset`, {
      id: `sendPasswordReset${idEnd}` as const,
      summary: "Mail the user a link that sets a new password",
      access: mayChange,
      params: userIdPath,
      answers: { 202: { description: "The mail is queued" } },
      problems: [...refusals, "USER_INACTIVE_CONFLICT"],
      run: ({ platform, caller, params }) =>
        acceptedAfter(sendUserResetLink(platform, caller, params.id, within(caller))),
    }),
    endpoint(`POST ${users}/{id}/unlock`, {
      id: `unlock${idPart}User` as const,
      summary: "Unlock a user after too many wrong passwords; no effect if the user is not locked",
      access: mayChange,
      params: userIdPath,
      answers: { 200: { description: "The user is not locked" } },
      problems: refusals,
      run: ({ platform, caller, params }) => okAfter(unlockUser(platform, caller, params.id, within(caller))),
    }),
    endpoint(`GET ${users}/{id}/sessions`, {
      id: `list${idPart}UserSessions` as const,
      summary: `List the open sessions of ${aUser}, newest first`,
      details: sessionDetails,
      access: mayChange,
      params: userIdPath,
      answers: { 200: { description: "At most 100 sessions", schema: z.array(OwnSession) } },
      problems: refusals,
      run: async ({ platform, caller, params }) =>
        ok(await listUserSessions(platform, caller, params.id, within(caller))),
    }),
    endpoint(`DELETE ${users}/{id}/sessions`, {
      id: `end${idPart}UserSessions` as const,
      summary: `End all sessions of ${aUser}`,
      access: mayChange,
      params: userIdPath,
      answers: { 200: { description: "Number of sessions that were ended", schema: EndedSessions } },
      problems: refusals,
      async run({ platform, caller, params }) {
        const which = { within: within(caller), sessionId: null };
        return ok({ ended: await endUserSessions(platform, caller, params.id, which) });
      },
    }),
    endpoint(`DELETE ${users}/{id}/sessions/{sessionId}`, {
      id: `end${idPart}UserSession` as const,
      summary: `End one session of ${aUser}`,
      access: mayChange,
      params: userIdPath.extend({ sessionId: uuid }),
      answers: { 200: { description: "The session has ended" } },
      problems: [...refusals, "SESSION_NOT_FOUND"],
      async run({ platform, caller, params }) {
        const which = { within: within(caller), sessionId: params.sessionId };
        await endUserSessions(platform, caller, params.id, which);
        return okEmpty();
      },
    }),
    endpoint(`DELETE ${users}/{id}/factors`, {
      id: `remove${idPart}UserFactors` as const,
      summary: `Remove all second factors of ${aUser} who lost them, and end the user's sessions`,
      access: afterStepUp(mayChange),
      params: userIdPath,
      answers: { 200: { description: "Number of factors that were removed", schema: RemovedFactors } },
      problems: refusals,
      run: async ({ platform, caller, params }) =>
        ok({ removed: await removeUserFactors(platform, caller, params.id, within(caller)) }),
    }),
  ] as const;
}

export const userSecurityRoutes = [
  ...securityRoutes(
    ofTenant,
    "Sessions are valid in all tenants of the user, so the caller must be allowed to change the user.",
  ),
  ...securityRoutes(ofAllTenants),
] as const;
