import { deleteClientSessions } from "../access/sign_in/client_session.ts";
import { ofTenant, type PersonalData } from "../shared/personal_data.ts";

/** Sign-ins of a person at other programs, and the programs of a tenant. */
export const oauthPersonalData: PersonalData = {
  area: "oauth",
  user: {
    consents: (q, { userId, tenantId }) =>
      q`
      select c.client_id, n.name as client_name, c.scopes, c.created_at, c.updated_at
      from oauth_consents c join oauth_clients n on n.id = c.client_id
      where c.user_id = ${userId} and (n.tenant_id is null or ${ofTenant(q, tenantId, "n.tenant_id")})
      order by c.created_at`,
    grants: (q, { userId, tenantId }) =>
      q`
      select g.client_id, g.tenant_id, g.scopes, g.created_at, g.refreshed_at from oauth_grants g
      where g.user_id = ${userId} and ${ofTenant(q, tenantId, "g.tenant_id")} order by g.created_at`,
  },
  async eraseUsers({ sql }, { userIds }) {
    await sql`delete from oauth_grants where user_id = any(${userIds}::uuid[])`;
    await sql`delete from oauth_consents where user_id = any(${userIds}::uuid[])`;
  },
  tenant: {
    clients: (q, tenantId) =>
      q`
      select id, client_id, name, kind, redirect_uris, post_logout_redirect_uris, audience, scopes, created_by,
        created_at, revoked_at from oauth_clients where tenant_id = ${tenantId} order by id`,
  },
  /** The audiences stay reserved for a day, like those of a revoked client: tokens with them may still be valid. */
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
