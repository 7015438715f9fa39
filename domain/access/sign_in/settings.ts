import { z } from "zod";
import { type Sql, transact, type Tx } from "../../../infra/postgres/postgres.ts";
import { recordAudit } from "../../audit/audit.ts";
import { invalid, problem } from "../../problems/problem.ts";
import type { TenantCaller } from "../../rights/caller.ts";
import { requireStepUpOfFactorHolder } from "../../rights/checks.ts";
import { permissionCodes } from "../../rights/held_permissions.ts";
import type { RightsPlatform } from "../../rights/platform.ts";
import { uuid } from "../../shared/shapes.ts";
import { contentTag, requireTag } from "../../shared/version.ts";
import { type ChangingAccess, tellClients } from "../access_changes.ts";

const MAX_BREAK_GLASS = 20;

export const SignInSettings = z.object({
  passwordSignIn: z.boolean().describe(
    "False: only the tenant's own providers sign in to it. API keys and service accounts stay as they are",
  ),
  breakGlassUserIds: z.array(z.guid()).describe(
    "Users who may sign in otherwise too, for the day on which no provider works",
  ),
}).meta({ id: "SignInSettingsDto" });
export type SignInSettings = z.output<typeof SignInSettings>;

export const SignInSettingsChange = z.object({
  passwordSignIn: z.boolean(),
  breakGlassUserIds: z.array(uuid).max(MAX_BREAK_GLASS).transform((ids) => [...new Set(ids)].toSorted()),
}).meta({ id: "UpdateSignInSettingsRequest" });

/** Reads how users sign in to a tenant. */
export async function readSignInSettings(q: Sql, tenantId: string): Promise<SignInSettings> {
  const [settings] = await q<SignInSettings[]>`
    select password_sign_in, array(select user_id from user_tenants
        where tenant_id = t.id and may_use_password order by user_id::text) as break_glass_user_ids
    from tenants t where id = ${tenantId}`;
  if (!settings) throw new Error(`the tenant ${tenantId} of the caller is missing`);
  return settings;
}

/**
 * Replaces the settings of the caller's tenant. It is effective for the next request of every session.
 * @throws VALIDATION_ERROR (a user who is not active in the tenant), PASSWORD_SIGN_IN_NEEDED_CONFLICT, PRECONDITION_FAILED,
 * STEP_UP_REQUIRED_FORBIDDEN
 */
export async function updateSignInSettings(
  p: Pick<RightsPlatform, "sql"> & ChangingAccess,
  caller: TenantCaller,
  after: SignInSettings,
  ifMatch: string | null,
): Promise<SignInSettings> {
  requireStepUpOfFactorHolder(caller);
  const { tenantId } = caller;
  const { passwordSignIn, breakGlassUserIds } = after;
  return await transact(p.sql, async (tx) => {
    await tx`select from tenants where id = ${tenantId} for no key update`;
    const before = await readSignInSettings(tx, tenantId);
    requireTag(ifMatch, contentTag(before));
    if (contentTag(after) === contentTag(before)) return before;
    await requireUsersOf(tx, tenantId, breakGlassUserIds);
    await tx`update user_tenants set may_use_password = user_id = any(${breakGlassUserIds}::uuid[])
      where tenant_id = ${tenantId} and may_use_password <> (user_id = any(${breakGlassUserIds}::uuid[]))`;
    await tx`update tenants set password_sign_in = ${passwordSignIn} where id = ${tenantId}`;
    if (!passwordSignIn) {
      await requireUsedProvider(tx, tenantId);
      await requireBreakGlass(tx, tenantId);
      await tellClients(p, tx, await othersSignedIn(tx, tenantId));
    }
    p.rights.invalidateAfterCommit(tx, "everyone");
    await recordAudit(tx, caller, "tenant.set-sign-in", tenantId, { before, after });
    return after;
  });
}

async function requireUsersOf(tx: Tx, tenantId: string, userIds: string[]): Promise<void> {
  const found = await tx<{ id: string }[]>`
    select u.id from user_tenants l join users u on u.id = l.user_id and u.is_active and u.deleted_at is null
    where l.tenant_id = ${tenantId} and l.is_active and u.id = any(${userIds}::uuid[])`;
  const unknown = userIds.filter((id) => !found.some((user) => user.id === id));
  if (unknown.length === 0) return;
  throw invalid({ breakGlassUserIds: unknown.map((id) => `${id} is not an active user of this tenant`) });
}

async function requireUsedProvider(tx: Tx, tenantId: string): Promise<void> {
  const used = await tx`select from sign_in_providers
    where tenant_id = ${tenantId} and is_enabled and last_sign_in_at is not null limit 1`;
  if (used.length > 0) return;
  throw problem(
    "PASSWORD_SIGN_IN_NEEDED_CONFLICT",
    "No enabled provider of the tenant has signed a user in yet.",
  );
}

/**
 * Checks that a tenant without sign-in by password keeps a user who can sign in and repair a provider that does not work.
 * @throws PASSWORD_SIGN_IN_NEEDED_CONFLICT
 */
async function requireBreakGlass(tx: Tx, tenantId: string): Promise<void> {
  const missing = await tx`
    select from tenants t where t.id = ${tenantId} and not t.password_sign_in and not exists (
      select from user_tenants l join users u on u.id = l.user_id
      where l.tenant_id = t.id and l.may_use_password and l.is_active and u.is_active and u.deleted_at is null
        and u.password_hash is not null
        and array['manage:sign-in', 'admin:system'] && array(${permissionCodes(tx, tx`u.id`, tenantId)}))`;
  if (missing.length === 0) return;
  throw problem(
    "PASSWORD_SIGN_IN_NEEDED_CONFLICT",
    "None of the break-glass users is active, has a password and holds manage:sign-in in the tenant.",
  );
}

/** Users who signed in by no provider of the tenant, and whose client must be notified when their sign-in ends. */
async function othersSignedIn(tx: Tx, tenantId: string): Promise<string[]> {
  const users = await tx<{ userId: string }[]>`
    select user_id from user_tenants l where tenant_id = ${tenantId} and is_active and not may_use_password
      and exists (select from sessions s where s.user_id = l.user_id and s.tells_client and s.revoked_at is null
        and s.provider_id is null)`;
  return users.map(({ userId }) => userId);
}
