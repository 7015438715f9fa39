import { mailForms } from "../../../infra/mail/mail_address.ts";
import type { Sql, Tx } from "../../../infra/postgres/postgres.ts";
import { formerAddresses } from "../../audit/personal_data.ts";
import { problem } from "../../problems/problem.ts";
import { type Caller, holds } from "../../rights/caller.ts";
import type { DataSubject } from "../../shared/personal_data.ts";
import { userAccessChanged } from "../access_changes.ts";
import { keepSystemAdmin } from "../roles/last_admins.ts";
import { lockLinks, lockLinkTargets } from "./link_targets.ts";
import {
  readLinkNumbers,
  requireNotSelf,
  requireTheirReach,
  type User,
  userNotFound,
  type UserPlatform,
} from "./user_details.ts";
import { emitUserDeleted } from "./user_events.ts";

/** A user to erase, also a deleted one. */
type ErasableUser = Pick<User, "id" | "email" | "phoneNumber" | "deletedAt"> & { erasedAt: Date | null };

/**
 * The email of an erased user: none that can be used, and not the former one. A name of its own for each user, because
 * emails are unique.
 */
const erasedEmail = (userId: string): string => `erased-${userId}@erased.invalid`;

/**
 * Removes a user's profile, password and sessions at once, and frees the email. The row stays with its id, for the audit
 * log. The rest of the user's data is erased afterwards, by the addresses in the result.
 * @param caller with a tenant: erases only users without links to other tenants, unless it has manage:all-users
 * @returns null if the user is erased already
 * @throws USER_NOT_FOUND, CROSS_TENANT_FORBIDDEN, MISSING_PERMISSION, USER_SELF_CONFLICT, LAST_SYSTEM_ADMIN_CONFLICT
 */
export async function anonymizeUser(
  p: UserPlatform,
  tx: Tx,
  caller: Caller,
  userId: string,
  within: string | null,
): Promise<DataSubject | null> {
  await lockLinkTargets(tx, [], await lockLinks(tx, userId));
  const user = await lockErasable(tx, userId);
  if (!user) throw userNotFound(userId);
  await requireReach(tx, caller, userId, within, "otherLinks");
  await requireTheirReach(tx, caller, user.id, null);
  requireNotSelf(caller, user.id, "erase");
  return await anonymize(p, tx, user, caller.userId);
}

/**
 * Anonymizes a member of an erased tenant as `anonymizeUser` does.
 * @param o.actorId the user who asked for the erasure
 * @returns null also if the user belongs to another tenant by now
 */
export async function eraseMember(
  p: UserPlatform,
  tx: Tx,
  userId: string,
  { tenantId, actorId }: { tenantId: string; actorId: string | null },
): Promise<DataSubject | null> {
  await lockLinkTargets(tx, [], await lockLinks(tx, userId));
  const user = await lockErasable(tx, userId);
  if ((await readLinkNumbers(tx, userId, tenantId)).otherLinks > 0) return null;
  return user && await anonymize(p, tx, user, actorId);
}

async function lockErasable(tx: Tx, userId: string): Promise<ErasableUser | null> {
  const [user] = await tx<ErasableUser[]>`
    select id, email, phone_number, deleted_at, erased_at from users where id = ${userId} for no key update`;
  return user ?? null;
}

async function anonymize(
  p: UserPlatform,
  tx: Tx,
  user: ErasableUser,
  actorId: string | null,
): Promise<DataSubject | null> {
  if (user.erasedAt) return null;
  const { id: userId } = user;
  const former = await formerAddressesOnlyOf(tx, userId);
  await keepSystemAdmin(tx, userId, async () => {
    await tx`update user_tenants set external_id = null where user_id = ${userId}`;
    await tx`update users set email = ${erasedEmail(userId)},
        password_hash = null, first_name = '', last_name = '',
        phone_number = null, metadata = '{}', app_ids = '{}', is_active = false, lockout_expires_at = null,
        last_login_at = null, email_verified_at = null, deleted_at = coalesce(deleted_at, now()), erased_at = now(), version = version + 1,
        updated_at = now()
      where id = ${userId}`;
    await userAccessChanged(p, tx, userId, { linkedAnd: [] });
    await tx`update sessions set revoked_at = now(), revoked_reason = 'erased'
      where user_id = ${userId} and revoked_at is null`;
    await tx`update api_keys set revoked_at = now(), revoked_by = ${actorId}, version = version + 1,
      updated_at = now() where created_by = ${userId} and revoked_at is null`;
  });
  if (!user.deletedAt) await emitUserDeleted(p, tx, { id: userId, email: erasedEmail(userId) });
  return { userId, addresses: [...new Set([...writtenAddresses(user), ...former])], tenantId: null };
}

/** Former addresses of a user that no other user has. */
async function formerAddressesOnlyOf(tx: Tx, userId: string): Promise<string[]> {
  const former = await formerAddresses(tx, userId);
  if (former.length === 0) return [];
  const free = await tx<{ address: string }[]>`
    select address from unnest(${former}::text[]) address where not exists (
        select from users where mail_key(email) = mail_key(address) and id <> ${userId})
      and not exists (select from users where phone_number = address and id <> ${userId})`;
  return free.flatMap(({ address }) => mailForms(address));
}

/**
 * Checks that the caller may export a user's data, and locks the user against an erasure.
 * @throws USER_NOT_FOUND, CROSS_TENANT_FORBIDDEN
 */
export async function requireExportable(
  tx: Tx,
  caller: Caller,
  userId: string,
  within: string | null,
): Promise<void> {
  const found = await tx`select from users where id = ${userId} and deleted_at is null for share`;
  if (found.count === 0) throw userNotFound(userId);
  await requireReach(tx, caller, userId, within, "otherActiveLinks");
}

const writtenAddresses = ({ email, phoneNumber }: Pick<ErasableUser, "email" | "phoneNumber">): string[] => [
  ...mailForms(email),
  ...phoneNumber === null ? [] : [phoneNumber],
];

/** The current addresses of a user in all forms in which messages may have them; none if the user is erased. */
export async function addressesOf(q: Sql, userId: string): Promise<string[]> {
  const [user] = await q<{ email: string; phoneNumber: string | null }[]>`
    select email, phone_number from users where id = ${userId} and erased_at is null`;
  return user ? writtenAddresses(user) : [];
}

/**
 * In a tenant, the user must belong to it, and to no other tenant unless the caller has manage:all-users.
 * @param counted the links to other tenants that count
 */
async function requireReach(
  tx: Tx,
  caller: Caller,
  id: string,
  within: string | null,
  counted: "otherLinks" | "otherActiveLinks",
): Promise<void> {
  if (within === null) return;
  const links = await readLinkNumbers(tx, id, within);
  if (!links.isLinked) throw userNotFound(id);
  if (links[counted] === 0 || holds(caller, "manage:all-users")) return;
  throw problem(
    "CROSS_TENANT_FORBIDDEN",
    `User ${id} belongs to other tenants too; this needs manage:all-users or admin:system.`,
  );
}
