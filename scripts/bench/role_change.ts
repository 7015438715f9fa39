import { type Ground, tell } from "./ground.ts";
import { populate, signIn } from "./people.ts";

/** A permission given to a role that 10,000 users hold: every one of them gets a new security version. */
export async function roleChange(ground: Ground): Promise<void> {
  const service = await ground.startService();
  const { roleId, tenantId } = await populate(ground.sql, { users: 100_000, tenants: 1_000 });
  const [admin] = await ground.sql<
    { id: string }[]
  >`select id from users where email = 'admin@steward.local'`;
  const [held] = await ground.sql<{ n: number }[]>`
    select count(*)::int as n from user_tenant_roles where role_id = ${roleId}`;
  await ground.sql`insert into user_tenants (user_id, tenant_id) values (${admin?.id ?? ""}, ${tenantId})`;
  const [permission] = await ground.sql<
    { id: string }[]
  >`select id from permissions where code = 'read:roles'`;
  const global = await signIn(service.port, "admin@steward.local", "steward-admin-dev");
  const switched = await fetch(`http://127.0.0.1:${service.port}/auth/switch-tenant`, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: `Bearer ${global}` },
    body: JSON.stringify({ tenantId }),
  });
  const { accessToken } = await switched.json();
  await ground.sql`insert into user_tenant_roles (user_id, tenant_id, role_id)
    select ${admin?.id ?? ""}, ${tenantId}, id from roles where id = ${roleId}`;
  await ground.sql`insert into role_permissions (role_id, permission_id)
    select ${roleId}, id from permissions where code in ('update:roles') and tenant_id is null`;
  await new Promise((resolve) => setTimeout(resolve, 1_000)); // until the rights remembered are read anew
  const started = performance.now();
  const response = await fetch(
    `http://127.0.0.1:${service.port}/api/v1/roles/${roleId}/permissions/${permission?.id}`,
    { method: "POST", headers: { authorization: `Bearer ${accessToken}` } },
  );
  const elapsed = Math.round(performance.now() - started);
  if (!response.ok) throw new Error(`the grant answered ${response.status}: ${await response.text()}`);
  tell(`a permission change on a role held by ${held?.n} users`, elapsed, " ms", { most: 500 });
  await service.stop();
}
