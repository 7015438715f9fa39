import { newId } from "../../domain/shared/ids.ts";
import type { Sql } from "../../infra/postgres/postgres.ts";

const FIRST = ["Zoë", "Otto", "Ana", "João", "Mia", "Noah", "Ines", "Łukasz", "Chloé", "Björn"];
const LAST = [
  "Silva",
  "Müller",
  "Novák",
  "Costa",
  "Okafor",
  "Sørensen",
  "Ionescu",
  "Yılmaz",
  "García",
  "Dubois",
];

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
  await sql`insert into tenants (id, name, type)
    select id, ${`Bench ${run} `} || n, 'Standard' from unnest(${tenantIds}::uuid[]) with ordinality t (id, n)`;
  await sql`insert into roles (id, tenant_id, name)
    select r, t, 'Reader' from unnest(${roleIds}::uuid[], ${tenantIds}::uuid[]) x (r, t)`;
  await sql`insert into role_permissions (role_id, permission_id)
    select r, p.id from unnest(${roleIds}::uuid[]) r cross join permissions p where p.code = 'read:users' and p.tenant_id is null`;
  let userId = "";
  for (let from = 0; from < o.users; from += 10_000) {
    const ids = Array.from({ length: Math.min(10_000, o.users - from) }, newId);
    userId ||= ids[0] ?? "";
    const at = (n: number) => n % 10 === 0 ? 0 : n % o.tenants;
    await sql`insert into users (id, email, first_name, last_name, is_active)
      select id, 'user' || (n + ${from}) || ${`.${run}@example.test`}, (${FIRST}::text[])[1 + n % 10],
        (${LAST}::text[])[1 + (n / 10) % 10], n % 7 <> 0
      from unnest(${ids}::uuid[]) with ordinality u (id, n)`;
    const usersTenants = ids.map((_, n) => tenantIds[at(from + n)] ?? "");
    const usersRoles = ids.map((_, n) => roleIds[at(from + n)] ?? "");
    await sql`insert into user_tenants (user_id, tenant_id, is_default)
      select u, t, true from unnest(${ids}::uuid[], ${usersTenants}::uuid[]) x (u, t)`;
    await sql`insert into user_tenant_roles (user_id, tenant_id, role_id)
      select u, t, r from unnest(${ids}::uuid[], ${usersTenants}::uuid[], ${usersRoles}::uuid[]) x (u, t, r)`;
  }
  // Only these: Postgres plans foreign keys of an analyzed, still empty table as sequential scans.
  await sql`analyze tenants, roles, role_permissions, users, user_tenants, user_tenant_roles`;
  return { tenantId: tenantIds[0] ?? "", roleId: roleIds[0] ?? "", userId };
}

/** The development administrator and their tenant. A service must have started once to create them. */
export async function findAdministrator(sql: Sql): Promise<{ userId: string; tenantId: string }> {
  const [admin] = await sql<{ userId: string; tenantId: string }[]>`
    select user_id, tenant_id from user_tenants join users on users.id = user_id where email = 'admin@steward.local'`;
  if (!admin) throw new Error("the administrator does not exist yet: start the service first");
  return admin;
}

/** Signs in over HTTP and returns the access token. */
export async function signIn(port: number, email: string, password: string): Promise<string> {
  const response = await fetch(`http://127.0.0.1:${port}/api/v1/auth/login`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ email, password }),
  });
  const body = await response.json();
  if (response.status !== 200) {
    throw new Error(`signing in answered ${response.status}: ${JSON.stringify(body)}`);
  }
  return body.accessToken;
}

/** Sets a user's password and activates the user; returns their email. */
export async function givePassword(sql: Sql, userId: string, passwordHash: string): Promise<string> {
  const [user] = await sql<{ email: string }[]>`
    update users set password_hash = ${passwordHash}, is_active = true where id = ${userId} returning email`;
  return user?.email ?? "";
}
