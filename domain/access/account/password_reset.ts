import { z } from "zod";
import { hashPassword } from "../../../infra/passwords.ts";
import { transact } from "../../../infra/postgres/postgres.ts";
import { recordAudit } from "../../audit/audit.ts";
import { enqueueJob } from "../../jobs/enqueue.ts";
import { defineJob, type JobContext } from "../../jobs/job_type.ts";
import { sendServiceMail } from "../../notifications/send.ts";
import { type Problem, problem } from "../../problems/problem.ts";
import { digest, newSecret } from "../../shared/secrets.ts";
import type { AccessPlatform } from "../platform.ts";
import { clearFailedSignIns } from "../sign_in/failed_sign_ins.ts";
import { forgetDevices } from "../sign_in/known_devices.ts";
import { endSessions } from "../sign_in/sessions.ts";
import { readPasswordOwner, requireGoodPassword } from "../passwords/password_rules.ts";
import { mailOwner } from "./owner_mail.ts";
import { passwordResetMail } from "./password_reset_mail.ts";

const LIFE_MINUTES = 30;
/** Maximum number of unexpired links of one user. It limits the mail that repeated requests for one email cause. */
const MAX_LIVE_LINKS = 5;

/**
 * Requests a mail with a reset link to the active user with this email. Only enqueues a job, so that neither the answer
 * nor its time reveals whether such a user exists.
 */
export async function requestPasswordReset(p: AccessPlatform, email: string): Promise<void> {
  await transact(p.sql, (tx) => enqueueJob(p, tx, passwordResetMailJob, { email }));
}

/** Mails a link to the active user with an email. The link works once, within 30 minutes. */
export const passwordResetMailJob = defineJob({
  name: "steward.password-reset-mail",
  args: z.object({ email: z.string() }),
  run: ({ email }, { platform }: JobContext<AccessPlatform>) => mailResetLink(platform, email),
});

async function mailResetLink(p: AccessPlatform, email: string): Promise<void> {
  const [user] = await p.sql<{ id: string; email: string; firstName: string; lastName: string }[]>`
    select id, email, first_name, last_name from users
    where lower(email) = lower(${email}) and is_active and deleted_at is null`;
  if (!user) return;
  const token = newSecret();
  const to = { address: user.email, displayName: `${user.firstName} ${user.lastName}`.trim() || null };
  const mail = await passwordResetMail(p, to, {
    token,
    resetUrl: resetUrl(p, token),
    firstName: user.firstName || null,
    expiresInMinutes: LIFE_MINUTES,
  });
  await transact(p.sql, async (tx) => {
    const isActive = await tx`select from users where id = ${user.id} and lower(email) = lower(${email})
      and is_active and deleted_at is null for no key update`;
    if (isActive.count === 0) return;
    const [live] = await tx<{ links: number }[]>`
      select count(*)::int as links from password_resets where user_id = ${user.id} and expires_at > now()`;
    if ((live?.links ?? 0) >= MAX_LIVE_LINKS) return;
    await tx`insert into password_resets (token_hash, user_id, expires_at)
      values (${digest(token)}, ${user.id}, now() + make_interval(mins => ${LIFE_MINUTES}))`;
    await sendServiceMail(p, tx, mail);
  });
}

/** URL of the page for the new password: RESET_URL, or the service's own page. */
function resetUrl(p: Pick<AccessPlatform, "config" | "baseUrl">, token: string): string {
  // The service's own page gets the token in the fragment, which appears in no server log and no Referer header.
  return (p.config.RESET_URL ?? `${p.baseUrl()}/auth/reset-password#token={token}`).replaceAll(
    "{token}",
    token,
  );
}

/**
 * Sets a user's password by a reset token. Deletes all reset tokens of the user, ends all of the user's sessions and
 * ends a lockout, because a client with the token does not need to guess the password.
 * @throws RESET_TOKEN_INVALID (unknown, used or expired), VALIDATION_ERROR (the password)
 */
export async function resetPassword(
  p: AccessPlatform,
  o: { token: string; newPassword: string; traceId: string; ip: string | null },
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
    await clearFailedSignIns(tx, userId);
    await forgetDevices(tx, userId);
    await endSessions(p, tx, { userId, reason: "password reset" });
    await mailOwner(p, tx, { userId, kind: "password-reset" });
    const actor = { userId, tenantId: null, traceId: o.traceId, ip: o.ip };
    await recordAudit(tx, actor, { action: "user.reset-password", targetType: "user", targetId: userId });
  });
}

const badToken = (): Problem =>
  problem(
    "RESET_TOKEN_INVALID",
    `The password was not reset: the token is unknown, was already used, or is older than ${LIFE_MINUTES} minutes.`,
  );
