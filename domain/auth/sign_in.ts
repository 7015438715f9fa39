import { type Queryable, transact, type Tx } from "../../infra/postgres/postgres.ts";
import { verifyNothing, verifyPassword } from "../../infra/passwords.ts";
import type { Caller } from "../access/caller.ts";
import { problem } from "../problems/problem.ts";
import type { Platform } from "../shared/platform.ts";
import {
  endSession,
  giveTokens,
  openSession,
  spendRefreshTokens,
  type TokenPair,
  useRefreshToken,
} from "./sessions.ts";

const WRONG_PASSWORDS = 5;
const WINDOW_MINUTES = 15;
const LOCKOUT_MINUTES = 15;

export interface SignIn {
  email: string;
  password: string;
  tenantId: string | null;
  /** Wants a token without a tenant. */
  global: boolean;
  ip: string | null;
  userAgent: string | null;
}

/** New tokens with the user and tenant they are for. */
export interface SignedIn {
  tokens: TokenPair;
  userId: string;
  tenantId: string | null;
}

interface Account {
  id: string;
  passwordHash: string | null;
  securityVersion: number;
  usable: boolean;
  lockedForSeconds: number | null;
}

/**
 * Signs in by email and password. Unknown email, wrong password and inactive user are one answer in one time.
 * @throws CREDENTIALS_INVALID_UNAUTHORIZED, ACCOUNT_LOCKED_UNAUTHORIZED (with Retry-After), TENANT_FORBIDDEN
 */
export async function signIn(p: Platform, o: SignIn): Promise<SignedIn> {
  const [account] = await p.sql<Account[]>`
    select id, password_hash, security_version, is_active and deleted_at is null as usable,
      ceil(extract(epoch from lockout_expires_at - now()))::int as locked_for_seconds
    from users where lower(email) = lower(${o.email})`;
  if (account && (account.lockedForSeconds ?? 0) > 0) {
    await verifyNothing(o.password);
    throw locked(account.lockedForSeconds ?? 0);
  }
  const matches = account?.passwordHash
    ? await verifyPassword(account.passwordHash, o.password)
    : await verifyNothing(o.password);
  if (!account || !matches || !account.usable) {
    if (account && !matches) await countWrongPassword(p, account.id);
    throw problem(
      "CREDENTIALS_INVALID_UNAUTHORIZED",
      "No active user signs in with this email and password.",
    );
  }
  return await transact(p.sql, async (tx) => {
    const tenantId = o.global ? null : await chooseTenant(tx, account.id, o.tenantId);
    await tx`update users set failed_sign_ins = 0, failed_sign_ins_since = null, lockout_expires_at = null,
      last_login_at = now() where id = ${account.id}`;
    const tokens = await openSession(p, tx, { user: account, tenantId, ip: o.ip, userAgent: o.userAgent });
    return { tokens, userId: account.id, tenantId };
  });
}

/** Gives new tokens for a refresh token, in the tenant it was given for. */
export async function refresh(p: Platform, refreshToken: string): Promise<SignedIn> {
  const session = await useRefreshToken(p, refreshToken);
  return await transact(p.sql, async (tx) => {
    const tenantId = session.tenantId && await hasActiveLink(tx, session.user.id, session.tenantId)
      ? session.tenantId
      : null;
    const tokens = await giveTokens(p, tx, { ...session, tenantId });
    return { tokens, userId: session.user.id, tenantId };
  });
}

/**
 * Gives the caller's session tokens for another tenant and uses up its refresh token.
 * @throws TENANT_FORBIDDEN without an active link, whatever the caller's permissions.
 */
export async function switchTenant(p: Platform, caller: Caller, tenantId: string): Promise<SignedIn> {
  return await transact(p.sql, async (tx) => {
    await requireActiveLink(tx, caller.userId, tenantId);
    const [user] = await tx<{ id: string; securityVersion: number }[]>`
      select id, security_version from users where id = ${caller.userId}`;
    if (!user) throw problem("SESSION_INVALIDATED", "The user is gone.");
    await spendRefreshTokens(tx, caller.sessionId);
    const tokens = await giveTokens(p, tx, { user, sessionId: caller.sessionId, tenantId });
    return { tokens, userId: user.id, tenantId };
  });
}

/** Ends the caller's session. */
export async function signOut(p: Platform, caller: Caller): Promise<void> {
  await transact(
    p.sql,
    (tx) => endSession(p, tx, { sessionId: caller.sessionId, userId: caller.userId, reason: "signed out" }),
  );
}

/** Counts a wrong password; the fifth within 15 minutes locks the account for 15. */
async function countWrongPassword(p: Platform, userId: string): Promise<void> {
  await p.sql`
    update users set
      failed_sign_ins = case when in_window then failed_sign_ins + 1 else 1 end,
      failed_sign_ins_since = case when in_window then failed_sign_ins_since else now() end,
      lockout_expires_at = case when in_window and failed_sign_ins + 1 >= ${WRONG_PASSWORDS}
        then now() + make_interval(mins => ${LOCKOUT_MINUTES})
        when in_window then lockout_expires_at end
    from (select id, failed_sign_ins_since > now() - make_interval(mins => ${WINDOW_MINUTES})
        and lockout_expires_at is null or lockout_expires_at > now() as in_window
      from users where id = ${userId} for update) counted
    where users.id = counted.id`;
}

/** The tenant a sign-in lands in: the one asked for, else the default link's, else the first active one, else none. */
async function chooseTenant(tx: Tx, userId: string, wanted: string | null): Promise<string | null> {
  if (wanted) {
    await requireActiveLink(tx, userId, wanted);
    return wanted;
  }
  const [link] = await tx<{ tenantId: string }[]>`
    select l.tenant_id from user_tenants l join tenants t on t.id = l.tenant_id
    where l.user_id = ${userId} and l.is_active and t.is_active and t.deleted_at is null
    order by l.is_default desc, l.created_at, l.tenant_id limit 1`;
  return link?.tenantId ?? null;
}

async function requireActiveLink(q: Queryable, userId: string, tenantId: string): Promise<void> {
  if (await hasActiveLink(q, userId, tenantId)) return;
  throw problem(
    "TENANT_FORBIDDEN",
    `The caller has no active link to tenant ${tenantId}, or it is not active.`,
  );
}

async function hasActiveLink(q: Queryable, userId: string, tenantId: string): Promise<boolean> {
  const rows = await q`select from user_tenants l join tenants t on t.id = l.tenant_id
    where l.user_id = ${userId} and l.tenant_id = ${tenantId} and l.is_active and t.is_active and t.deleted_at is null`;
  return rows.length > 0;
}

const locked = (seconds: number) =>
  problem(
    "ACCOUNT_LOCKED_UNAUTHORIZED",
    `Too many wrong passwords; the account is locked for ${seconds} s more.`,
    {
      headers: { "retry-after": String(seconds) },
    },
  );
