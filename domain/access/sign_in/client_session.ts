import type { Sql, Tx } from "../../../infra/postgres/postgres.ts";
import { securityVersionOf } from "../../rights/security_version.ts";
import { newId } from "../../shared/ids.ts";
import { eraseRows } from "../../shared/personal_data.ts";
import { type ChangingAccess, tellClients } from "../access_changes.ts";

/**
 * Opens a session for a client that the user signs in to with a browser's session. It has that session's security
 * version, so every change of access since then ends it. It is bound to the tenant of a provider as that session is.
 * @param o.outlivesBrowser false: it ends with the session of the browser
 * @param o.tellsClient the client is told when it ends
 * @returns its id; null if the session of the browser has ended.
 */
export async function openClientSession(
  tx: Tx,
  o: {
    browserSessionId: string;
    clientId: string;
    lifeSeconds: number;
    outlivesBrowser: boolean;
    tellsClient: boolean;
    ip: string | null;
    userAgent: string | null;
  },
): Promise<string | null> {
  const id = newId();
  const openedBy = o.outlivesBrowser ? null : o.browserSessionId;
  // The lock makes a concurrent sign-out wait, which then ends this session too.
  const { count } = await tx`
    insert into sessions (id, user_id, security_version, expires_at, amr, authenticated_at, ip, user_agent, client_id,
      opened_by, tells_client, provider_id, only_tenant_id)
    select ${id}, s.user_id, s.security_version, now() + make_interval(secs => ${o.lifeSeconds}), s.amr,
      s.authenticated_at, ${o.ip}, ${o.userAgent}, ${o.clientId}, ${openedBy}, ${o.tellsClient}, s.provider_id, s.only_tenant_id
    from sessions s where s.id = ${o.browserSessionId} and s.revoked_at is null for share`;
  return count === 1 ? id : null;
}

/** SQL condition: the session `s` of the user `u` gives access. */
export const givesAccess = (q: Sql) =>
  q`s.revoked_at is null and s.expires_at > now() and s.security_version = ${securityVersionOf(q)}
    and u.is_active and u.deleted_at is null`;

/** Query: for each client with open sessions of a user, `client_id` and the number `sessions`. */
export const openClientSessions = (q: Sql, userId: string) =>
  q`select s.client_id, count(*)::int as sessions from sessions s join users u on u.id = s.user_id
    where s.user_id = ${userId} and s.client_id is not null and ${givesAccess(q)} group by s.client_id`;

/** Ends a client's sessions of a user. @returns how many were open. */
export async function endClientSessions(
  p: ChangingAccess,
  tx: Tx,
  o: { userId: string; clientId: string; reason: string },
): Promise<number> {
  await tellClients(p, tx, [o.userId]);
  const { count } = await tx`update sessions set revoked_at = now(), revoked_reason = ${o.reason}
    where user_id = ${o.userId} and client_id = ${o.clientId} and revoked_at is null`;
  p.rights.invalidateAfterCommit(tx, [o.userId]);
  return count;
}

/** Deletes all sessions of clients and with them their grants, also ended ones, so that the clients can be deleted. */
export const deleteClientSessions = (sql: Sql, clientIds: string[]): Promise<number> =>
  eraseRows(sql, "sessions", sql`client_id = any(${clientIds}::uuid[])`);
