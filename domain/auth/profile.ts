import type { Queryable } from "../../infra/postgres/postgres.ts";
import { problem } from "../problems/problem.ts";

/** The signed-in user as the sign-in routes answer it. */
export interface Profile {
  user: {
    id: string;
    email: string;
    firstName: string;
    lastName: string;
    phoneNumber: string | null;
    appIds: string[];
    roles: string[];
    lastLoginAt: Date | null;
    createdAt: Date;
    updatedAt: Date;
  };
  tenant: { id: string; name: string; type: string } | null;
  permissions: string[];
}

/** Reads a user's profile with roles and permissions in `tenantId`'s context; null stands for none. */
export async function readProfile(q: Queryable, userId: string, tenantId: string | null): Promise<Profile> {
  const [user] = await q<Profile["user"][]>`
    select u.id, u.email, u.first_name, u.last_name, u.phone_number, u.app_ids, u.last_login_at, u.created_at, u.updated_at,
      array(select r.name from user_tenant_roles l join roles r on r.id = l.role_id and r.deleted_at is null
        where l.user_id = u.id and l.tenant_id = ${tenantId} order by r.name) as roles
    from users u where u.id = ${userId}`;
  if (!user) throw problem("SESSION_INVALIDATED", "The user is gone.");
  const [tenant] = await q<{ id: string; name: string; type: string }[]>`
    select id, name, type from tenants where id = ${tenantId}`;
  const permissions = await q<{ code: string }[]>`
    select distinct p.code from user_tenant_roles l
    join tenants t on t.id = l.tenant_id
    join roles r on r.id = l.role_id and r.deleted_at is null
    join role_permissions rp on rp.role_id = r.id
    join permissions p on p.id = rp.permission_id and p.deleted_at is null
    where l.user_id = ${userId}
      and case when ${tenantId}::uuid is null then t.type = 'Platform' and p.reach = 'Platform' else t.id = ${tenantId} end
    order by p.code`;
  return { user, tenant: tenant ?? null, permissions: permissions.map((row) => row.code) };
}
