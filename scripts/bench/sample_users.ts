import { newId } from "../../domain/shared/ids.ts";
import { hashPassword } from "../../infra/passwords.ts";
import type { Sql } from "../../infra/postgres/postgres.ts";

const FIRST_NAMES = "Zoë,Otto,Ana,João,Mia,Noah,Ines,Łukasz,Chloé,Björn".split(",");
const LAST_NAMES = "Silva,Müller,Novák,Costa,Okafor,Sørensen,Ionescu,Yılmaz,García,Dubois".split(",");
const PASSWORD = "bench-password";

/** Result of `populate`: the first tenant, its role, and one of its users. */
export interface Population {
  tenantId: string;
  roleId: string;
  userId: string;
}

/**
 * Inserts tenants and users. A tenth of the users belong to the first tenant; the others are spread evenly over all
 * tenants. Each user has their tenant's role, which has `read:users`.
 */
export async function populate(sql: Sql, o: { users: number; tenants: number }): Promise<Population> {
  const run = crypto.randomUUID().slice(0, 6);
  const tenantIds = Array.from({ length: o.tenants }, newId);
  const roleIds = Array.from({ length: o.tenants }, newId);
  const userId = newId();
  await sql`insert into tenants (id, name, type)
    select id, ${`Bench ${run} `} || n, 'Standard' from unnest(${tenantIds}::uuid[]) with ordinality t (id, n)`;
  await sql`insert into roles (id, tenant_id, name)
    select r, t, 'Reader' from unnest(${roleIds}::uuid[], ${tenantIds}::uuid[]) x (r, t)`;
  await sql`insert into role_permissions (role_id, permission_id)
    select r, p.id from unnest(${roleIds}::uuid[]) r cross join permissions p where p.code = 'read:users' and p.tenant_id is null`;
  await sql`
    with person as materialized (
      select n, case n when 0 then ${userId}::uuid else uuidv7() end as id,
        1 + case n % 10 when 0 then 0 else n % ${o.tenants}::int end as place
      from generate_series(0, ${o.users}::int - 1) n),
    users_added as (
      insert into users (id, email, first_name, last_name, is_active)
      select id, 'user' || n || ${`.${run}@example.test`}, (${FIRST_NAMES}::text[])[1 + n % 10],
        (${LAST_NAMES}::text[])[1 + n / 10 % 10], n % 7 <> 6 from person),
    memberships_added as (
      insert into user_tenants (user_id, tenant_id, is_default)
      select id, (${tenantIds}::uuid[])[place], true from person)
    insert into user_tenant_roles (user_id, tenant_id, role_id)
    select id, (${tenantIds}::uuid[])[place], (${roleIds}::uuid[])[place] from person`;
  // Only these: Postgres plans foreign keys of an analyzed, still empty table as sequential scans.
  await sql`analyze tenants, roles, role_permissions, users, user_tenants, user_tenant_roles`;
  return { tenantId: tenantIds[0] ?? "", roleId: roleIds[0] ?? "", userId };
}

/** Gives a user of `populate` a password and a role with the given permissions; signs in and returns the headers. */
export async function signInUser(
  sql: Sql,
  port: number,
  { tenantId, userId, permissions }: { tenantId: string; userId: string; permissions: string[] },
): Promise<{ email: string; headers: Record<string, string> }> {
  const roleId = newId();
  await sql`insert into roles (id, tenant_id, name) values (${roleId}, ${tenantId}, 'Caller')`;
  await sql`insert into role_permissions (role_id, permission_id)
    select ${roleId}, id from permissions where tenant_id is null and code = any(${permissions}::text[])`;
  await sql`insert into user_tenant_roles (user_id, tenant_id, role_id) values (${userId}, ${tenantId}, ${roleId})`;
  const [user] = await sql<{ email: string }[]>`
    update users set password_hash = ${await hashPassword(PASSWORD)} where id = ${userId} returning email`;
  const email = user?.email ?? "";
  return { email, headers: await signIn(port, email) };
}

/** The development administrator, whom the service creates at its first start. */
export const ADMINISTRATOR = { email: "admin@steward.local", password: "steward-admin-dev" };

/** Signs in the development administrator; returns the headers. */
export const signInAdministrator = (port: number): Promise<Record<string, string>> =>
  signIn(port, ADMINISTRATOR.email, ADMINISTRATOR.password);

/** Signs in over HTTP and returns the headers with the access token. */
export async function signIn(
  port: number,
  email: string,
  password = PASSWORD,
): Promise<Record<string, string>> {
  const response = await fetch(`http://127.0.0.1:${port}/api/v1/auth/login`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ email, password }),
  });
  const body = await response.json();
  if (!response.ok) throw new Error(`signing in answered ${response.status}: ${JSON.stringify(body)}`);
  return { authorization: `Bearer ${body.accessToken}` };
}

/** The development administrator and their tenant. A service must have started once to create them. */
export async function findAdministrator(sql: Sql): Promise<{ userId: string; tenantId: string }> {
  const [admin] = await sql<{ userId: string; tenantId: string }[]>`
    select user_id, tenant_id from user_tenants join users on users.id = user_id where email = 'admin@steward.local'`;
  if (!admin) throw new Error("the administrator does not exist yet: start the service first");
  return admin;
}
