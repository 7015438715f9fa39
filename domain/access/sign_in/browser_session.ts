import { type Sql, transact } from "../../../infra/postgres/postgres.ts";
import type { RightsPlatform } from "../../rights/platform.ts";
import { noAccess } from "../../rights/authenticate.ts";
import { tenantLetsAct } from "../../rights/rights.ts";
import { boundTo, isAcceptedIn } from "../../rights/tenant_sign_in.ts";
import { securityVersionOf } from "../../rights/security_version.ts";
import type { Platform } from "../../shared/platform.ts";
import { digest, newSecret } from "../../shared/secrets.ts";
import { givesAccess } from "./client_session.ts";
import { endSessions, extendedExpiry, markRefreshTokensUsed, requireActiveLink } from "./sessions.ts";
import { newId } from "../../shared/ids.ts";

/** After this time without a request, the user must sign in again. */
const IDLE_SECONDS = 12 * 60 * 60;
/** Minimum time between updates of `last_seen_at`, so that not every request writes a row. */
const SEEN_UPDATE_SECONDS = 60;

/** The session of a browser's cookie. */
export interface BrowserSession {
  userId: string;
  sessionId: string;
  tenantId: string | null;
  /** See `Caller`. */
  boundTo: string | null;
  securityVersion: number;
  /** The time of the user's last sign-in or step-up. */
  authenticatedAt: Date;
  /** The browser may act by a delegation: see `readActingSession`. */
  isActing: boolean;
}

/**
 * Turns a new sign-in into a browser session. A cookie secret replaces the refresh token, which is marked as used, so
 * that no token ever reaches the browser.
 * @param accessToken token of the sign-in.
 * @param formerSecret cookie of the browser's session before; the new session replaces that one.
 * @returns the secret for the cookie; only its hash is stored.
 */
export async function openBrowserSession(
  p: Pick<RightsPlatform, "sql" | "tokens" | "rights">,
  accessToken: string,
  formerSecret: string | null = null,
): Promise<string> {
  const { sid, tenantId } = await p.tokens.verify(accessToken);
  if (sid === null) throw new Error("a browser session needs the token of a user's session");
  const secret = newSecret();
  await transact(p.sql, async (tx) => {
    await markRefreshTokensUsed(tx, sid);
    await tx`insert into browser_sessions (secret_hash, session_id, tenant_id)
      values (${digest(secret)}, ${sid}, ${tenantId})`;
    const [former] = formerSecret === null ? [] : await tx<{ userId: string; sessionId: string }[]>`
      select s.user_id, s.id as session_id from browser_sessions b join sessions s on s.id = b.session_id
      where b.secret_hash = ${digest(formerSecret)}`;
    if (!former) return;
    // Clients of the same user stay signed in.
    await tx`update sessions s set opened_by = ${sid} from sessions n
      where s.opened_by = ${former.sessionId} and n.id = ${sid} and n.user_id = s.user_id
        and n.security_version = s.security_version`;
    await endSessions(p, tx, { ...former, reason: "signed in again" });
  });
  return secret;
}

/**
 * Reads the session of a cookie secret and extends it.
 * @returns null if the session ended, its user is not active, or it was unused for 12 hours; `"access-changed"` if a
 * change of its user's roles, permissions or links ended it, or its tenant does not accept such sign-ins since.
 */
export async function readBrowserSession(
  q: Sql,
  secret: string,
): Promise<BrowserSession | "access-changed" | null> {
  const [row] = await q<(BrowserSession & { recentlySeen: boolean; isCurrent: boolean })[]>`
    select s.user_id, s.id as session_id, s.security_version, s.authenticated_at, ${boundTo(q)} as bound_to,
      ${securityVersionOf(q)} = s.security_version and ${isAcceptedIn(q, q`s`, q`b.tenant_id`)} as is_current,
      b.acting_session_id is not null as is_acting, b.tenant_id, b.last_seen_at > now() - make_interval(secs => ${SEEN_UPDATE_SECONDS}) as recently_seen
    from browser_sessions b join sessions s on s.id = b.session_id join users u on u.id = s.user_id
    where b.secret_hash = ${digest(secret)} and s.revoked_at is null and s.expires_at > now()
      and b.last_seen_at > now() - make_interval(secs => ${IDLE_SECONDS}) and u.is_active and u.deleted_at is null`;
  if (!row) return null;
  const { recentlySeen, isCurrent, ...session } = row;
  if (!isCurrent) return "access-changed";
  if (!recentlySeen) {
    await q`with seen as (
        update browser_sessions set last_seen_at = now() where secret_hash = ${digest(secret)}
        returning session_id
      )
      update sessions s set expires_at = ${extendedExpiry(q)}
      from seen where s.id = seen.session_id`;
  }
  return session;
}

