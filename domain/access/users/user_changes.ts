import { z } from "zod";
import { isDeepStrictEqual } from "node:util";
import { transact, type Tx } from "../../../infra/postgres/postgres.ts";
import { recordAudit } from "../../audit/audit.ts";
import type { TenantCaller } from "../../rights/caller.ts";
import { givenPhoneNumber, orNull, orReset, orUndefined } from "../../shared/shapes.ts";
import { requireVersion, type Versioned } from "../../shared/version.ts";
import { userAccessChanged } from "../access_changes.ts";
import { type Acting, requireMayAssignRoles } from "../roles/escalation.ts";
import { keepSystemAdmin } from "../roles/last_admins.ts";
import {
  type Assignment,
  assignments,
  externalId,
  lockLinks,
  lockLinkTargets,
  requireTargets,
} from "./link_targets.ts";
import { changeHeldRoles, readHeldRoles, replaceLinks, setExternalId } from "./links.ts";
import { givenMetadata } from "./metadata.ts";
import {
  type AdminUser,
  appIds,
  type LockedUser,
  lockExistingUser,
  lockTenantUser,
  readAdminUser,
  readTenantUser,
  readUserRoles,
  requireNotSelf,
  requireReach,
  requireTheirReach,
  type User,
  userName,
  type UserPlatform,
} from "./user_details.ts";
import { emitLinksChanged, emitUserDeleted, emitUserUpdated } from "./user_events.ts";
import { changedPhoneNumber } from "../../shared/phone_number.ts";
import type { Role } from "../roles/roles.ts";

/** Omitted fields keep their values; null clears a name, the phone number, the applications or the metadata. */
const changes = {
  firstName: orReset(userName, ""),
  lastName: orReset(userName, ""),
  phoneNumber: givenPhoneNumber,
  appIds: orReset(appIds, []),
  isActive: orUndefined(z.boolean()),
  metadata: orReset(givenMetadata, {}),
};
/** A change within one tenant. */
export const TenantUserChange = z.object({ ...changes, externalId }).meta({ id: "UpdateUserDto" });
type TenantUserChange = Partial<z.output<typeof TenantUserChange>>;

/** A change of a user and all links. */
export const AdminUserChange = z.object({
  ...changes,
  tenants: orNull(assignments).describe(
    "null or absent: unchanged; empty: removes all links; otherwise replaces them",
  ),
}).meta({ id: "AdminUpdateUserDto" });
type AdminUserChange =
  & Partial<z.output<typeof AdminUserChange>>
  & Pick<z.output<typeof AdminUserChange>, "tenants">;

/**
 * Changes a user of the caller's tenant. The external id belongs to the link, so changing only that needs no reach.
 * @throws USER_NOT_FOUND, CROSS_TENANT_FORBIDDEN, MISSING_PERMISSION, PRECONDITION_FAILED, USER_SELF_CONFLICT,
 * LAST_SYSTEM_ADMIN_CONFLICT, USER_EXTERNAL_ID_CONFLICT
 */
export async function updateTenantUser(
  p: UserPlatform,
  caller: TenantCaller,
  userId: string,
  change: TenantUserChange,
  ifMatch: string | null,
): Promise<Versioned<User>> {
  return await transact(p.sql, async (tx) => {
    const user = await lockTenantUser(tx, userId, caller.tenantId);
    if (!changesOnlyLink(change)) await requireReach(tx, caller, user);
    requireVersion(ifMatch, user.version);
    if (change.isActive === false) requireNotSelf(caller, userId, "deactivate");
    await keepSystemAdmin(tx, userId, () => writeUser(p, tx, caller, user, change));
    return await readTenantUser(tx, userId, caller.tenantId);
  });
}

/**
 * Activates or deactivates a user of the caller's tenant. Does nothing if the user already is in that state.
 * @throws USER_NOT_FOUND, USER_SELF_CONFLICT, CROSS_TENANT_FORBIDDEN, MISSING_PERMISSION, LAST_SYSTEM_ADMIN_CONFLICT
 */
export async function setTenantUserActive(
  p: UserPlatform,
  caller: TenantCaller,
  userId: string,
  isActive: boolean,
): Promise<void> {
  await transact(p.sql, async (tx) => {
    const user = await lockTenantUser(tx, userId, caller.tenantId);
    if (!isActive) requireNotSelf(caller, userId, "deactivate");
    await requireReach(tx, caller, user);
    await keepSystemAdmin(tx, userId, () => writeUser(p, tx, caller, user, { isActive }));
  });
}

