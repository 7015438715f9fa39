import { z } from "zod";
import { type Sql, transact } from "../../../infra/postgres/postgres.ts";
import { recordAudit } from "../../audit/audit.ts";
import { problem } from "../../problems/problem.ts";
import type { Caller } from "../../rights/caller.ts";
import type { RightsPlatform } from "../../rights/platform.ts";
import { securityVersionOf } from "../../rights/security_version.ts";
import { time } from "../../shared/shapes.ts";
import { lockChangeableUser, type UserPlatform } from "../users/user_details.ts";
import { clearFailedSignIns, clearFailuresOfDevices, clearWrongCodes } from "./failed_sign_ins.ts";
import { endSessions } from "./sessions.ts";

const MAX_LISTED = 100;

/** An open session, as shown to its user. */
export const OwnSession = z.object({
  id: z.guid(),
  createdAt: time,
  authenticatedAt: time.describe("Last sign-in or step-up in this session"),
  // Empty for a session older than this record.
  amr: z.array(z.string()).describe("How the user signed in (RFC 8176); `fed`: by a provider"),
  lastUsedAt: time.describe("When the session last got new tokens"),
  expiresAt: time,
  ip: z.string().nullable(),
  userAgent: z.string().nullable(),
  // The session of the request itself, or the browser's session that opened it for a client.
  isCurrent: z.boolean(),
}).meta({ id: "SessionDto" });
export type OwnSession = z.output<typeof OwnSession>;

/**
 * Lists the caller's 100 newest open sessions, newest first, without those of clients of the OpenID provider. A session of a
 * tenant's provider shows those that are good in its tenant only.
 */
export async function listOwnSessions(
  q: Sql,
  caller: Pick<Caller, "userId" | "sessionId" | "boundTo">,
): Promise<OwnSession[]> {
  return await q<OwnSession[]>`
    select s.id, s.created_at, s.authenticated_at, s.amr, s.expires_at, s.ip, s.user_agent,
      exists(select from sessions c left join oauth_grants g on g.session_id = c.id
        where c.user_id = s.user_id and c.revoked_at is null and c.id::text = ${caller.sessionId}
        and s.id in (c.id, c.opened_by, g.browser_session_id)) as is_current,
      coalesce((select max(r.created_at) from refresh_tokens r where r.session_id = s.id), s.created_at) as last_used_at
    from sessions s join users u on u.id = s.user_id and ${securityVersionOf(q)} = s.security_version
    where s.user_id = ${caller.userId} and s.client_id is null and s.revoked_at is null and s.expires_at > now()
      and ${isWithin(q, caller)}
    order by s.id desc limit ${MAX_LISTED}`;
}

/** SQL condition: the session `s` is one that the caller may know of. */
const isWithin = (q: Sql, { boundTo }: Pick<Caller, "boundTo">) =>
  boundTo === null ? q`true` : q`s.only_tenant_id = ${boundTo}`;

/**
 * Ends one of the caller's open sessions; it may be the current one.
 * @throws SESSION_NOT_FOUND (also for another user's session)
 */
export async function endOwnSession(
  p: Pick<RightsPlatform, "sql" | "rights">,
  caller: Caller,
  sessionId: string,
): Promise<void> {
  await transact(p.sql, async (tx) => {
    const o = { userId: caller.userId, sessionId, reason: "ended by its user" };
    const within = await tx`select from sessions s where s.id = ${sessionId} and ${isWithin(tx, caller)}`;
    if (within.length > 0 && await endSessions(p, tx, o) > 0) return;
    throw problem("SESSION_NOT_FOUND", `The caller has no open session ${sessionId}.`);
  });
}

/**
 * Lists the open sessions of a user, newest first, at most 100. A session is valid in all tenants of the user and shows
 * addresses and devices, so the caller must be allowed to change the user.
 * @param within the tenant of the user; null: any user
 * @throws USER_NOT_FOUND, CROSS_TENANT_FORBIDDEN, MISSING_PERMISSION
 */
export async function listUserSessions(
  p: Pick<UserPlatform, "sql">,
  caller: Caller,
  userId: string,
  within: string | null,
): Promise<OwnSession[]> {
  return await transact(p.sql, async (tx) => {
    await lockChangeableUser(tx, caller, userId, within);
    return await listOwnSessions(tx, { userId, sessionId: caller.sessionId, boundTo: null });
  });
}

/**
 * Ends one open session of a user, or all of them. Their tokens are rejected from the next request on.
 * @param o.within the tenant of the user; null: any user
 * @param o.sessionId null: all sessions; the user may have none.
 * @returns how many sessions ended.
 * @throws USER_NOT_FOUND, CROSS_TENANT_FORBIDDEN, MISSING_PERMISSION, SESSION_NOT_FOUND
 */
export async function endUserSessions(
  p: UserPlatform,
  caller: Caller,
  userId: string,
  { within, sessionId }: { within: string | null; sessionId: string | null },
): Promise<number> {
  return await transact(p.sql, async (tx) => {
    await lockChangeableUser(tx, caller, userId, within);
    const ended = await endSessions(p, tx, {
      userId,
      ...sessionId === null ? {} : { sessionId },
      reason: "ended by an administrator",
    });
    if (ended === 0 && sessionId !== null) {
      throw problem("SESSION_NOT_FOUND", `User ${userId} has no open session ${sessionId}.`);
    }
    if (ended > 0) {
      await recordAudit(tx, { ...caller, tenantId: within }, "user.end-sessions", userId, {
        after: { sessionId, ended },
      });
    }
    return ended;
  });
}

/**
 * Ends the lockout of a user and of their known devices, and deletes the record of failed sign-ins. Writes an audit row
 * only if the user was locked out.
 * @param within the tenant of the user; null: any user
 * @throws USER_NOT_FOUND, CROSS_TENANT_FORBIDDEN, MISSING_PERMISSION
 */
export async function unlockUser(
  p: UserPlatform,
  caller: Caller,
  userId: string,
  within: string | null,
): Promise<void> {
  await transact(p.sql, async (tx) => {
    await lockChangeableUser(tx, caller, userId, within);
    const unlocked = await tx`update users set lockout_expires_at = null
      where id = ${userId} and lockout_expires_at > now()`;
    await clearFailedSignIns(tx, userId);
    await clearFailuresOfDevices(tx, userId);
    await clearWrongCodes(tx, userId);
    if (unlocked.count === 0) return;
    await recordAudit(tx, { ...caller, tenantId: within }, "user.unlock", userId);
  });
}
