import { z } from "zod";
import { announceChange } from "../../infra/postgres/changes.ts";
import { afterCommit, transact, type Tx } from "../../infra/postgres/postgres.ts";
import { emitEvents, type NewEvent } from "../events/emit.ts";
import { wakeFor, writeJobs } from "../jobs/enqueue.ts";
import { defineJob, type JobContext } from "../jobs/job_type.ts";
import type { RightsPlatform } from "../rights/platform.ts";
import { securityVersionOf } from "../rights/security_version.ts";
import { passOver } from "../shared/batches.ts";
import { invalidateCounts } from "../shared/count_cache.ts";
import type { Platform } from "../shared/platform.ts";
import type { AccessPlatform } from "./platform.ts";

/** The platform members that a change of access uses. CLI scripts have no `wakeUps`; workers find their events by polling. */
export type ChangingAccess = Pick<RightsPlatform, "rights"> & Partial<Pick<Platform, "wakeUps">>;

/** Users whose events are written in the transaction of the change. For more users, a job writes them. */
const MAX_DIRECT_EVENTS = 100;

/** Names and retries of the job types that announce changes. */
const ANNOUNCE_JOB = { name: "access.announce-changes", maxRetries: 10 } as const;
export const ANNOUNCE_ROLES_JOB = { name: "access.announce-catalog-roles", maxRetries: 10 } as const;
/** The job of the OpenID provider that tells clients of ended sign-ins. */
export const SIGN_OUT_JOB = { name: "steward.sign-out-clients", maxRetries: 8 } as const;
const BATCH = 500;

/** The event that a user's rights in a tenant have changed. @param version the user's security version */
export const accessChangedEvent = (
  { userId, version }: { userId: string; version: number },
  tenantId: string,
): NewEvent => ({ type: "user.access-changed", tenantId, data: { userId, version } });

interface ChangedUser {
  userId: string;
  version: number;
}

/**
 * Invalidates the user's tokens and the cached totals when `tx` commits, and emits `user.access-changed`.
 * @param where the tenants in which the user's rights changed; `linkedAnd`: these and all with an active link
 */
export async function userAccessChanged(
  p: ChangingAccess,
  tx: Tx,
  userId: string,
  where: string[] | { linkedAnd: string[] },
): Promise<void> {
  const isList = Array.isArray(where);
  const tenantIds = isList ? where : where.linkedAnd;
  await usersAccessChanged(p, tx, [{ userId, tenantIds, everywhere: !isList }]);
  invalidateCounts(tx);
}

/**
 * Invalidates and announces as `userAccessChanged` does, for many users with few statements.
 * @param changes `everywhere`: the rights changed in all tenants with an active link, besides `tenantIds`
 */
export async function usersAccessChanged(
  p: ChangingAccess,
  tx: Tx,
  changes: { userId: string; tenantIds: string[]; everywhere: boolean }[],
): Promise<void> {
  if (changes.length === 0) return;
  const ids = changes.map(({ userId }) => userId);
  const changed = await tx<(ChangedUser & { linked: string[] })[]>`
    update users u set security_version = security_version + 1 where id = any(${ids}::uuid[])
    returning u.id as user_id, ${securityVersionOf(tx)} as version,
      array(select tenant_id from user_tenants l where l.user_id = u.id and l.is_active) as linked`;
  p.rights.invalidateAfterCommit(tx, ids);
  const byId = new Map(changed.map((user) => [user.userId, user]));
  const events = changes.flatMap(({ userId, tenantIds, everywhere }) => {
    const user = byId.get(userId);
    const where = new Set([...everywhere ? user?.linked ?? [] : [], ...tenantIds]);
    return user ? [...where].map((tenantId) => accessChangedEvent(user, tenantId)) : [];
  });
  await emitEvents(p, tx, events);
  await tellClients(p, tx, ids);
}

/**
 * Has the OpenID provider's clients told that sign-ins of these users may have ended. Call it before the sessions are ended.
 */
export async function tellClients(
  p: Partial<Pick<Platform, "wakeUps">>,
  tx: Tx,
  userIds: string[],
): Promise<void> {
  const signedIn = await tx<{ userId: string }[]>`
    select distinct user_id from sessions
    where user_id = any(${userIds}::uuid[]) and revoked_at is null and tells_client`;
  if (signedIn.length > 0) await writeJob(p, tx, SIGN_OUT_JOB, { userIds: signedIn.map((s) => s.userId) });
}

