import type { Sql, Tx } from "../../../infra/postgres/postgres.ts";
import { recordAudit } from "../../audit/audit.ts";
import { clearWrongCodes } from "../sign_in/failed_sign_ins.ts";
import type { AccessPlatform, Trace } from "../platform.ts";
import { forgetDevices } from "../sign_in/known_devices.ts";
import { endSessions } from "../sign_in/sessions.ts";
import { mailOwner } from "./owner_mail.ts";

/** SQL condition on `users`: the account's owner is not proved, so another person may have created and used the account. */
const isUnproved = (q: Sql) => q`(email_verified_at is null or is_mailbox_only)`;

/**
 * Marks the owner of an account as proved: a person who reads the mail of its email has its password and factors.
 * @returns false if it was proved before
 */
export async function markProved(tx: Tx, userId: string): Promise<boolean> {
  const marked = await tx`update users set email_verified_at = now(), is_mailbox_only = false
    where id = ${userId} and ${isUnproved(tx)}`;
  return marked.count > 0;
}

/**
 * Marks the email as verified, because a link that was mailed to it was used. Another person may have the password and the
 * factors. So an unproved account stays unproved.
 */
export async function markEmailVerified(tx: Tx, userId: string): Promise<void> {
  await tx`update users set email_verified_at = now(), is_mailbox_only = ${isUnproved(tx)}
    where id = ${userId}`;
}

/**
 * Marks the owner of an account as proved by the mailbox. At the first proof, removes all credentials by which another
 * person, who may have created the account with this email, could still sign in as the owner. API keys stay: they act
 * only in the tenant in which they were made. Locks the user.
 * @param o.keepsPassword true: the owner has just chosen the password
 */
export async function proveOwner(
  p: AccessPlatform,
  tx: Tx,
  o: Trace & { userId: string; keepsPassword: boolean },
): Promise<void> {
  const { userId, keepsPassword, traceId, ip } = o;
  if (!await markProved(tx, userId)) return;
  await endSessions(p, tx, { userId, reason: "first proof of the owner" }); // first, so that they leave nothing more
  const password = await tx`update users set password_hash = null
    where id = ${userId} and password_hash is not null and not ${keepsPassword}`;
  const factors = await tx`delete from user_factors where user_id = ${userId}`;
  const clients = await tx`delete from oauth_consents where user_id = ${userId}`; // else they would get tokens unasked
  const devices = await tx`delete from user_devices where user_id = ${userId}`; // they get the user's push messages
  await tx`delete from recovery_codes where user_id = ${userId}`;
  await tx`delete from passkey_challenges where user_id = ${userId}`;
  await tx`delete from oidc_handovers where user_id = ${userId}`;
  await clearWrongCodes(tx, userId);
  await forgetDevices(tx, userId);
  const actor = { userId, tenantId: null, traceId, ip };
  const before = { factors: factors.count, clients: clients.count, devices: devices.count };
  const isMore = Object.values(before).some((count) => count > 0);
  if (password.count > 0) await recordAudit(tx, actor, "user.remove-password", userId);
  if (isMore) await recordAudit(tx, actor, "user.remove-former-access", userId, { before });
  if (password.count > 0) await mailOwner(p, tx, { userId, kind: "password-removed" });
  else if (isMore) await mailOwner(p, tx, { userId, kind: "former-access-removed" });
}