/**
 * Changes a user. If `tenants` is not null, it replaces all links and their roles.
 * @throws USER_NOT_FOUND, MISSING_PERMISSION, PRECONDITION_FAILED, TENANT_NOT_FOUND, ROLE_NOT_FOUND,
 * ROLE_ASSIGNMENT_ESCALATION_BLOCKED, TENANT_CAPACITY_REACHED, USER_SELF_CONFLICT, LAST_SYSTEM_ADMIN_CONFLICT,
 * USER_EXTERNAL_ID_CONFLICT
 */
export async function updateUser(
  p: UserPlatform,
  acting: Acting,
  userId: string,
  change: AdminUserChange,
  ifMatch: string | null,
): Promise<Versioned<AdminUser>> {
  const { tenants, ...fields } = change;
  return await transact(p.sql, async (tx) => {
    const linked = tenants === null ? [] : await lockLinks(tx, userId);
    const targets = await lockLinkTargets(tx, tenants ?? [], linked);
    const user = await lockExistingUser(tx, userId);
    await requireTheirReach(tx, acting, userId, null);
    requireVersion(ifMatch, user.version);
    if (fields.isActive === false) requireNotSelf(acting, userId, "deactivate");
    await keepSystemAdmin(tx, userId, async () => {
      const links = tenants === null ? null : await replaceLinks(tx, acting, userId, tenants, targets);
      const matrix = links?.changed && tenants ? { ...links, after: tenants } : null;
      await writeUser(p, tx, acting && { ...acting, tenantId: null }, user, fields, matrix);
    });
    return await readAdminUser(tx, userId);
  });
}

const changesOnlyLink = ({ externalId, ...ofUser }: TenantUserChange): boolean =>
  externalId !== undefined && Object.values(ofUser).every((value) => value === undefined);

const FIELDS = [...Object.keys(changes) as (keyof typeof changes)[], "externalId"] as const;

/** Writes the changed fields. Invalidates the user's tokens if `isActive` or what links grant changed. */
async function writeUser(
  p: UserPlatform,
  tx: Tx,
  acting: Acting,
  user: LockedUser & Pick<TenantUserChange, "externalId">,
  given: TenantUserChange,
  links: { before: Assignment[]; after: Assignment[]; rightsChanged: boolean } | null = null,
): Promise<void> {
  const change = { ...given, phoneNumber: changedPhoneNumber(given.phoneNumber, user.phoneNumber) };
  const differing = FIELDS.filter((name) =>
    change[name] !== undefined && !isDeepStrictEqual(change[name], user[name])
  );
  if (differing.length === 0 && !links) return;
  const next = { ...user, ...Object.fromEntries(differing.map((name) => [name, change[name]])) };
  await tx`update users set first_name = ${next.firstName}, last_name = ${next.lastName},
      phone_number = ${next.phoneNumber}, app_ids = ${next.appIds}::text[], is_active = ${next.isActive},
      metadata = ${JSON.stringify(next.metadata)}::text::jsonb,
      version = version + 1, updated_at = now() where id = ${user.id}`;
  if (differing.includes("externalId") && acting?.tenantId) {
    await setExternalId(tx, user.id, acting.tenantId, next.externalId ?? null);
  }
  if (links?.rightsChanged || differing.includes("isActive")) {
    const formerly = links?.before.map(({ tenantId }) => tenantId) ?? [];
    await userAccessChanged(p, tx, user.id, { linkedAnd: formerly });
  }
  const picked = (of: TenantUserChange) => Object.fromEntries(differing.map((name) => [name, of[name]]));
  await recordAudit(tx, acting, "user.update", user.id, {
    before: { ...picked(user), ...(links ? { tenants: links.before } : {}) },
    after: { ...picked(next), ...(links ? { tenants: links.after } : {}) },
  });
  if (links) await emitLinksChanged(p, tx, user.id, links);
  if (differing.length > 0) await emitUserUpdated(p, tx, next, differing);
}

/**
 * Replaces a user's roles in the caller's tenant with `roleIds`; other tenants stay unchanged. Roles the user already
 * holds need no permissions of the caller. A change invalidates the user's tokens.
 * @throws USER_NOT_FOUND, PRECONDITION_FAILED, ROLE_NOT_FOUND, ROLE_ASSIGNMENT_ESCALATION_BLOCKED, MISSING_PERMISSION,
 * LAST_SYSTEM_ADMIN_CONFLICT
 */
