import { z } from "zod";
import type { Sql, SqlPart, Tx } from "../../../infra/postgres/postgres.ts";
import { ACCESS_TOKEN_SECONDS } from "../../../infra/tokens.ts";
import { problem } from "../../problems/problem.ts";
import { accessChanged, noAccess } from "../../rights/authenticate.ts";
import type { RightsPlatform } from "../../rights/platform.ts";
import { securityVersionOf } from "../../rights/security_version.ts";
import { newId } from "../../shared/ids.ts";
import type { Platform } from "../../shared/platform.ts";
import { digest, newSecret } from "../../shared/secrets.ts";
import { type ChangingAccess, tellClients } from "../access_changes.ts";
import { acceptsPassword, boundTo, isAcceptedIn } from "../../rights/tenant_sign_in.ts";
import { rememberDevice } from "./known_devices.ts";
import { permissionCodes } from "../../rights/held_permissions.ts";

/** Lifetime of a refresh token. A session that is not used for this time ends. */
const REFRESH_TOKEN_SECONDS = 14 * 24 * 60 * 60;
/** Maximum lifetime of a session, also of a used one, so that the user proves their identity again. */
const SESSION_SECONDS = 30 * 24 * 60 * 60;

/**
 * A method of authentication (RFC 8176): password (`pwd`), one-time code (`otp`), passkey of one device (`hwk`) or of several
 * (`swk`), verification of the user by the passkey (`user`), two factors (`mfa`), or sign-in by a provider (`fed`).
 */
export type Amr = "pwd" | "otp" | "hwk" | "swk" | "user" | "mfa" | "fed";

/**
 * The methods of a session whose provider proved two factors. The service's own factors append their kind before `mfa`, so
 * the order tells whether the provider or the service proved two factors.
 */
export const BY_PROVIDER_WITH_MFA: Amr[] = ["fed", "mfa"];

/** Tokens that a sign-in, refresh or tenant switch returns. */
export const TokenPair = z.object({
  accessToken: z.string(),
  tokenType: z.literal("Bearer"),
  expiresIn: z.int().describe("Seconds until the access token expires"),
  refreshToken: z.string(),
  refreshExpiresIn: z.int().describe("Seconds until the refresh token expires"),
});
type TokenPair = z.output<typeof TokenPair>;

/** Tokens of a new session, with the secret of the device if the sign-in remembers it. */
export type FirstTokens = TokenPair & { deviceToken?: string };

/** A tenant's own provider, by which a session was opened. */
export interface SessionProvider {
  id: string;
  tenantId: string;
}

/** The user of a session, with the security version of the session. */
interface SessionUser {
  id: string;
  securityVersion: number;
}

/**
 * Opens a session and issues its first tokens.
 * @param o.user its row is locked by this transaction. So a concurrent change of the user's roles or links waits for this
 * session and then ends it. A concurrent change of a role ends it without waiting, see `securityVersionOf`.
 * @param o.amr the methods by which the user has just signed in
 * @param o.provider the provider of the tenant `tenantId` that signed the user in: the session is good in this tenant only
 * @param o.deviceToken the token that the device sent, or null if it sent none: the device is remembered. Absent: it is not.
 */
