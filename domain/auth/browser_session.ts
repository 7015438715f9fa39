import { type Queryable, transact } from "../../infra/postgres/postgres.ts";
import type { Platform } from "../shared/platform.ts";
import { digest, newSecret } from "./secrets.ts";
import { REFRESH_TOKEN_SECONDS, spendRefreshTokens } from "./sessions.ts";
import { requireActiveLink } from "./tenant_choice.ts";

/** A browser that showed nothing for so long must sign in again. */
const IDLE_SECONDS = 12 * 60 * 60;
/** How stale the note of the last visit may be, so that not every page writes a row. */
const NOTED_EVERY_SECONDS = 60;

/** What a browser's cookie stands for. */
export interface BrowserSession {
  userId: string;
  sessionId: string;
  tenantId: string | null;
  /** The session's; the user's is newer once their access has changed. */
  securityVersion: number;
}

/**
 * Turns a fresh sign-in, known by its access token, into a browser session: a cookie's secret takes the place of the
 * refresh token, which is used up, so that no token ever reaches a browser.
 * @returns the secret for the cookie; only its hash is kept.
 */
export async function openBrowserSession(
  p: Pick<Platform, "sql" | "tokens">,
  accessToken: string,
): Promise<string> {
  const { sid, tenantId } = await p.tokens.verify(accessToken);
  const secret = newSecret();
  await transact(p.sql, async (tx) => {
    await spendRefreshTokens(tx, sid);
    await tx`insert into browser_sessions (secret_hash, session_id, tenant_id)
      values (${digest(secret)}, ${sid}, ${tenantId})`;
  });
  return secret;
}

/**
 * The session a cookie's secret stands for, while it is open, its user active, and it was used within the last twelve
 * hours. Each use keeps it alive. `"access-changed"` where a change to its user's role, permission or link has ended it.
 */
export async function readBrowserSession(
  q: Queryable,
  secret: string,
): Promise<BrowserSession | "access-changed" | null> {
  const [row] = await q<(BrowserSession & { noted: boolean; isCurrent: boolean })[]>`
    select s.user_id, s.id as session_id, s.security_version, s.security_version = u.security_version as is_current,
      b.tenant_id, b.last_seen_at > now() - make_interval(secs => ${NOTED_EVERY_SECONDS}) as noted
    from browser_sessions b join sessions s on s.id = b.session_id join users u on u.id = s.user_id
    where b.secret_hash = ${digest(secret)} and s.revoked_at is null and s.expires_at > now()
      and b.last_seen_at > now() - make_interval(secs => ${IDLE_SECONDS}) and u.is_active and u.deleted_at is null`;
  if (!row) return null;
  const { noted, isCurrent, ...session } = row;
  if (!isCurrent) return "access-changed";
  if (!noted) {
    await q`with seen as (
        update browser_sessions set last_seen_at = now() where secret_hash = ${
      digest(secret)
    } returning session_id
      )
      update sessions s set expires_at = now() + make_interval(secs => ${REFRESH_TOKEN_SECONDS})
      from seen where s.id = seen.session_id`;
  }
  return session;
}

/**
 * Chooses the tenant a browser session acts in; null: none, with platform-reach permissions only.
 * @throws TENANT_FORBIDDEN without an active link.
 */
export async function chooseBrowserTenant(
  p: Pick<Platform, "sql">,
  o: { secret: string; userId: string; tenantId: string | null },
): Promise<void> {
  const { secret, userId, tenantId } = o;
  await transact(p.sql, async (tx) => {
    if (tenantId !== null) await requireActiveLink(tx, userId, tenantId);
    await tx`update browser_sessions set tenant_id = ${tenantId} where secret_hash = ${digest(secret)}`;
  });
}

/** An access token for one page's requests in the session's name. */
export async function browserToken(p: Pick<Platform, "tokens">, s: BrowserSession): Promise<string> {
  return await p.tokens.sign({
    sub: s.userId,
    sid: s.sessionId,
    tenantId: s.tenantId,
    ver: s.securityVersion,
  });
}
