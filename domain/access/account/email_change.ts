import { z } from "zod";
import { type Sql, transact } from "../../../infra/postgres/postgres.ts";
import { recordAudit } from "../../audit/audit.ts";
import { enqueueJob } from "../../jobs/enqueue.ts";
import { defineJob, type JobContext } from "../../jobs/job_type.ts";
import { sendServiceMail } from "../../notifications/sending/send.ts";
import { invalid, type Problem, problem } from "../../problems/problem.ts";
import type { Caller } from "../../rights/caller.ts";
import { newId } from "../../shared/ids.ts";
import { countRows } from "../../shared/lists.ts";
import { digest } from "../../shared/secrets.ts";
import type { AccessPlatform, Trace } from "../platform.ts";
import { defaultTenantOf, endSessions } from "../sign_in/sessions.ts";
import { emitUserUpdated } from "../users/user_events.ts";
import { lockUser } from "../users/user_details.ts";
import { requireOwnPassword, requireSessionUnlocked, wrongOwnPassword } from "./password_changes.ts";
import { linkMail, mailOwner, readMailOwner } from "./owner_mail.ts";
import { markEmailVerified } from "./proved_owner.ts";
import { fullName } from "../../rights/user_lookup.ts";

/** Maximum number of unexpired requests of one user. It limits the mail that one user can cause. */
const MAX_LIVE_REQUESTS = 5;

/** A stored request: who asked, in which session, for which email. */
interface Requested {
  userId: string;
  sessionId: string;
  newEmail: string;
}

/**
 * Requests a link to the new email, and tells the current one. Only a job looks whether the new email is taken, so that
 * neither the answer nor its time reveals whose it is.
 * @throws VALIDATION_ERROR (also for a wrong password), ACCOUNT_LOCKED_UNAUTHORIZED
 */
export async function requestEmailChange(
  p: AccessPlatform,
  caller: Caller,
  o: { newEmail: string; password: string },
): Promise<void> {
  const { userId, sessionId } = caller;
  const { email, passwordHash } = await requireOwnPassword(p, caller, o.password);
  if (o.newEmail === email) throw invalid({ newEmail: ["this is already the email of the account"] });
  await transact(p.sql, async (tx) => {
    const unchanged = await tx`
      select from users where id = ${userId} and password_hash = ${passwordHash} for no key update`;
    if (unchanged.count === 0) throw wrongOwnPassword();
    await requireSessionUnlocked(tx, sessionId);
    const live = await countRows(tx, tx`email_changes where user_id = ${userId} and expires_at > now()`);
    if (live >= MAX_LIVE_REQUESTS) return;
    await mailOwner(p, tx, { userId, kind: "email-change-requested" });
    const changeId = newId();
    await tx`insert into email_changes (id, user_id, new_email, session_id, expires_at)
      values (${changeId}, ${userId}, ${o.newEmail}, ${sessionId}, ${inLifeTime(tx)})`;
    await enqueueJob(p, tx, emailChangeMailJob, { changeId });
  });
}

/** Mails the link that confirms a new email. It works once, within 30 minutes. The email is not in the job's arguments. */
export const emailChangeMailJob = defineJob({
  name: "steward.email-change-mail",
  args: z.object({ changeId: z.guid() }),
  run: ({ changeId }, { platform }: JobContext<AccessPlatform>) => mailLink(platform, changeId),
});

/**
 * The tenant whose looks the page of a link to a new email has: the one that the user signs in to; null: none.
 * @throws EMAIL_TOKEN_INVALID
 */
export async function readEmailChangeTenant(q: Sql, token: string): Promise<string | null> {
  const [owner] = await q<{ userId: string }[]>`
    select c.user_id from email_changes c join users u on u.id = c.user_id and u.is_active and u.deleted_at is null
    where c.token_hash = ${digest(token)} and c.expires_at > now()`;
  if (!owner) throw badToken();
  return await defaultTenantOf(q, owner.userId);
}

