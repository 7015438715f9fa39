import { z } from "zod";
import { mailKey } from "../../../infra/mail/mail_address.ts";
import { hashPassword, verifyPassword } from "../../../infra/passwords.ts";
import { type Sql, transact, type Tx } from "../../../infra/postgres/postgres.ts";
import { recordAudit } from "../../audit/audit.ts";
import { enqueueJob } from "../../jobs/enqueue.ts";
import { defineJob, type JobContext } from "../../jobs/job_type.ts";
import { sendServiceMail } from "../../notifications/sending/send.ts";
import { invalid, type Problem, problem } from "../../problems/problem.ts";
import { userHasFactor } from "../../rights/second_factor.ts";
import { fullName } from "../../rights/user_lookup.ts";
import { digest } from "../../shared/secrets.ts";
import { readPasswordOwner, requireGoodPassword } from "../passwords/password_rules.ts";
import type { AccessPlatform, Trace } from "../platform.ts";
import { addressKey } from "../sign_in/address.ts";
import {
  clearFailedSignIns,
  countFailedSignIn,
  deviceLockEnd,
  requireUnlocked,
} from "../sign_in/failed_sign_ins.ts";
import { forgetDevices, knownDevice } from "../sign_in/known_devices.ts";
import { defaultTenantOf, endSessions } from "../sign_in/sessions.ts";
import { linkMail, mailOwner } from "./owner_mail.ts";
import { markEmailVerified, proveOwner } from "./proved_owner.ts";
import type { Caller } from "../../rights/caller.ts";
import { lockChangeableUser } from "../users/user_details.ts";
import type { Platform } from "../../shared/platform.ts";

const LIFE_MINUTES = 30;
/** Maximum number of unexpired links of one user by one requester. It limits the mail that repeated requests cause. */
const MAX_LIVE_LINKS = 5;
/** Maximum number of unexpired links of one user by all network addresses together. */
const MAX_LIVE_LINKS_BY_STRANGERS = 20;
/** The requester of links that administrators request. They have no limit, because each request is audited. */
const ADMINISTRATOR = "administrator";
const ADDRESS = "address:";

/**
 * Requests a mail with a reset link to the active user with this email. Only enqueues a job, so that neither the answer
 * nor its time reveals whether such a user exists.
 * @param o.deviceToken token of the device's last sign-in. A known device has its own limit, which strangers cannot use up
 */
export async function requestPasswordReset(
  p: AccessPlatform,
  o: { email: string; ip: string | null; deviceToken: string | null },
): Promise<void> {
  const [device] = o.deviceToken === null ? [] : await p.sql<{ id: string }[]>`
    select d.id from (select ${o.email}::text as email) asked
    left join users u on mail_key(u.email) = mail_key(asked.email)
    join lateral (${knownDevice(p.sql, p.sql`u.id`, o.deviceToken)}) d on true`;
  // Hashed with the email, so that jobs and rows do not reveal the network address.
  const address = digest(`${addressKey(o.ip)} ${mailKey(o.email)}`).toString("hex").slice(0, 32);
  const requester = device ? `device:${device.id}` : `${ADDRESS}${address}`;
  await transact(p.sql, (tx) => enqueueJob(p, tx, passwordResetMailJob, { email: o.email, requester }));
}

/** Mails a link to the active user with an email. The link works once, within 30 minutes. */
export const passwordResetMailJob = defineJob({
  name: "steward.password-reset-mail",
  args: z.object({ email: z.string(), requester: z.string().default(`${ADDRESS}unknown`) }),
  run: (asked, { platform }: JobContext<AccessPlatform>) => mailResetLink(platform, asked),
});

