import type { Sql, SqlPart } from "../../infra/postgres/postgres.ts";
import { problem } from "../problems/problem.ts";
import type { Caller } from "./caller.ts";

/** SQL condition: a provider of a tenant, which may be deleted since, opened the session, or that of a delegation's actor. */
export const isOfProvider = (q: Sql, session: SqlPart): SqlPart =>
  q`(${session}.provider_id is not null or ${session}.only_tenant_id is not null and ${session}.actor_id is null)`;

/** SQL: the tenant to which the session `s` is bound, because one of the tenant's providers opened it; else null. */
export const boundTo = (q: Sql) => q`case when ${isOfProvider(q, q`s`)} then s.only_tenant_id end`;

/** SQL condition: by the link `l`, its user may sign in to the tenant `t` otherwise than by the tenant's own providers. */
export const acceptsPassword = (q: Sql) => q`(t.password_sign_in or l.may_use_password)`;

/**
 * SQL condition: the tenant accepts how a session was opened. A session of a provider is good in the provider's tenant only.
 * @param session alias of the table `sessions`
 * @param tenantId null: no tenant, which accepts every session without a provider
 */
export const isAcceptedIn = (q: Sql, session: SqlPart, tenantId: SqlPart): SqlPart =>
  q`(case when ${isOfProvider(q, session)}
    then exists (select from sign_in_providers p
      where p.id = ${session}.provider_id and p.tenant_id = ${tenantId} and p.is_enabled)
    else ${session}.actor_id is not null or not exists (
      select from tenants t left join user_tenants l on l.tenant_id = t.id and l.user_id = ${session}.user_id
      where t.id = ${tenantId} and not t.password_sign_in and l.may_use_password is not true) end)`;

/**
 * Checks that a caller whom a tenant's provider signed in belongs to no other tenant. Who belongs to several changes there
 * what all of them share only with a sign-in of their own.
 * @throws TENANT_SESSION_FORBIDDEN
 */
export async function requireNoOtherTenant(
  q: Sql,
  { userId, boundTo }: Pick<Caller, "userId" | "boundTo">,
): Promise<void> {
  if (boundTo === null) return;
  const others = await q`select from user_tenants
    where user_id = ${userId} and tenant_id <> ${boundTo} and is_active limit 1`;
  if (others.length > 0) throw beyondTenant();
}

export const beyondTenant = () =>
  problem(
    "TENANT_SESSION_FORBIDDEN",
    "A provider of the tenant signed the caller in, so the session reaches nothing beyond this tenant.",
  );