/**
 * Sets the tenant that a browser session acts in; null: none, so only platform-reach permissions count.
 * @throws TENANT_FORBIDDEN if the user has no active link to it, or the session is bound to another one
 */
export async function chooseBrowserTenant(
  p: Pick<Platform, "sql">,
  o: { secret: string; userId: string; tenantId: string | null; boundTo: string | null },
): Promise<void> {
  const { secret, userId, tenantId } = o;
  if (o.boundTo !== null && tenantId !== o.boundTo) throw noAccess(tenantId ?? "none");
  await transact(p.sql, async (tx) => {
    if (tenantId !== null) await requireActiveLink(tx, userId, tenantId, o.boundTo);
    await tx`update browser_sessions set tenant_id = ${tenantId} where secret_hash = ${digest(secret)}`;
  });
}

/** The session of a delegation by which a browser acts. */
export interface ActingSession extends Omit<BrowserSession, "isActing"> {
  tenantId: string;
  actorId: string;
  mayWrite: boolean;
  expiresAt: Date;
}

/** Reads the delegation by which a browser acts; null if there is none, or it has ended. */
export async function readActingSession(q: Sql, secret: string): Promise<ActingSession | null> {
  const [row] = await q<ActingSession[]>`
    select s.user_id, s.id as session_id, s.only_tenant_id as tenant_id, ${boundTo(q)} as bound_to,
      s.security_version, s.authenticated_at, s.actor_id, s.may_write, s.expires_at
    from browser_sessions b join sessions s on s.id = b.acting_session_id and s.actor_session_id = b.session_id
    join users u on u.id = s.user_id
    where b.secret_hash = ${digest(secret)} and ${givesAccess(q)} and ${tenantLetsAct(q)}`;
  return row ?? null;
}

/** From now on, the browser acts by the session of a delegation that it opened. */
export async function actInBrowser(q: Sql, secret: string, delegationId: string): Promise<void> {
  await q`update browser_sessions set acting_session_id = ${delegationId}
    where secret_hash = ${digest(secret)}`;
}

/** Issues an access token of the session, for the API requests of one page. */
export async function browserToken(
  p: Pick<Platform, "tokens">,
  s: Omit<BrowserSession, "isActing" | "boundTo"> & Partial<Pick<ActingSession, "actorId">>,
): Promise<string> {
  return await p.tokens.sign({
    sub: s.userId,
    sid: s.sessionId,
    tenantId: s.tenantId,
    ver: s.securityVersion,
    act: s.actorId,
  });
}

/**
 * Gives a browser a new session after its user added themselves to a tenant, and acts in that tenant. The change of the
 * link has ended the session, as all sessions of the user. The new one needs no password, because the same browser made
 * the change a moment ago with a live session: the link must be the only change since. It keeps the time and kind of
 * the sign-in, so it ends no later than the ended one would have.
 * @returns false if anything else has changed or ended, or the session is bound to a tenant; then the user signs in
 * @throws TENANT_FORBIDDEN if the user has no active link to the tenant
 */
export async function continueInJoinedTenant(
  p: Pick<RightsPlatform, "sql" | "rights">,
  o: { secret: string; userId: string; tenantId: string },
): Promise<boolean> {
  const { userId, tenantId } = o;
  const secretHash = digest(o.secret);
  return await transact(p.sql, async (tx) => {
    await requireActiveLink(tx, userId, tenantId);
    const [session] = await tx<{ id: string; version: number; isOnlyChange: boolean }[]>`
      select s.id, ${securityVersionOf(tx)} as version,
        ${securityVersionOf(tx)} - 1 - (select coalesce(sum(r.access_version), 0)::integer
          from user_tenant_roles h join roles r on r.id = h.role_id
          where h.user_id = u.id and h.tenant_id = ${tenantId}) = s.security_version as is_only_change
      from browser_sessions b join sessions s on s.id = b.session_id join users u on u.id = s.user_id
      where b.secret_hash = ${secretHash} and s.user_id = ${userId} and s.revoked_at is null and s.only_tenant_id is null
        and s.expires_at > now() and u.is_active and u.deleted_at is null
      for no key update of u, s`;
    if (!session?.isOnlyChange) return false;
    const id = newId();
    await tx`
      insert into sessions (id, user_id, created_at, expires_at, ip, user_agent, security_version, amr, authenticated_at)
      select ${id}, user_id, created_at, expires_at, ip, user_agent, ${session.version}, amr, authenticated_at
      from sessions where id = ${session.id}`;
    await tx`update browser_sessions set session_id = ${id}, tenant_id = ${tenantId} where secret_hash = ${secretHash}`;
    await tx`update sessions set revoked_at = now(), revoked_reason = 'joined a tenant' where id = ${session.id}`;
    p.rights.invalidateAfterCommit(tx, [userId]);
    return true;
  });
}
