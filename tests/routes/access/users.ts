// Helpers of the user tests: callers with all user permissions, new users, and rows written without a route.
import { newId } from "../../../domain/shared/ids.ts";
import type { Actor, TestService } from "../../support/setup.ts";
import { idOf } from "./answers.ts";

export const ADMIN = ["read:users", "create:users", "update:users", "delete:users"];
export const PASSWORD = "correct horse battery";
/** A hash that nobody signs in with. Hashing a password takes 60 ms. */
export const BCRYPT = "$2b$12$EXRkfkdmXn2gzds2SSitu.MW9.gAVqa9eLS1//RYtYCmB1eLHg.9q";

export const newEmail = () => `${crypto.randomUUID()}@example.test`;

/** The body that creates a new user. */
export const newUser = (o: Record<string, unknown> = {}) => ({
  email: newEmail(),
  ...("password" in o ? {} : { password: BCRYPT, isPasswordEncrypted: true }),
  firstName: "Ana",
  lastName: "Ünal",
  ...o,
});

/** Creates a user in the tenant of `by`. */
export const createUser = (by: Actor, o: Record<string, unknown> = {}): Promise<string> =>
  idOf(by.post("/api/v1/users", newUser(o)));

/** Inserts a user without links. */
export async function insertUser(
  { steward: { platform: { sql } } }: TestService,
  set: object = {},
): Promise<string> {
  const id = newId();
  await sql`insert into users ${sql({ id, email: `${id}@example.test`, ...set })}`;
  return id;
}

/** Inserts a role with permissions of the catalog. */
export async function insertRole(
  { steward: { platform: { sql } } }: TestService,
  tenantId: string | null,
  permissions: string[] = [],
  name = `Role ${newId()}`,
): Promise<string> {
  const id = newId();
  await sql`insert into roles (id, tenant_id, name) values (${id}, ${tenantId}, ${name})`;
  await sql`insert into role_permissions (role_id, permission_id)
    select ${id}, id from permissions where tenant_id is null and code = any(${permissions}::text[])`;
  return id;
}

/** Links a user to a tenant, with `roleId` if it is given. */
export async function insertLink(
  { steward: { platform: { sql } } }: TestService,
  userId: string,
  tenantId: string | null,
  roleId: string | null = null,
  isActive = true,
): Promise<void> {
  await sql`insert into user_tenants (user_id, tenant_id, is_active) values (${userId}, ${tenantId}, ${isActive})
    on conflict do nothing`;
  if (roleId === null) return;
  await sql`insert into user_tenant_roles (user_id, tenant_id, role_id) values (${userId}, ${tenantId}, ${roleId})`;
}

/** The id of a catalog role of the tenant. */
export async function catalogRole(t: TestService, name: string, tenantId: string | null): Promise<string> {
  const [role] = await t.steward.platform.sql<{ id: string }[]>`
    select id from roles where tenant_id = ${tenantId} and name = ${name} and is_system`;
  return role?.id ?? "";
}