export async function openSession(
  p: Pick<Platform, "tokens">,
  tx: Tx,
  o: {
    user: Pick<SessionUser, "id">;
    tenantId: string | null;
    amr: Amr[];
    ip: string | null;
    userAgent: string | null;
    deviceToken?: string | null;
    provider?: SessionProvider | null;
  },
): Promise<FirstTokens> {
  const { tenantId, provider = null } = o;
  if (provider !== null && provider.tenantId !== tenantId) {
    throw new Error(`a session of the provider ${provider.id} cannot begin in tenant ${tenantId}`);
  }
  const sessionId = newId();
  const refreshToken = newSecret();
  const opening = tx<{ securityVersion: number; seconds: number }[]>`
    with session as (
      insert into sessions (id, user_id, security_version, expires_at, amr, ip, user_agent,
        provider_id, only_tenant_id)
      select ${sessionId}, u.id, ${securityVersionOf(tx)},
        now() + make_interval(secs => ${REFRESH_TOKEN_SECONDS}),
        ${o.amr}::text[], ${o.ip}, ${o.userAgent}, ${provider?.id ?? null}::uuid,
        ${provider && tenantId}::uuid from users u where u.id = ${o.user.id}
      returning id, security_version, expires_at
    ), inserted as (
      insert into refresh_tokens (token_hash, session_id, tenant_id, expires_at)
      select ${digest(refreshToken)}, id, ${tenantId}::uuid, expires_at from session
    )
    select security_version, round(extract(epoch from expires_at - now()))::int as seconds from session`;
  // The statements are sent together; they do not depend on each other.
  const [[session], deviceToken] = await Promise.all([
    opening,
    o.deviceToken === undefined ? undefined : rememberDevice(tx, o.user.id, o.deviceToken),
  ]);
  if (!session) throw new Error(`the user ${o.user.id} of a new session is missing`);
  const { securityVersion: ver, seconds } = session;
  const accessToken = await p.tokens.sign({ sub: o.user.id, sid: sessionId, tenantId, ver });
  const tokens = tokenPair(accessToken, refreshToken, seconds);
  return deviceToken === undefined ? tokens : { ...tokens, deviceToken };
}

const tokenPair = (accessToken: string, refreshToken: string, refreshExpiresIn: number): TokenPair => ({
  accessToken,
  tokenType: "Bearer",
  expiresIn: ACCESS_TOKEN_SECONDS,
  refreshToken,
  refreshExpiresIn,
});

/**
 * Issues new tokens for a session and extends the session until the new refresh token expires.
 * @param o.user has the session's security version, not the user's current one. Otherwise a concurrent change of
 * permissions would not end these tokens.
 */
export async function issueTokens(
  p: Pick<Platform, "tokens">,
  tx: Tx,
  o: { user: SessionUser; sessionId: string; tenantId: string | null },
): Promise<TokenPair> {
  const refreshToken = newSecret();
  const [expiry] = await tx<{ seconds: number }[]>`
    with prolonged as (
      update sessions s set expires_at = ${extendedExpiry(tx)}
      where s.id = ${o.sessionId} returning s.id, s.expires_at
    ), inserted as (
      insert into refresh_tokens (token_hash, session_id, tenant_id, expires_at)
      select ${digest(refreshToken)}, id, ${o.tenantId}::uuid, expires_at from prolonged
    )
    select round(extract(epoch from expires_at - now()))::int as seconds from prolonged`;
  const accessToken = await p.tokens.sign({
    sub: o.user.id,
    sid: o.sessionId,
    tenantId: o.tenantId,
    ver: o.user.securityVersion,
  });
  return tokenPair(accessToken, refreshToken, expiry?.seconds ?? 0);
}

/**
 * SQL expression: the time at which the session `s` expires if it is used now.
 * @param o lifetimes of an OpenID client's session, in seconds: unused, and at most
 */
export const extendedExpiry = (
  q: Sql,
  o: { refreshTokenSeconds: number; grantSeconds: number } = {
    refreshTokenSeconds: REFRESH_TOKEN_SECONDS,
    grantSeconds: SESSION_SECONDS,
  },
) =>
  q`least(now() + make_interval(secs => ${o.refreshTokenSeconds}),
    s.created_at + make_interval(secs => ${o.grantSeconds}))`;

/** The session of a consumed refresh token. */
interface RefreshedSession {
  user: SessionUser;
  sessionId: string;
  tenantId: string | null;
  /** See `Caller`. */
  boundTo: string | null;
}

/**
 * Marks a refresh token as used. Call it in the transaction that issues the next tokens: a crash in between would leave
 * the client with a used token, and a second use of it ends the session. The session is locked before the token, as in
 * `markRefreshTokensUsed`: in another order, the two could wait for each other.
 * @returns null if the token was already used. Two parties then have the token and one may be a thief, so this function
 * ends the session. The caller must commit that.
 * @throws TOKEN_INVALID (unknown), TOKEN_EXPIRED, TOKEN_REVOKED (session ended), SESSION_INVALIDATED
 */
