import type { Tx } from "../../../infra/postgres/postgres.ts";
import type { Caller } from "../../rights/caller.ts";
import type { RightsPlatform } from "../../rights/platform.ts";
import type { Amr } from "../sign_in/sessions.ts";

/** Records that the user of a session proved now who they are, and how. Effective for the next request. */
export async function raiseSession(
  p: Pick<RightsPlatform, "rights">,
  tx: Tx,
  { userId, sessionId }: Pick<Caller, "userId" | "sessionId">,
  amr: Amr[],
): Promise<{ authenticatedAt: Date; amr: string[] }> {
  const [session] = await tx<{ authenticatedAt: Date; amr: string[] }[]>`
    update sessions set authenticated_at = now(),
      amr = amr || array(select value from unnest(${amr}::text[]) value where value <> all(amr))
    where id = ${sessionId} and user_id = ${userId} returning authenticated_at, amr`;
  if (!session) throw new Error(`session ${sessionId} of an authenticated caller is missing`);
  p.rights.invalidateAfterCommit(tx, [userId]);
  return session;
}

/** After a user's last factor was removed, none of their sessions counts as signed in with it. */
export async function lowerSessions(
  p: Pick<RightsPlatform, "rights">,
  tx: Tx,
  userId: string,
): Promise<void> {
  await tx`update sessions set amr = array_remove(amr, 'mfa')
    where user_id = ${userId} and revoked_at is null and 'mfa' = any(amr) and not 'fed' = any(amr)`;
  p.rights.invalidateAfterCommit(tx, [userId]);
}
