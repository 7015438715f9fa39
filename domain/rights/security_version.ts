import type { Sql } from "../../infra/postgres/postgres.ts";

/**
 * SQL expression for the security version of the user `u`: the user's own number plus those of the user's roles. It grows
 * with every change of the user's roles, permissions or links, and never falls. A change of a role's permissions
 * increments one row, however many users hold the role.
 */
export const securityVersionOf = (q: Sql) =>
  q`(u.security_version + (select coalesce(sum(held.access_version), 0)::integer from user_tenant_roles h
    join roles held on held.id = h.role_id where h.user_id = u.id))`;