async function mailResetLink(
  p: AccessPlatform,
  { email, requester }: { email: string; requester: string },
): Promise<void> {
  const [user] = await p.sql<{ id: string; email: string; firstName: string; lastName: string }[]>`
    select id, email, first_name, last_name from users
    where mail_key(email) = mail_key(${email}) and is_active and deleted_at is null`;
  if (!user) return;
  const { token, mail } = await linkMail(p, {
    to: { address: user.email, displayName: fullName(user), userId: user.id },
    tenantId: await defaultTenantOf(p.sql, user.id),
    templateSlug: "password-reset",
    link: { name: "resetUrl", page: "/auth/reset-password", configured: p.config.RESET_URL },
    data: { firstName: user.firstName || null, expiresInMinutes: LIFE_MINUTES },
    fallback: {
      subject: "Reset your password",
      before:
        `Someone, probably you, asked for a new password for your account. Choose one with the link below; the link works once and for ${LIFE_MINUTES} minutes.`,
      action: "Choose a new password",
      after: "If you did not ask for this, ignore this message: your password stays as it is.",
    },
  });
  await transact(p.sql, async (tx) => {
    const isActive = await tx`select from users where id = ${user.id} and mail_key(email) = mail_key(${email})
      and is_active and deleted_at is null for no key update`;
    if (isActive.count === 0) return;
    if (!await mayHaveLink(tx, user.id, requester)) return;
    await tx`insert into password_resets (token_hash, user_id, requester, expires_at)
      values (${digest(token)}, ${user.id}, ${requester}, now() + make_interval(mins => ${LIFE_MINUTES}))`;
    await sendServiceMail(p, tx, mail);
  });
}

/** True if the requester may have one more link of the user, whose row is locked. */
async function mayHaveLink(tx: Tx, userId: string, requester: string): Promise<boolean> {
  if (requester === ADMINISTRATOR) return true;
  const [live = { own: 0, byStrangers: 0 }] = await tx<{ own: number; byStrangers: number }[]>`
    select count(*) filter (where requester = ${requester})::int as own,
      count(*) filter (where starts_with(requester, ${ADDRESS}))::int as by_strangers
    from password_resets where user_id = ${userId} and expires_at > now()`;
  if (live.own >= MAX_LIVE_LINKS) return false;
  return !requester.startsWith(ADDRESS) || live.byStrangers < MAX_LIVE_LINKS_BY_STRANGERS;
}

/**
 * The tenant that the user of a reset token signs in to; null: none.
 * @throws RESET_TOKEN_INVALID
 */
export async function readResetTenant(q: Sql, token: string): Promise<string | null> {
  const [owner] = await q<{ userId: string }[]>`
    select r.user_id from password_resets r join users u on u.id = r.user_id and u.is_active and u.deleted_at is null
    where r.token_hash = ${digest(token)} and r.expires_at > now()`;
  if (!owner) throw badToken();
  return await defaultTenantOf(q, owner.userId);
}

/**
 * Sets a user's password by a reset token. Deletes all reset tokens of the user, ends all of the user's sessions and
 * ends a lockout, because a client with the token does not need to guess the password.
 * @throws RESET_TOKEN_INVALID (unknown, used or expired), VALIDATION_ERROR (the password)
 */
export async function resetPassword(
  p: AccessPlatform,
  o: Trace & { token: string; newPassword: string },
): Promise<void> {
  const tokenHash = digest(o.token);
  const [owner] = await p.sql<{ userId: string }[]>`
    select user_id from password_resets where token_hash = ${tokenHash} and expires_at > now()`;
  if (!owner) throw badToken(); // before hashing, which is too expensive for a request without a valid token
  await requireGoodPassword(p, o.newPassword, await readPasswordOwner(p.sql, owner.userId), "newPassword");
  const newHash = await hashPassword(o.newPassword);
  await transact(p.sql, async (tx) => {
    const [used] = await tx<{ userId: string }[]>`
      delete from password_resets where token_hash = ${tokenHash} and expires_at > now() returning user_id`;
    if (!used) throw badToken();
    const { userId } = used;
    const changed = await tx`update users set password_hash = ${newHash}, lockout_expires_at = null
      where id = ${userId} and is_active and deleted_at is null`;
    if (changed.count === 0) throw badToken();
    await tx`delete from password_resets where user_id = ${userId}`;
    // Access to the mailbox alone must not bypass a second factor. So the factors stay and the owner counts as unproved.
    if (await userHasFactor(tx, userId)) await markEmailVerified(tx, userId);
    else await proveOwner(p, tx, { userId, keepsPassword: true, traceId: o.traceId, ip: o.ip });
    await clearFailedSignIns(tx, userId);
    await forgetDevices(tx, userId);
    await endSessions(p, tx, { userId, reason: "password reset" });
    await mailOwner(p, tx, { userId, kind: "password-reset" });
    const actor = { userId, tenantId: null, traceId: o.traceId, ip: o.ip };
    await recordAudit(tx, actor, "user.reset-password", userId);
  });
}

const badToken = (): Problem =>
  problem(
    "RESET_TOKEN_INVALID",
    `The password was not reset: the token is unknown, was already used, or is older than ${LIFE_MINUTES} minutes.`,
  );