export async function setTenantUserRoles(
  p: UserPlatform,
  caller: TenantCaller,
  userId: string,
  roleIds: string[],
  ifMatch: string | null,
): Promise<Role[]> {
  const { tenantId } = caller;
  return await transact(p.sql, async (tx) => {
    await lockLinks(tx, userId);
    const link = { tenantId, roleIds };
    const targets = await lockLinkTargets(tx, [link]);
    const user = await lockTenantUser(tx, userId, tenantId);
    requireVersion(ifMatch, user.version);
    requireTargets(targets, [link]);
    const held = await readHeldRoles(tx, userId, tenantId);
    const given = roleIds.filter((id) => !held.includes(id));
    const taken = held.filter((id) => !roleIds.includes(id));
    await requireMayAssignRoles(tx, caller, given);
    if (given.length + taken.length > 0) {
      await requireTheirReach(tx, caller, userId, tenantId);
      const change = { userId, tenantId, held, given, taken };
      await keepSystemAdmin(tx, userId, () => changeHeldRoles(p, tx, caller, change));
    }
    return await readUserRoles(tx, userId, tenantId);
  });
}

/**
 * Removes a user from the caller's tenant. If this is the user's only link, soft-deletes the user instead. The link's
 * row then stays, so that the tenant can still list the user among deleted ones.
 * @throws USER_NOT_FOUND, MISSING_PERMISSION, PRECONDITION_FAILED, USER_SELF_CONFLICT, LAST_SYSTEM_ADMIN_CONFLICT
 */
export async function removeTenantUser(
  p: UserPlatform,
  caller: TenantCaller,
  userId: string,
  ifMatch: string | null,
): Promise<void> {
  const { tenantId } = caller;
  await transact(p.sql, async (tx) => {
    await lockLinkTargets(tx, [], await lockLinks(tx, userId));
    const user = await lockTenantUser(tx, userId, tenantId);
    await requireTheirReach(tx, caller, userId, tenantId);
    requireVersion(ifMatch, user.version);
    requireNotSelf(caller, userId, "delete");
    await keepSystemAdmin(tx, userId, async () => {
      if (user.otherLinks === 0) await markDeleted(p, tx, caller, user);
      else await unlink(p, tx, caller, userId);
    });
  });
}

/**
 * Soft-deletes a user of any tenants. The email stays taken.
 * @throws USER_NOT_FOUND, MISSING_PERMISSION, PRECONDITION_FAILED, USER_SELF_CONFLICT, LAST_SYSTEM_ADMIN_CONFLICT
 */
export async function deleteUser(
  p: UserPlatform,
  acting: Acting,
  userId: string,
  ifMatch: string | null,
): Promise<void> {
  await transact(p.sql, async (tx) => {
    await lockLinkTargets(tx, [], await lockLinks(tx, userId));
    const user = await lockExistingUser(tx, userId);
    await requireTheirReach(tx, acting, userId, null);
    requireVersion(ifMatch, user.version);
    requireNotSelf(acting, userId, "delete");
    const actor = acting && { ...acting, tenantId: null };
    await keepSystemAdmin(tx, userId, () => markDeleted(p, tx, actor, user));
  });
}

async function unlink(p: UserPlatform, tx: Tx, caller: TenantCaller, userId: string): Promise<void> {
  const { tenantId } = caller;
  await tx`delete from user_tenants where user_id = ${userId} and tenant_id = ${tenantId}`;
  await tx`update users set version = version + 1, updated_at = now() where id = ${userId}`;
  await userAccessChanged(p, tx, userId, [tenantId]);
  await recordAudit(tx, caller, "user.unlink", userId, { before: { tenantId } });
  await emitLinksChanged(p, tx, userId, { before: [{ tenantId }], after: [] });
}

async function markDeleted(p: UserPlatform, tx: Tx, acting: Acting, user: LockedUser): Promise<void> {
  await tx`update users set deleted_at = now(), deleted_in_tenant_id = ${acting?.tenantId ?? null},
    version = version + 1, updated_at = now() where id = ${user.id}`;
  await userAccessChanged(p, tx, user.id, { linkedAnd: [] });
  await recordAudit(tx, acting, "user.delete", user.id, { before: { email: user.email } });
  await emitUserDeleted(p, tx, user);
}
