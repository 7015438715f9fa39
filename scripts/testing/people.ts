// Tenants and users with tokens, for tests.
import { createCatalogRoles } from "../../domain/access/roles/default_roles.ts";
import { openSession } from "../../domain/access/sign_in/sessions.ts";
import type { ServicePlatform } from "../../domain/platform.ts";
import { newId } from "../../domain/shared/ids.ts";
import { HASH_COST } from "../../infra/passwords.ts";
import { type Sql, transact } from "../../infra/postgres/postgres.ts";

/** Tests have all rights in the service, and make cheap hashes. @throws Error if this looks like production */
export function refuseProduction(mode?: string): void {
  if (![mode, Deno.env.get("STEWARD_ENV"), Deno.env.get("NODE_ENV")].includes("production")) return;
  throw new Error("this service is for tests; STEWARD_ENV or NODE_ENV says production");
}

refuseProduction();
/** Hashes of the usual cost take 60 ms of processor time. */
Object.assign(HASH_COST, { memoryCost: 8, timeCost: 1 });

/** Lifetime of the token of a new user. On a slow machine tests take longer than the service's quarter of an hour. */
const TOKEN_SECONDS = 4 * 60 * 60;

export interface NewTenant {
  name?: string;
  type?: "Standard" | "Group";
  parentTenantId?: string;
}

export interface NewUser {
  /** Default: a new tenant. */
  tenantId?: string;
  /** Permissions of the user's one role. */
  permissions?: string[];
  /** A catalog role instead of `permissions`. */
  role?: "SystemAdmin" | "Admin" | "Visitor" | "GroupAdmin";
  /** True: the token has no tenant. */
  global?: boolean;
  /** Default: an address of its own. */
  email?: string;
}

/** A user with one role, and the tokens of a session. */
export interface TestUser {
  id: string;
  email: string;
  tenantId: string;
  roleId: string;
  token: string;
  refreshToken: string;
}

type TokenPlatform = Pick<ServicePlatform, "tokens">;

/** Creates a tenant with the catalog roles; returns its id. */
export async function createTenant(sql: Sql, o: NewTenant = {}): Promise<string> {
  const id = newId();
  const { name = `Tenant ${id}`, type = "Standard", parentTenantId = null } = o;
  await transact(sql, async (tx) => {
    await tx`insert into tenants (id, name, type, parent_tenant_id)
      values (${id}, ${name}, ${type}, ${parentTenantId})`;
    await createCatalogRoles(tx, id, type);
  });
  return id;
}

/** @throws Error if a permission is not in the catalog */
export async function createUser(
  p: TokenPlatform & { sql: Sql },
  o: NewUser = {},
  tokenSeconds = TOKEN_SECONDS,
): Promise<TestUser> {
  const id = newId();
  const { email = `${id}@example.test`, permissions = [] } = o;
  const tenantId = o.role === "SystemAdmin"
    ? await platformTenant(p.sql)
    : o.tenantId ?? await createTenant(p.sql);
  return await transact(p.sql, async (tx) => {
    await tx`insert into users (id, email, first_name, last_name) values (${id}, ${email}, 'Test', 'Actor')`;
    await tx`insert into user_tenants (user_id, tenant_id, is_default) values (${id}, ${tenantId}, true)`;
    const roleId = o.role ? await catalogRole(tx, tenantId, o.role) : newId();
    if (!o.role) {
      await tx`insert into roles (id, tenant_id, name) values (${roleId}, ${tenantId}, ${`Role ${roleId}`})`;
      const granted = await tx`insert into role_permissions (role_id, permission_id)
        select ${roleId}, id from permissions where tenant_id is null and code = any(${permissions}::text[])`;
      if (granted.count !== permissions.length) {
        throw new Error(`not all are in the catalog: ${permissions.join(", ")}`);
      }
    }
    await tx`insert into user_tenant_roles (user_id, tenant_id, role_id) values (${id}, ${tenantId}, ${roleId})`;
    const tokens = await openTestSession(p, tx, id, o.global ? null : tenantId, tokenSeconds);
    return { id, email, tenantId, roleId, ...tokens };
  });
}

/** Opens a session of a user. @param lifeSeconds lifetime of its token; absent: the usual one */
export async function openTestSession(
  { tokens }: TokenPlatform,
  sql: Sql,
  userId: string,
  tenantId: string | null,
  lifeSeconds?: number,
): Promise<Pick<TestUser, "token" | "refreshToken">> {
  const lasting: typeof tokens = { ...tokens, sign: (claims) => tokens.sign({ lifeSeconds, ...claims }) };
  const session = { user: { id: userId }, tenantId, amr: ["pwd" as const], ip: null, userAgent: null };
  const opened = await transact(sql, (tx) => openSession({ tokens: lasting }, tx, session));
  return { token: opened.accessToken, refreshToken: opened.refreshToken };
}

export async function platformTenant(sql: Sql): Promise<string> {
  const [platform] = await sql<{ id: string }[]>`select id from tenants where type = 'Platform'`;
  return platform?.id ?? "";
}

async function catalogRole(sql: Sql, tenantId: string, name: string): Promise<string> {
  const [role] = await sql<{ id: string }[]>`
    select id from roles where tenant_id = ${tenantId} and name = ${name} and is_system`;
  if (!role) throw new Error(`the tenant has no role ${name}`);
  return role.id;
}