/**
 * Mails a reset link to a user whom the caller may change. The caller never sees the link. The password stays until the
 * owner uses the link.
 * @param within the tenant of the user; null: any user
 * @throws USER_NOT_FOUND, CROSS_TENANT_FORBIDDEN, MISSING_PERMISSION, USER_INACTIVE_CONFLICT
 */
export async function sendUserResetLink(
  p: AccessPlatform,
  caller: Caller,
  userId: string,
  within: string | null,
): Promise<void> {
  await transact(p.sql, async (tx) => {
    const user = await lockChangeableUser(tx, caller, userId, within);
    if (!user.isActive) {
      throw problem("USER_INACTIVE_CONFLICT", `No reset link was sent: user ${userId} is not active.`);
    }
    await enqueueJob(p, tx, passwordResetMailJob, { email: user.email, requester: ADMINISTRATOR });
    await recordAudit(tx, { ...caller, tenantId: within }, "user.send-password-reset", userId);
  });
}

/**
 * Checks the caller's own password before a change to the account. Wrong ones count for the session, as for a known
 * device: a thief of an access token can neither guess the password nor lock the account, and a lock that strangers caused
 * does not stop its owner. The change must lock the user, compare the hash again and call `requireSessionUnlocked`.
 * @param field name of the password in the errors.
 * @throws VALIDATION_ERROR (also for a wrong password), ACCOUNT_LOCKED_UNAUTHORIZED
 */
export async function requireOwnPassword(
  p: Pick<Platform, "sql">,
  { userId, sessionId }: Pick<Caller, "userId" | "sessionId">,
  password: string,
  field = "password",
): Promise<{ email: string; passwordHash: string }> {
  const [account] = await p.sql<{ email: string; passwordHash: string | null }[]>`
    select email, password_hash from users where id = ${userId}`;
  if (!account) throw problem("SESSION_INVALIDATED", "The user no longer exists.");
  await requireSessionUnlocked(p.sql, sessionId);
  const { email, passwordHash } = account;
  if (passwordHash === null) {
    throw invalid({
      [field]: ["the account has no password; request a link with forgot-password to set one"],
    });
  }
  if (await verifyPassword(passwordHash, password)) return { email, passwordHash };
  const tried = { id: userId, email, deviceId: sessionId };
  if (!await countFailedSignIn(p, { address: null, tried })) await requireSessionUnlocked(p.sql, sessionId);
  throw wrongOwnPassword(field);
}

/** Checks that a session did not send five wrong passwords. @throws ACCOUNT_LOCKED_UNAUTHORIZED */
export async function requireSessionUnlocked(q: Sql, sessionId: string): Promise<void> {
  const [lock] = await q<{ lockedForSeconds: number | null }[]>`
    select ceil(extract(epoch from (${deviceLockEnd(q, q`${sessionId}::text`)}) - now()))::int
      as locked_for_seconds`;
  if (lock) requireUnlocked(lock);
}

export const wrongOwnPassword = (field = "password") =>
  invalid({ [field]: ["this is not the caller's current password"] });

/**
 * Changes the caller's password, ends their other sessions and a lockout, and makes their devices unknown.
 * @throws VALIDATION_ERROR (also for a wrong current password), ACCOUNT_LOCKED_UNAUTHORIZED
 */
export async function changePassword(
  p: AccessPlatform,
  caller: Caller,
  o: { currentPassword: string; newPassword: string },
): Promise<void> {
  const { userId } = caller;
  await requireGoodPassword(p, o.newPassword, await readPasswordOwner(p.sql, userId), "newPassword");
  const { passwordHash } = await requireOwnPassword(p, caller, o.currentPassword, "currentPassword");
  const newHash = await hashPassword(o.newPassword);
  await transact(p.sql, async (tx) => {
    const changed = await tx`update users set password_hash = ${newHash}, lockout_expires_at = null
      where id = ${userId} and password_hash = ${passwordHash}`;
    if (changed.count === 0) throw wrongOwnPassword("currentPassword"); // a concurrent request changed it
    await requireSessionUnlocked(tx, caller.sessionId);
    await tx`delete from password_resets where user_id = ${userId}`;
    await clearFailedSignIns(tx, userId);
    await forgetDevices(tx, userId);
    await endSessions(p, tx, { userId, exceptSessionId: caller.sessionId, reason: "password changed" });
    await mailOwner(p, tx, { userId, kind: "password-changed" });
    await recordAudit(tx, caller, "user.change-password", userId);
  });
}
