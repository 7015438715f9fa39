import { z } from "zod";
import { time } from "../shared/shapes.ts";
import { type Sql, transact } from "../../infra/postgres/postgres.ts";
import {
  deleteClientSessions,
  endClientSessions,
  openClientSessions,
} from "../access/sign_in/client_session.ts";
import { lockSessions } from "../access/sign_in/sessions.ts";
import { recordAudit } from "../audit/audit.ts";
import { problem } from "../problems/problem.ts";
import type { Caller } from "../rights/caller.ts";
import type { RightsPlatform } from "../rights/platform.ts";
import { ofTenant, type PersonalData } from "../shared/personal_data.ts";

const MAX_LISTED = 100;

/** A client to which the user is signed in, or to which they have allowed scopes. */
export const ConnectedClient = z.object({
  id: z.guid(),
  name: z.string(),
  allowedScopes: z.array(z.string()).describe("Empty for a first-party client, which does not ask"),
  allowedAt: time.nullable(),
  sessions: z.int().describe("Number of open sessions"),
}).meta({ id: "ConnectedClientDto" });
export type ConnectedClient = z.output<typeof ConnectedClient>;

/** Lists the clients to which the caller is signed in or has allowed scopes, by name; at most 100. */
export async function listConnectedClients(
  q: Sql,
  { userId }: Pick<Caller, "userId">,
): Promise<ConnectedClient[]> {
  return await q<ConnectedClient[]>`
    select c.id, c.name, coalesce(a.scopes, '{}') as allowed_scopes, a.updated_at as allowed_at,
      coalesce(open.sessions, 0) as sessions
    from (${openClientSessions(q, userId)}) open
    full join (select * from oauth_consents where user_id = ${userId}) a on a.client_id = open.client_id
    join oauth_clients c on c.id = coalesce(a.client_id, open.client_id)
    order by lower(c.name), c.id limit ${MAX_LISTED}`;
}

/**
 * Withdraws the caller's consent to a client, and ends the client's sessions of the caller.
 * @throws OAUTH_CLIENT_NOT_FOUND if the caller is not connected to it
 */
export async function disconnectClient(
  p: Pick<RightsPlatform, "sql" | "rights">,
  caller: Caller,
  clientId: string,
): Promise<void> {
  await transact(p.sql, async (tx) => {
    const { userId } = caller;
    await lockSessions(tx, tx`user_id = ${userId}`);
    const { count } =
      await tx`delete from oauth_consents where user_id = ${userId} and client_id = ${clientId}`;
    const ended = await endClientSessions(p, tx, { userId, clientId, reason: "disconnected by its user" });
    if (count + ended === 0) {
      throw problem("OAUTH_CLIENT_NOT_FOUND", `The caller is not connected to a client ${clientId}.`);
    }
    await recordAudit(tx, caller, "oauthClient.disconnect", clientId);
  });
}

/** Sign-ins of a person at other programs, and the programs of a tenant. */
export const oauthPersonalData: PersonalData = {
  area: "oauth",
  user: {
    consents: (q, { userId, tenantId }) =>
      q`select c.client_id, n.name as client_name, c.scopes, c.created_at, c.updated_at
      from oauth_consents c join oauth_clients n on n.id = c.client_id
      where c.user_id = ${userId} and (n.tenant_id is null or ${ofTenant(q, tenantId, "n.tenant_id")})
      order by c.created_at`,
    grants: (q, { userId, tenantId }) =>
      q`select g.client_id, g.tenant_id, g.scopes, g.created_at, g.refreshed_at from oauth_grants g
      where g.user_id = ${userId} and ${ofTenant(q, tenantId, "g.tenant_id")} order by g.created_at`,
  },
  async eraseUsers({ sql }, { userIds }) {
    await sql`delete from oauth_grants where user_id = any(${userIds}::uuid[])`;
    await sql`delete from oauth_consents where user_id = any(${userIds}::uuid[])`;
  },
  tenant: {
    clients: (q, tenantId) =>
      q`select id, client_id, name, kind, redirect_uris, post_logout_redirect_uris, audience, scopes, created_by,
        created_at, revoked_at from oauth_clients where tenant_id = ${tenantId} order by id`,
  },
  /** The audiences stay reserved for a day, because tokens with them may still be valid. */
  async eraseTenant({ sql }, tenantId) {
    const clients = await sql<{ id: string }[]>`select id from oauth_clients where tenant_id = ${tenantId}`;
    const ids = clients.map(({ id }) => id);
    if (ids.length > 0) await deleteClientSessions(sql, ids); // users of other tenants have some too
    await sql`delete from oauth_grants where tenant_id = ${tenantId}`;
    await sql`delete from oauth_consents where client_id = any(${ids}::uuid[])`;
    await sql`update oauth_audiences set left_at = now() where tenant_id = ${tenantId}`;
    await sql`delete from oauth_clients where tenant_id = ${tenantId}`;
  },
};
