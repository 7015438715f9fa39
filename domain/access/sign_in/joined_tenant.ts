import { transact } from "../../../infra/postgres/postgres.ts";
import type { RightsPlatform } from "../../rights/platform.ts";
import { securityVersionOf } from "../../rights/security_version.ts";
import { newId } from "../../shared/ids.ts";
import { digest } from "../../shared/secrets.ts";
import { requireActiveLink } from "./tenant_choice.ts";

/**
 * Gives a browser a new session after its user added themselves to a tenant, and acts in that tenant. The change of the
 * link has ended the session, as all sessions of the user. The new one needs no password, because the same browser made
 * the change a moment ago with a live session: the link must be the only change since. It keeps the time and kind of
 * the sign-in, so it ends no later than the ended one would have.
 * @returns false if anything else has changed or ended; then the user signs in
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
      where b.secret_hash = ${secretHash} and s.user_id = ${userId} and s.revoked_at is null
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