export async function consumeRefreshToken(
  p: Pick<RightsPlatform, "rights">,
  tx: Tx,
  token: string,
): Promise<RefreshedSession | null> {
  const [row] = await tx<{
    sessionId: string;
    tenantId: string | null;
    userId: string;
    securityVersion: number;
    usable: boolean;
    isCurrent: boolean;
    isAccepted: boolean;
    boundTo: string | null;
    ended: boolean;
    expired: boolean;
    usedBefore: boolean;
  }[]>`
    select r.session_id, r.tenant_id, u.id as user_id, s.security_version,
      ${securityVersionOf(tx)} = s.security_version as is_current,
      ${isAcceptedIn(tx, tx`s`, tx`r.tenant_id`)} as is_accepted, ${boundTo(tx)} as bound_to,
      u.is_active and u.deleted_at is null as usable, s.revoked_at is not null as ended,
      least(r.expires_at, s.created_at + make_interval(secs => ${SESSION_SECONDS})) < now() as expired, r.used_at is not null as used_before
    from refresh_tokens r join sessions s on s.id = r.session_id join users u on u.id = s.user_id
    where r.token_hash = ${digest(token)} for no key update of s for update of r`;
  if (!row) {
    throw problem(
      "TOKEN_INVALID",
      "The refresh token is unknown; expected one from a sign-in, refresh or tenant switch.",
    );
  }
  const { sessionId, userId, tenantId, securityVersion, boundTo: bound } = row;
  if (row.ended) throw problem("TOKEN_REVOKED", "The session of this refresh token has ended.");
  if (row.usedBefore) {
    await endSessions(p, tx, { userId, sessionId, reason: "refresh token used twice" });
    return null;
  }
  if (row.expired) throw problem("TOKEN_EXPIRED", "The refresh token has expired; sign in again.");
  if (!row.usable) throw problem("SESSION_INVALIDATED", "The user is not active.");
  if (!row.isCurrent) throw accessChanged();
  if (!row.isAccepted) {
    throw problem("SESSION_INVALIDATED", `Tenant ${tenantId} accepts only sign-ins by its own provider.`);
  }
  await tx`update refresh_tokens set used_at = now() where token_hash = ${digest(token)}`;
  return { user: { id: userId, securityVersion }, sessionId, tenantId, boundTo: bound };
}

/**
 * Locks the open sessions of which the condition is true. Who opens a session by another one, such as that of a client by
 * that of a browser, holds the lock of the other one. So the statements after this one see the new session.
 */
export const lockSessions = (tx: Tx, which: SqlPart) =>
  tx`select from sessions where ${which} and revoked_at is null order by id for no key update`;

/**
 * Ends one, all but one, or all sessions of a user. With a browser's session, the sessions that OpenID clients opened by it
 * end too, unless they outlive it (see `openClientSession`). Tokens of ended sessions are rejected from the next request on.
 * @param o.sessionId ends only this session; absent: all except `o.exceptSessionId`
 * @returns the number of sessions that were open
 */
export async function endSessions(
  p: ChangingAccess,
  tx: Tx,
  o: { userId: string; sessionId?: string; exceptSessionId?: string; reason: string },
): Promise<number> {
  const ending = tx`user_id = ${o.userId}
    and (${o.sessionId ?? null}::uuid is null or ${o.sessionId ?? null} in (id, opened_by))
    and (${o.exceptSessionId ?? null}::uuid is null or id <> ${o.exceptSessionId ?? null})`;
  await lockSessions(tx, ending);
  await tellClients(p, tx, [o.userId]);
  const { count } = await tx`
    update sessions set revoked_at = now(), revoked_reason = ${o.reason}
    where ${ending} and revoked_at is null
      and security_version = (select ${securityVersionOf(tx)} from users u where u.id = ${o.userId})`;
  if (o.sessionId === undefined) {
    // A thief may have begun these: sign-ins that wait for their second factor, and changes of the email.
    await tx`delete from factor_tokens where user_id = ${o.userId}`;
    await tx`delete from email_changes
      where user_id = ${o.userId} and session_id is distinct from ${o.exceptSessionId ?? null}`;
  }
  p.rights.invalidateAfterCommit(tx, [o.userId]);
  return count;
}

