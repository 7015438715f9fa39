import { type BenchSetup, printResult } from "./bench_setup.ts";
import { populate, signIn } from "./sample_users.ts";

/** Time of adding a permission to a role of 10,000 users: each of them gets a new security version. */
export async function roleChange(setup: BenchSetup): Promise<void> {
  const service = await setup.startService();
  const { roleId, tenantId } = await populate(setup.sql, { users: 100_000, tenants: 1_000 });
  const [admin] = await setup.sql<
    { id: string }[]
  >`select id from users where email = 'admin@steward.local'`;
  const [held] = await setup.sql<{ n: number }[]>`
    select count(*)::int as n from user_tenant_roles where role_id = ${roleId}`;
  await setup.sql`insert into user_tenants (user_id, tenant_id) values (${admin?.id ?? ""}, ${tenantId})`;
  const [permission] = await setup.sql<
    { id: string }[]
  >`select id from permissions where code = 'read:roles'`;
  const global = await signIn(service.port, "admin@steward.local", "steward-admin-dev");
  const switched = await fetch(`http://127.0.0.1:${service.port}/auth/switch-tenant`, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: `Bearer ${global}` },
    body: JSON.stringify({ tenantId }),
  });
  const { accessToken } = await switched.json();
  await setup.sql`insert into user_tenant_roles (user_id, tenant_id, role_id)
    select ${admin?.id ?? ""}, ${tenantId}, id from roles where id = ${roleId}`;
  await setup.sql`insert into role_permissions (role_id, permission_id)
    select ${roleId}, id from permissions where code in ('update:roles') and tenant_id is null`;
  await new Promise((resolve) => setTimeout(resolve, 1_000)); // until the cached rights have expired
  const started = performance.now();
  const response = await fetch(
    `http://127.0.0.1:${service.port}/api/v1/roles/${roleId}/permissions/${permission?.id}`,
    { method: "POST", headers: { authorization: `Bearer ${accessToken}` } },
  );
  const elapsed = Math.round(performance.now() - started);
  if (!response.ok) throw new Error(`the grant answered ${response.status}: ${await response.text()}`);
  printResult(`a permission change on a role held by ${held?.n} users`, elapsed, " ms", { max: 500 });
  await service.stop();
}
