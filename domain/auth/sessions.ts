import type { Tx } from "../../infra/postgres/postgres.ts";
import { ACCESS_TOKEN_SECONDS } from "../../infra/tokens.ts";
import { problem } from "../problems/problem.ts";
import { newId } from "../shared/ids.ts";
import type { Platform } from "../shared/platform.ts";
import { digest, newSecret } from "./secrets.ts";

export const REFRESH_TOKEN_SECONDS = 14 * 24 * 60 * 60;

/** The tokens a sign-in, refresh or tenant switch answers. Lifetimes in seconds. */
export interface TokenPair {
  accessToken: string;
  tokenType: "Bearer";
  expiresIn: number;
  refreshToken: string;
  refreshExpiresIn: number;
}

/** Whose session it is, and the security version they had when it was opened: another one ends it. */
interface SessionUser {
  id: string;
  securityVersion: number;
}

/**
 * Opens a session and gives its first tokens.
 * @param o.user as read under a lock of their row in this transaction: a change of rights then waits for this session
 * and ends it.
 */
export async function openSession(
  p: Pick<Platform, "tokens">,
  tx: Tx,
  o: { user: SessionUser; tenantId: string | null; ip: string | null; userAgent: string | null },
): Promise<TokenPair> {
  const sessionId = newId();
  await tx`insert into sessions (id, user_id, security_version, expires_at, ip, user_agent)
    values (${sessionId}, ${o.user.id}, ${o.user.securityVersion},
      now() + make_interval(secs => ${REFRESH_TOKEN_SECONDS}), ${o.ip}, ${o.userAgent})`;
  return await giveTokens(p, tx, { user: o.user, sessionId, tenantId: o.tenantId });
}

/**
 * Gives a session new tokens and lets the session live as long as the new refresh token.
 * @param o.user with the session's security version, never a newer one: a change of rights must end these tokens too.
 */
export async function giveTokens(
  p: Pick<Platform, "tokens">,
  tx: Tx,
  o: { user: SessionUser; sessionId: string; tenantId: string | null },
): Promise<TokenPair> {
  const refreshToken = newSecret();
  await tx`
    with prolonged as (
      update sessions set expires_at = now() + make_interval(secs => ${REFRESH_TOKEN_SECONDS}) where id = ${o.sessionId}
    )
    insert into refresh_tokens (token_hash, session_id, tenant_id, expires_at)
    values (${
    digest(refreshToken)
  }, ${o.sessionId}, ${o.tenantId}, now() + make_interval(secs => ${REFRESH_TOKEN_SECONDS}))`;
  const accessToken = await p.tokens.sign({
    sub: o.user.id,
    sid: o.sessionId,
    tenantId: o.tenantId,
    ver: o.user.securityVersion,
  });
  return {
    accessToken,
    tokenType: "Bearer",
    expiresIn: ACCESS_TOKEN_SECONDS,
    refreshToken,
    refreshExpiresIn: REFRESH_TOKEN_SECONDS,
  };
}

/** Who a refresh token stands for, once it has been used up. */
export interface RefreshedSession {
  user: SessionUser;
  sessionId: string;
  tenantId: string | null;
}

/**
 * Uses up a refresh token, in the transaction that gives the next ones: a crash between the two would leave the
 * client with a used token, whose next use ends the session.
 * @returns null when the token had been used before. Its session has then been ended, which must be committed: two
 * parties hold the token, and which of them is the thief cannot be told.
 * @throws TOKEN_INVALID (unknown), TOKEN_EXPIRED, TOKEN_REVOKED (session ended), SESSION_INVALIDATED
 */
export async function useRefreshToken(
  p: Pick<Platform, "rights">,
  tx: Tx,
  token: string,
): Promise<RefreshedSession | null> {
  const [row] = await tx<{
    sessionId: string;
    tenantId: string | null;
    userId: string;
    securityVersion: number;
    usable: boolean;
    isCurrent: boolean;
    ended: boolean;
    expired: boolean;
    usedBefore: boolean;
  }[]>`
    select r.session_id, r.tenant_id, u.id as user_id, s.security_version,
      s.security_version = u.security_version as is_current,
      u.is_active and u.deleted_at is null as usable, s.revoked_at is not null as ended,
      r.expires_at < now() as expired, r.used_at is not null as used_before
    from refresh_tokens r join sessions s on s.id = r.session_id join users u on u.id = s.user_id
    where r.token_hash = ${digest(token)} for update of r`;
  if (!row) throw problem("TOKEN_INVALID", "The refresh token is unknown.");
  const { sessionId, userId, tenantId, securityVersion } = row;
  if (row.ended) throw problem("TOKEN_REVOKED", "The session of this refresh token has ended.");
  if (row.usedBefore) {
    await endSessions(p, tx, { userId, sessionId, reason: "refresh token used twice" });
    return null;
  }
  if (row.expired) throw problem("TOKEN_EXPIRED", "The refresh token's time is over.");
  if (!row.usable) throw problem("SESSION_INVALIDATED", "The user is not active.");
  if (!row.isCurrent) throw accessChanged();
  await tx`update refresh_tokens set used_at = now() where token_hash = ${digest(token)}`;
  return { user: { id: userId, securityVersion }, sessionId, tenantId };
}

/** The refusal of a session that was opened before a change to its user's role, permission or link. */
export const accessChanged = () =>
  problem("SESSION_INVALIDATED", "The user's access has changed since the sign-in; they sign in again.");

/**
 * Ends sessions of a user: one, or all but one, or all. Their tokens are refused from the next request on.
 * @returns how many were still open.
 */
export async function endSessions(
  p: Pick<Platform, "rights">,
  tx: Tx,
  o: { userId: string; sessionId?: string; exceptSessionId?: string; reason: string },
): Promise<number> {
  const { count } = await tx`
    update sessions set revoked_at = now(), revoked_reason = ${o.reason}
    where user_id = ${o.userId} and revoked_at is null
      and security_version = (select security_version from users where id = ${o.userId})
      and (${o.sessionId ?? null}::uuid is null or id = ${o.sessionId ?? null})
      and (${o.exceptSessionId ?? null}::uuid is null or id <> ${o.exceptSessionId ?? null})`;
  p.rights.changed(tx, [o.userId]);
  return count;
}

/** Uses up every refresh token of a session that was not used yet, as a tenant switch does. */
export async function spendRefreshTokens(tx: Tx, sessionId: string): Promise<void> {
  await tx`update refresh_tokens set used_at = now() where session_id = ${sessionId} and used_at is null`;
}