/**
 * Marks all unused refresh tokens of a session as used. It locks the session, so that it also finds the token that a
 * concurrent refresh or switch inserts.
 */
export async function markRefreshTokensUsed(tx: Tx, sessionId: string): Promise<void> {
  await tx`select from sessions where id = ${sessionId} for no key update`;
  await tx`update refresh_tokens set used_at = now() where session_id = ${sessionId} and used_at is null`;
}

/** The tenant that a sign-in requests. */
export interface WantedTenant {
  /** Null: the user's default tenant. */
  tenantId: string | null;
  /** True requests a token without a tenant. */
  global: boolean;
}

/**
 * Chooses the tenant of a sign-in: the provider's, else the requested one, else that of `defaultTenantOf`, else none.
 * @param provider the tenant's provider that signs in; null: the password, a passkey or a provider of the service
 * @throws TENANT_FORBIDDEN if the user has no active link to it, or it does not accept this way to sign in
 */
export async function chooseTenant(
  q: Sql,
  userId: string,
  wanted: WantedTenant,
  provider: SessionProvider | null = null,
): Promise<string | null> {
  if (provider) {
    await requireProviderUser(q, userId, provider.tenantId);
    return provider.tenantId;
  }
  if (wanted.global) return null;
  const tenantId = wanted.tenantId ?? await defaultTenantOf(q, userId);
  if (tenantId !== null) await requireActiveLink(q, userId, tenantId);
  return tenantId;
}

/**
 * Checks that a tenant's provider may sign a user in. Users with platform reach are refused: what runs in their name without
 * a session, such as a report, would have it too.
 */
async function requireProviderUser(q: Sql, userId: string, tenantId: string): Promise<void> {
  await requireActiveLink(q, userId, tenantId, tenantId);
  const reach = await q`select from (${permissionCodes(q, userId, tenantId)}) held
    where held.code in (select code from permissions where reach = 'Platform')`;
  if (reach.length === 0) return;
  throw problem(
    "TENANT_FORBIDDEN",
    `The user has platform reach in tenant ${tenantId}, so its provider cannot sign them in.`,
  );
}

/**
 * The tenant that a user signs in to without naming one: the default, else the oldest active link's; null: none. Tenants that
 * accept only their own providers come last.
 */
export async function defaultTenantOf(q: Sql, userId: string): Promise<string | null> {
  const [link] = await q<{ tenantId: string }[]>`
    select l.tenant_id from user_tenants l join tenants t on t.id = l.tenant_id
    where l.user_id = ${userId} and l.is_active and t.is_active and t.deleted_at is null
    order by ${acceptsPassword(q)} desc, l.is_default desc, l.created_at, l.tenant_id limit 1`;
  return link?.tenantId ?? null;
}

/**
 * Checks that the user has an active link to the tenant, regardless of permissions, and that the tenant accepts the sign-in.
 * @param boundTo see `Caller`
 * @throws TENANT_FORBIDDEN
 */
export async function requireActiveLink(
  q: Sql,
  userId: string,
  tenantId: string,
  boundTo: string | null = null,
): Promise<void> {
  if (!await hasActiveLink(q, userId, tenantId, boundTo)) throw noAccess(tenantId);
}

/** True if the user has an active link to the tenant, and the tenant is active and accepts the sign-in. */
export async function hasActiveLink(
  q: Sql,
  userId: string,
  tenantId: string,
  boundTo: string | null,
): Promise<boolean> {
  const accepts = boundTo === null ? acceptsPassword(q) : q`t.id = ${boundTo}`;
  const rows = await q`select from user_tenants l join tenants t on t.id = l.tenant_id
    where l.user_id = ${userId} and l.tenant_id = ${tenantId} and l.is_active and t.is_active and t.deleted_at is null
      and ${accepts}`;
  return rows.length > 0;
}
