import { createHash, randomBytes } from "node:crypto";
import { type Sql, transact, type Tx } from "../../infra/postgres/postgres.ts";
import { ACCESS_TOKEN_SECONDS } from "../../infra/tokens.ts";
import { problem } from "../problems/problem.ts";
import { newId } from "../shared/ids.ts";
import type { Platform } from "../shared/platform.ts";

export const REFRESH_TOKEN_SECONDS = 14 * 24 * 60 * 60;

/** The tokens a sign-in, refresh or tenant switch answers. Lifetimes in seconds. */
export interface TokenPair {
  accessToken: string;
  tokenType: "Bearer";
  expiresIn: number;
  refreshToken: string;
  refreshExpiresIn: number;
}

interface SessionUser {
  id: string;
  securityVersion: number;
}

const digest = (token: string) => createHash("sha256").update(token).digest();

/** Opens a session and gives its first tokens. */
export async function openSession(
  p: Pick<Platform, "tokens">,
  tx: Tx,
  o: { user: SessionUser; tenantId: string | null; ip: string | null; userAgent: string | null },
): Promise<TokenPair> {
  const sessionId = newId();
  await tx`insert into sessions (id, user_id, expires_at, ip, user_agent)
    values (${sessionId}, ${o.user.id}, now() + make_interval(secs => ${REFRESH_TOKEN_SECONDS}), ${o.ip}, ${o.userAgent})`;
  return await giveTokens(p, tx, { user: o.user, sessionId, tenantId: o.tenantId });
}

/** Gives a session new tokens and lets the session live as long as the new refresh token. */
export async function giveTokens(
  p: Pick<Platform, "tokens">,
  tx: Tx,
  o: { user: SessionUser; sessionId: string; tenantId: string | null },
): Promise<TokenPair> {
  const refreshToken = randomBytes(32).toString("base64url");
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
 * Uses up a refresh token. Seen a second time it ends the whole session: two parties hold it, and which of them is
 * the thief cannot be told.
 * @throws TOKEN_INVALID (unknown), TOKEN_EXPIRED, TOKEN_REVOKED (used before, or session ended), SESSION_INVALIDATED
 */
export async function useRefreshToken(
  p: Pick<Platform, "sql" | "rights">,
  token: string,
): Promise<RefreshedSession> {
  const used = await transact(p.sql, async (tx) => {
    const [row] = await tx<{
      sessionId: string;
      tenantId: string | null;
      userId: string;
      securityVersion: number;
      usable: boolean;
      ended: boolean;
      expired: boolean;
      usedBefore: boolean;
    }[]>`
      select r.session_id, r.tenant_id, u.id as user_id, u.security_version,
        u.is_active and u.deleted_at is null as usable, s.revoked_at is not null as ended,
        r.expires_at < now() as expired, r.used_at is not null as used_before
      from refresh_tokens r join sessions s on s.id = r.session_id join users u on u.id = s.user_id
      where r.token_hash = ${digest(token)} for update of r`;
    if (!row) throw problem("TOKEN_INVALID", "The refresh token is unknown.");
    if (row.ended) throw problem("TOKEN_REVOKED", "The session of this refresh token has ended.");
    if (row.usedBefore) {
      await endSession(p, tx, {
        sessionId: row.sessionId,
        userId: row.userId,
        reason: "refresh token used twice",
      });
      return null;
    }
    if (row.expired) throw problem("TOKEN_EXPIRED", "The refresh token's time is over.");
    if (!row.usable) throw problem("SESSION_INVALIDATED", "The user is not active.");
    await tx`update refresh_tokens set used_at = now() where token_hash = ${digest(token)}`;
    return {
      user: { id: row.userId, securityVersion: row.securityVersion },
      sessionId: row.sessionId,
      tenantId: row.tenantId,
    };
  });
  if (!used) throw problem("TOKEN_REVOKED", "The refresh token was used before; its session has been ended.");
  return used;
}

/** Ends a session; its tokens are refused from the next request on. */
export async function endSession(
  p: Pick<Platform, "rights">,
  tx: Tx,
  o: { sessionId: string; userId: string; reason: string },
): Promise<void> {
  await tx`update sessions set revoked_at = now(), revoked_reason = ${o.reason}
    where id = ${o.sessionId} and revoked_at is null`;
  p.rights.changed(tx, [o.userId]);
}

/** Uses up every refresh token of a session that was not used yet, as a tenant switch does. */
export async function spendRefreshTokens(tx: Tx, sessionId: string): Promise<void> {
  await tx`update refresh_tokens set used_at = now() where session_id = ${sessionId} and used_at is null`;
}

/** Deletes sessions that ended or expired more than a day ago, with their refresh tokens; at most 1,000 a call. */
export async function pruneSessions(sql: Sql): Promise<number> {
  const rows = await sql`delete from sessions where id in (
    select id from sessions where expires_at < now() - interval '1 day' order by expires_at limit 1000)`;
  return rows.count;
}
