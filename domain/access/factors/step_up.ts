import { transact, type Tx } from "../../../infra/postgres/postgres.ts";
import { invalid, problem } from "../../problems/problem.ts";
import type { Caller } from "../../rights/caller.ts";
import { hasFactor } from "../../rights/second_factor.ts";
import { requireOwnPassword, requireSessionUnlocked } from "../account/password_changes.ts";
import type { AccessPlatform } from "../platform.ts";
import { type Amr, BY_PROVIDER_WITH_MFA, lockSessions } from "../sign_in/sessions.ts";
import { type LockedUser, lockExistingUser } from "../users/user_details.ts";
import { type FactorChoice, factorChoice } from "../sign_in/factor_tokens.ts";
import { type FactorProof, PROOFS, proveFactor, requireOneProof } from "./prove.ts";
import type { RightsPlatform } from "../../rights/platform.ts";
import { requireStepUp } from "../../rights/checks.ts";

/**
 * The ways in which the caller can step up, with a new challenge for passkeys. `hasPassword`: the account has a password,
 * which codes need beside them.
 */
export async function readStepUpChoice(
  p: AccessPlatform,
  { userId }: Caller,
): Promise<FactorChoice & { hasPassword: boolean }> {
  const [user] = await p.sql<{ hasPassword: boolean }[]>`
    select password_hash is not null as has_password from users where id = ${userId}`;
  return { hasPassword: user?.hasPassword ?? false, ...await factorChoice(p, p.sql, userId) };
}

/**
 * Renews the sign-in of the caller's session: with a passkey alone, or with the password and a code. The password alone
 * is enough without a second factor; a code alone is enough without a password.
 * @throws VALIDATION_ERROR (also for a wrong password or factor), ACCOUNT_LOCKED_UNAUTHORIZED, FACTOR_UNAVAILABLE
 */
export async function stepUp(
  p: AccessPlatform,
  caller: Caller,
  { password, ...proof }: FactorProof & { password?: string | undefined },
): Promise<{ authenticatedAt: Date; amr: string[] }> {
  const [account] = await p.sql<{ hasPassword: boolean; hasFactor: boolean }[]>`
    select u.password_hash is not null as has_password, ${hasFactor(p.sql, p.sql`u.id`)} as has_factor
    from users u where u.id = ${caller.userId}`;
  if (!account) throw problem("SESSION_INVALIDATED", "The user no longer exists.");
  const { passkey } = proof;
  if (account.hasFactor) requireOneProof(proof);
  const needsPassword = passkey === undefined && account.hasPassword;
  if (needsPassword && password === undefined) {
    throw invalid({ password: ["expected the caller's password"] });
  }
  if (!account.hasFactor && !account.hasPassword) {
    throw invalid({ password: ["the account has neither a password nor a second factor; sign in again"] });
  }
  if (needsPassword && password !== undefined) await requireOwnPassword(p, caller, password);
  const amr: Amr[] = needsPassword ? ["pwd"] : [];
  const session = await transact(p.sql, async (tx) => {
    await lockExistingUser(tx, caller.userId);
    if (needsPassword) await requireSessionUnlocked(tx, caller.sessionId);
    const proved = account.hasFactor ? await proveFactor(p, tx, caller.userId, proof) : [];
    return proved && await raiseSession(p, tx, caller, [...amr, ...proved]);
  });
  return session ?? refuseProof(proof);
}

/** The error for a wrong factor of a signed-in user. */
export function refuseProof(proof: FactorProof): never {
  const field = PROOFS.find((name) => proof[name] !== undefined) ?? "code";
  throw invalid({ [field]: ["wrong, already used, or not the caller's"] });
}

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
  await lockSessions(tx, tx`user_id = ${userId}`);
  await tx`update sessions set amr = array_remove(amr, 'mfa')
    where user_id = ${userId} and revoked_at is null and 'mfa' = any(amr) and amr[1:2] <> ${BY_PROVIDER_WITH_MFA}`;
  p.rights.invalidateAfterCommit(tx, [userId]);
}