/** Invalidates the tokens of all users who hold a role of the tenant, and announces their change. */
export async function roleAccessChanged(
  p: ChangingAccess,
  tx: Tx,
  tenantId: string,
  roleId: string,
): Promise<void> {
  await tx`update roles set access_version = access_version + 1 where id = ${roleId}`;
  const users = await tx<ChangedUser[]>`
    select u.id as user_id, ${securityVersionOf(tx)} as version
    from user_tenant_roles m join users u on u.id = m.user_id where m.role_id = ${roleId}
    limit ${MAX_DIRECT_EVENTS + 1}`;
  const isEveryone = users.length > MAX_DIRECT_EVENTS;
  p.rights.invalidateAfterCommit(tx, isEveryone ? "everyone" : users.map(({ userId }) => userId));
  await announceUsers(p, tx, users, { tenantId, roleId });
}

/**
 * Invalidates the tokens of all users with an active link to the tenant, and the cached rights of service accounts, and
 * announces the users' change. A deactivated link gives no permissions, so it does not matter.
 */
export async function tenantAccessChanged(p: ChangingAccess, tx: Tx, tenantId: string): Promise<void> {
  const users = await tx<ChangedUser[]>`
    update users u set security_version = security_version + 1
    where id in (select user_id from user_tenants where tenant_id = ${tenantId} and is_active)
    returning u.id as user_id, ${securityVersionOf(tx)} as version`;
  p.rights.invalidateAfterCommit(tx, users.map(({ userId }) => userId));
  announceChange(tx, { topic: "tenants", ids: [tenantId] });
  await announceUsers(p, tx, users, { tenantId, roleId: null });
}

const changedAccess = z.object({ tenantId: z.guid(), roleId: z.guid().nullable() });
/** The role whose users' rights have changed; with `roleId` null, the tenant. */
type ChangedAccess = z.output<typeof changedAccess>;

async function announceUsers(
  p: ChangingAccess,
  tx: Tx,
  users: ChangedUser[],
  changed: ChangedAccess,
): Promise<void> {
  if (users.length <= MAX_DIRECT_EVENTS) return await tellOfUsers(p, tx, users, changed.tenantId);
  await writeJob(p, tx, ANNOUNCE_JOB, changed);
}

async function tellOfUsers(p: ChangingAccess, tx: Tx, users: ChangedUser[], tenantId: string): Promise<void> {
  await emitEvents(p, tx, users.map((user) => accessChangedEvent(user, tenantId)));
  await tellClients(p, tx, users.map(({ userId }) => userId));
}

/** Announces, by a job, that the catalog roles with these names have other permissions in all tenants. */
export async function announceRoles(
  p: Pick<ChangingAccess, "wakeUps">,
  tx: Tx,
  names: string[],
): Promise<void> {
  const roleNames = [...new Set(names)];
  if (roleNames.length > 0) await writeJob(p, tx, ANNOUNCE_ROLES_JOB, { roleNames });
}

async function writeJob(
  { wakeUps }: Pick<ChangingAccess, "wakeUps">,
  tx: Tx,
  { name: jobTypeName, maxRetries }: { name: string; maxRetries: number },
  args: unknown,
): Promise<void> {
  const jobs = [{ jobTypeName, maxRetries, serializedArgs: JSON.stringify(args) }];
  await writeJobs(tx, jobs);
  if (wakeUps) afterCommit(tx, () => wakeFor({ wakeUps }, jobs));
}

/**
 * Emits `user.access-changed` for all users of a role or a tenant, in batches. Users who have left since then got their
 * own event. A repeated run repeats events, which receivers must accept anyway.
 */
export const announceAccessJob = defineJob({
  ...ANNOUNCE_JOB,
  args: changedAccess,
  timeoutMs: 600_000,
  async run({ tenantId, roleId }, { platform, db, signal }: JobContext<AccessPlatform>) {
    const announced = await passOver(BATCH, (after) => {
      signal.throwIfAborted();
      return transact(db, async (tx) => {
        const members = roleId
          ? tx`select user_id from user_tenant_roles where role_id = ${roleId}`
          : tx`select user_id from user_tenants where tenant_id = ${tenantId} and is_active`;
        const users = await tx<(ChangedUser & { id: string })[]>`
          select u.id, u.id as user_id, ${securityVersionOf(tx)} as version from users u
          where u.id in (${members}) and u.id > ${after} order by u.id limit ${BATCH}`;
        await tellOfUsers(platform, tx, users, tenantId);
        return users;
      });
    });
    return { announced };
  },
});
