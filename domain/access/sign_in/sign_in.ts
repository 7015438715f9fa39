import {
  hashesWaiting,
  hashPassword,
  needsRehash,
  verifyDecoy,
  verifyPassword,
} from "../../../infra/passwords.ts";
import { type Sql, transact, type Tx } from "../../../infra/postgres/postgres.ts";
import { type Problem, problem } from "../../problems/problem.ts";
import { accessChanged } from "../../rights/authenticate.ts";
import type { Caller } from "../../rights/caller.ts";
import { providerFactorRequired } from "../../rights/checks.ts";
import { hasFactor, userHasFactor } from "../../rights/second_factor.ts";
import { askForFactor, type FactorNeeded, factorRequired } from "./factor_tokens.ts";
import { securityVersionOf } from "../../rights/security_version.ts";
import type { AccessPlatform } from "../platform.ts";
import { addressKey } from "./address.ts";
import {
  clearFailedSignIns,
  countFailedSignIn,
  deviceLockEnd,
  requireAddressBelowLimit,
  requireUnlocked,
  type TriedAccount,
  unknownEmailLockEnd,
} from "./failed_sign_ins.ts";
import { knownDevice } from "./known_devices.ts";
import {
  type Amr,
  chooseTenant,
  consumeRefreshToken,
  endSessions,
  type FirstTokens,
  issueTokens,
  markRefreshTokensUsed,
  openSession,
  requireActiveLink,
  type SessionProvider,
  type WantedTenant,
} from "./sessions.ts";

/** Maximum number of sign-ins that wait for a password hash. With more, the last ones would time out. */
const MAX_WAITING = 500;

/** Address, user agent and device of a sign-in. Its session stores address and user agent. */
export interface Origin {
  ip: string | null;
  userAgent: string | null;
  /** The device token that the device's last sign-in returned; absent or null: none. */
  deviceToken?: string | null;
}

interface SignIn extends WantedTenant, Origin {
  email: string;
  password: string;
}

/** New tokens with their user and tenant. */
export interface SignedIn {
  tokens: FirstTokens;
  userId: string;
  tenantId: string | null;
  /** See `Caller`. */
  boundTo: string | null;
}

/** The account of an email. If no user has the email, it has only a lock. */
interface Account extends TriedAccount {
  passwordHash: string | null;
  isUsable: boolean | null;
  lockedForSeconds: number | null;
}

/** The result of the first step of a sign-in: a session, or the factors that can finish the sign-in. */
export type FirstStep = { signedIn: SignedIn } | { needed: FactorNeeded };

/** The session of a first step. Throws SECOND_FACTOR_REQUIRED_UNAUTHORIZED if it needs a second factor. */
export function requireFinished(step: FirstStep): SignedIn {
  if ("needed" in step) throw factorRequired(step.needed);
  return step.signedIn;
}

/**
 * Signs in by email and password. An unknown email, a wrong password and an inactive user get the same answer in the same
 * time, and lock in the same way. An imported password hash is replaced by one with the service's own parameters. A known
 * device has its own lock, so it can sign in while the account is locked for others.
 * @throws CREDENTIALS_INVALID_UNAUTHORIZED, ACCOUNT_LOCKED_UNAUTHORIZED and RATE_LIMITED (with Retry-After),
 * SIGN_IN_BUSY_UNAVAILABLE, TENANT_FORBIDDEN, SECOND_FACTOR_REQUIRED_UNAUTHORIZED
 */
export async function signIn(p: AccessPlatform, o: SignIn): Promise<SignedIn> {
  const address = addressKey(o.ip);
  if (hashesWaiting() >= MAX_WAITING) throw busy();
  const [account] = await Promise.all([readAccount(p.sql, o), requireAddressBelowLimit(p.sql, address)]);
  const { id, deviceId } = account;
  const isLocked = (account.lockedForSeconds ?? 0) > 0;
  const stored = isLocked ? null : account.passwordHash;
  const matches = stored === null ? await verifyDecoy(o.password) : await verifyPassword(stored, o.password);
  if (id === null || !matches || !account.isUsable) {
    // The right password of an unusable account counts too. Otherwise the missing lock would tell that it is right.
    const tried = isLocked ? null : account;
    const isCounted = await countFailedSignIn(p, { address, tried });
    requireUnlocked(isCounted ? account : await readAccount(p.sql, o));
    throw wrongCredentials();
  }
  const renewed = stored && needsRehash(stored) ? await hashPassword(o.password) : null;
  const step = await transact(p.sql, async (tx) => {
    // The checks are repeated: while the hash is computed, concurrent attempts may reach the lock or the limit, and the
    // password may change. Then even the right password must fail.
    const update = tx<{ id: string }[]>`
      update users u set
        last_login_at = case when ${hasFactor(tx, tx`u.id`)} then last_login_at else now() end,
        lockout_expires_at = case when lockout_expires_at > now() then lockout_expires_at end,
        password_hash = coalesce(${renewed}, password_hash)
      where id = ${id} and is_active and deleted_at is null and password_hash = ${stored}
        and (${deviceId !== null} or lockout_expires_at is null or lockout_expires_at <= now())
      returning id`;
    const [, [user]] = await Promise.all([requireAddressBelowLimit(tx, address), update]);
    if (!user || deviceId !== null) requireUnlocked(await readAccount(tx, o));
    if (!user) throw wrongCredentials();
    return await firstStep(p, tx, { ...user, amr: ["pwd"], deviceId }, o);
  });
  return requireFinished(step);
}