async function mailLink(p: AccessPlatform, changeId: string): Promise<void> {
  const [requested] = await p.sql<Requested[]>`
    select user_id, session_id, new_email from email_changes
    where id = ${changeId} and token_hash is null and expires_at > now()`;
  if (!requested) return;
  const { userId, sessionId, newEmail } = requested;
  const owner = await readMailOwner(p.sql, userId);
  if (!owner) return;
  const { token, mail } = await linkMail(p, {
    // With the user's id, an erasure finds this address even if it is never confirmed.
    to: { address: newEmail, displayName: fullName(owner), userId },
    tenantId: owner.tenantId,
    templateSlug: "email-change",
    link: { name: "confirmUrl", page: "/auth/confirm-email" },
    data: { newEmail, firstName: owner.firstName || null, expiresInMinutes: LIFE_MINUTES },
    fallback: {
      subject: "Confirm your new email",
      before:
        `Someone, probably you, asked to use ${newEmail} as the email of an account. Confirm it with the link below; it works once and for ${LIFE_MINUTES} minutes.`,
      action: "Confirm the email",
      after: "If you did not ask for this, ignore this message: nothing changes.",
    },
  });
  await transact(p.sql, async (tx) => {
    const user = await lockUser(tx, userId);
    const [session] = await tx`select from sessions where id = ${sessionId} and revoked_at is null`;
    if (!session || !user?.isActive) return;
    const given = await tx`
      update email_changes set token_hash = ${digest(token)}, expires_at = ${inLifeTime(tx)}
      where id = ${changeId} and token_hash is null and expires_at > now()`;
    if (given.count === 0) return;
    // A request for a taken email is stored too. Its token is mailed to nobody.
    const [holder] = await tx<{ id: string }[]>`
      select id from users where mail_key(email) = mail_key(${newEmail}) and id <> ${userId}`;
    if (holder) await mailOwner(p, tx, { userId: holder.id, kind: "email-taken" });
    else await sendServiceMail(p, tx, mail);
  });
}

const inLifeTime = (q: Sql) => q`now() + make_interval(mins => ${LIFE_MINUTES})`;

/**
 * Gives a user the email whose link was opened. Ends the user's sessions except the one that asked, and deletes the reset
 * links, which were sent to the former email. Tells the former email.
 * @throws EMAIL_TOKEN_INVALID (unknown, used or expired), USER_ALREADY_EXISTS (taken since the request)
 */
export async function confirmEmailChange(p: AccessPlatform, o: Trace & { token: string }): Promise<void> {
  await transact(p.sql, async (tx) => {
    const [used] = await tx<Requested[]>`
      delete from email_changes where token_hash = ${digest(o.token)} and expires_at > now()
      returning user_id, session_id, new_email`;
    if (!used) throw badToken();
    const { userId, sessionId, newEmail } = used;
    const user = await lockUser(tx, userId);
    if (!user?.isActive) throw badToken();
    await tx`update users set email = ${newEmail}, version = version + 1, updated_at = now() where id = ${userId}`;
    await markEmailVerified(tx, userId);
    await tx`delete from email_changes where user_id = ${userId}`;
    await tx`delete from password_resets where user_id = ${userId}`;
    await endSessions(p, tx, { userId, exceptSessionId: sessionId, reason: "email changed" });
    await mailOwner(p, tx, { userId, kind: "email-changed", address: user.email });
    const actor = { userId, tenantId: null, traceId: o.traceId, ip: o.ip };
    const change = { before: { email: user.email }, after: { email: newEmail } };
    await recordAudit(tx, actor, "user.change-email", userId, change);
    await emitUserUpdated(p, tx, { ...user, email: newEmail }, ["email"]);
  });
}

const badToken = (): Problem =>
  problem(
    "EMAIL_TOKEN_INVALID",
    `The email was not changed: the token is unknown, was already used, or is older than ${LIFE_MINUTES} minutes.`,
  );

/** Lifetime of the link. */
const LIFE_MINUTES = 30;
