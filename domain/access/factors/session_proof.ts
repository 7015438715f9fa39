import type { Tx } from "../../../infra/postgres/postgres.ts";
import { problem } from "../../problems/problem.ts";
import type { Caller } from "../../rights/caller.ts";
import type { RightsPlatform } from "../../rights/platform.ts";
import { requireStepUp } from "../../rights/checks.ts";
import { type LockedUser, lockExistingUser } from "../users/user_lock.ts";
import { type Amr, BY_PROVIDER_WITH_MFA } from "../sign_in/sessions.ts";

/**
 * Locks the caller for a change of their factors, and checks in this transaction that the session is recent and has the
 * second factor of a user who has one: cached rights may be older than the first factor.
 * @throws TOKEN_REVOKED, STEP_UP_REQUIRED_FORBIDDEN
 */
export async function lockProvedUser(
  p: Pick<RightsPlatform, "rights">,
  tx: Tx,
  caller: Caller,
): Promise<LockedUser> {
  const user = await lockExistingUser(tx, caller.userId);
  const { revoked, proof } = await p.rights.readUncached(tx, caller);
  if (revoked) throw sessionEnded();
  requireStepUp({ proof });
  return user;
}

const sessionEnded = () => problem("TOKEN_REVOKED", "The session of this token has ended.");

/**
 * Records that the user of a session proved now who they are, and how. Effective for the next request.
 * @throws TOKEN_REVOKED if the session ended while its request waited for the lock of the user
 */
export async function raiseSession(
  p: Pick<RightsPlatform, "rights">,
  tx: Tx,
  { userId, sessionId }: Pick<Caller, "userId" | "sessionId">,
  amr: Amr[],
): Promise<{ authenticatedAt: Date; amr: string[] }> {
  const [session] = await tx<{ authenticatedAt: Date; amr: string[] }[]>`
    update sessions set authenticated_at = now(),
      amr = amr || array(select value from unnest(${amr}::text[]) value where value <> all(amr))
    where id = ${sessionId} and user_id = ${userId} and revoked_at is null returning authenticated_at, amr`;
  if (!session) throw sessionEnded();
  p.rights.invalidateAfterCommit(tx, [userId]);
  return session;
}

/**
 * After a user's last factor was removed, none of their sessions counts as signed in with it. What a provider proved stays:
 * such a session begins with `BY_PROVIDER_WITH_MFA`.
 */
export async function lowerSessions(
  p: Pick<RightsPlatform, "rights">,
  tx: Tx,
  userId: string,
): Promise<void> {
  await tx`update sessions set amr = array_remove(amr, 'mfa')
    where user_id = ${userId} and revoked_at is null and 'mfa' = any(amr) and amr[1:2] <> ${BY_PROVIDER_WITH_MFA}`;
  p.rights.invalidateAfterCommit(tx, [userId]);
}