/** A user who passed the first step of a sign-in. The row is locked. */
interface FirstStepUser {
  id: string;
  amr: Amr[];
  /** Id of the known device; null: an unknown device. */
  deviceId: string | null;
  /** The tenant's provider that signed the user in; absent: another way. */
  provider?: SessionProvider;
}

/**
 * Opens a session, unless the user has a second factor that the sign-in lacks. The count of failed sign-ins is reset only
 * when the session opens: a right password alone must not reset it. A sign-in by a tenant's
 * own provider neither resets it nor makes the device known: who runs the provider must not get more attempts at the password.
 * @param wanted without `deviceToken`, the device is not remembered
 * @throws TENANT_FORBIDDEN, PROVIDER_FACTOR_REQUIRED_FORBIDDEN
 */
export async function firstStep(
  p: AccessPlatform,
  tx: Tx,
  user: FirstStepUser,
  wanted: WantedTenant & Origin,
): Promise<FirstStep> {
  const { id: userId, amr, provider = null } = user;
  const [tenantId, ownsFactor] = await Promise.all([
    chooseTenant(tx, userId, wanted, provider),
    userHasFactor(tx, userId),
  ]);
  if (ownsFactor && !amr.includes("mfa")) {
    return { needed: await askForFactor(p, tx, { userId, amr, provider, ...wanted }) };
  }
  if (provider && !amr.includes("mfa")) await requireNoFactor(tx, provider.tenantId);
  const { ip, userAgent, deviceToken } = wanted;
  const device = deviceToken === undefined || provider !== null ? { provider } : { deviceToken };
  const [tokens] = await Promise.all([
    openSession(p, tx, { user, tenantId, amr, ip, userAgent, ...device }),
    provider === null ? clearFailedSignIns(tx, userId, user.deviceId) : null,
  ]);
  return { signedIn: { tokens, userId, tenantId, boundTo: provider && tenantId } };
}

/** Refuses a session that could only be used to add a second factor, which a session of a tenant's provider must not do. */
async function requireNoFactor(q: Sql, tenantId: string): Promise<void> {
  const rows = await q`select from tenants where id = ${tenantId} and require_second_factor`;
  if (rows.length > 0) throw providerFactorRequired(tenantId);
}

/**
 * Exchanges a refresh token for new tokens of the same tenant.
 * @throws TOKEN_INVALID, TOKEN_EXPIRED, TOKEN_REVOKED, SESSION_INVALIDATED
 */
export async function refresh(p: AccessPlatform, refreshToken: string): Promise<SignedIn> {
  const refreshed = await transact(p.sql, async (tx) => {
    const session = await consumeRefreshToken(p, tx, refreshToken);
    if (!session) return null;
    const tokens = await issueTokens(p, tx, session);
    const { user, tenantId, boundTo } = session;
    return { tokens, userId: user.id, tenantId, boundTo };
  });
  if (refreshed) return refreshed;
  throw problem("TOKEN_REVOKED", "The refresh token was already used, so its session was ended.");
}

/**
 * Issues tokens of the caller's session for another tenant and marks its refresh tokens as used.
 * @throws TENANT_FORBIDDEN (no active link, regardless of permissions), SESSION_INVALIDATED (a concurrent change of the
 * user's permissions)
 */
export async function switchTenant(p: AccessPlatform, caller: Caller, tenantId: string): Promise<SignedIn> {
  return await transact(p.sql, async (tx) => {
    await requireActiveLink(tx, caller.userId, tenantId);
    const [user] = await tx<{ id: string; securityVersion: number }[]>`
      select u.id, s.security_version from sessions s
      join users u on u.id = s.user_id and ${securityVersionOf(tx)} = s.security_version
      where s.id = ${caller.sessionId} and u.id = ${caller.userId}`;
    if (!user) throw accessChanged();
    await markRefreshTokensUsed(tx, caller.sessionId);
    const tokens = await issueTokens(p, tx, { user, sessionId: caller.sessionId, tenantId });
    return { tokens, userId: user.id, tenantId, boundTo: null };
  });
}

/** Ends the caller's session. */
export async function signOut(p: AccessPlatform, caller: Caller): Promise<void> {
  const { userId, sessionId } = caller;
  await transact(p.sql, (tx) => endSessions(p, tx, { userId, sessionId, reason: "signed out" }));
}

async function readAccount(q: Sql, { email, deviceToken = null }: SignIn): Promise<Account> {
  const [account] = await q<Account[]>`
    select u.id, asked.email, d.id as device_id, u.password_hash, u.is_active and u.deleted_at is null as is_usable,
      ceil(extract(epoch from
        case when u.id is null then (${unknownEmailLockEnd(q, email)})
          when d.id is null then u.lockout_expires_at
          else (${deviceLockEnd(q, q`d.id`)}) end
        - now()))::int as locked_for_seconds
    from (select ${email}::text as email) asked
    left join users u on mail_key(u.email) = mail_key(asked.email)
    left join lateral (${knownDevice(q, q`u.id`, deviceToken)}) d on true`;
  if (!account) throw new Error("a left join of one row returned no row");
  return account;
}

const wrongCredentials = (): Problem =>
  problem("CREDENTIALS_INVALID_UNAUTHORIZED", "No active user has this email and password.");

const busy = (): Problem =>
  problem(
    "SIGN_IN_BUSY_UNAVAILABLE",
    `The sign-in was not tried: ${MAX_WAITING} or more sign-ins are waiting on this instance.`,
    { headers: { "retry-after": "5" } },
  );
