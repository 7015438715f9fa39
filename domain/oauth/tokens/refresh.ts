import { Buffer } from "node:buffer";
import { randomBytes } from "node:crypto";
import { type Sql, type SqlPart, transact } from "../../../infra/postgres/postgres.ts";
import { givesAccess } from "../../access/sign_in/client_session.ts";
import { endSessions, extendedExpiry } from "../../access/sign_in/sessions.ts";
import { isAcceptedIn } from "../../rights/tenant_sign_in.ts";
import { digest, newSecret } from "../../shared/secrets.ts";
import type { KnownClient } from "../clients/known_clients.ts";
import { listOf, OAuthError, type Parameters, requireParameter } from "../oauth_error.ts";
import type { OAuthPlatform } from "../platform.ts";
import { answerOf, type Granted, presentScopes, signAccessToken, type TokenAnswer } from "./grant.ts";

/** Minimum interval between two extensions of the session. Each one is an index write, because the expiry is indexed. */
const PROLONG_SECONDS = 60 * 60;
/** It is a small part of the lifetime of a refresh token, so that the session does not end before the token. */
const PROLONG_PART = 1 / 24;

/**
 * Exchanges a refresh token for new tokens. If a token is used twice, two parties have it and one may be a thief. So the
 * grant ends, as a session does (see `consumeRefreshToken`). Of concurrent requests with one token, one gets an answer.
 * The token is replaced after all checks and steps that may fail: a client without an answer has only the old token.
 * @throws OAuthError
 */
export async function refreshGrant(
  p: Pick<OAuthPlatform, "sql" | "tokens" | "rights">,
  client: KnownClient,
  parameters: Parameters,
): Promise<TokenAnswer> {
  const token = readRefreshToken(requireParameter(parameters, "refresh_token"));
  if (!token) throw refused("The refresh_token is unknown.");
  const wanted = parameters.has("scope") ? listOf(parameters.get("scope")) : null;
  const next = newRefreshToken(token.sessionId, token.family);
  const grant = await readGrant(p.sql, { client, token, wanted, hash: next.hash });
  if (!grant) throw await refusal(p, client, token, wanted);
  if (grant.mayNeedFactor) await requireFactor(p, grant);
  const scopes = presentScopes(client, wanted ?? grant.scopes);
  const accessToken = await signAccessToken(p, client, { ...grant, scopes });
  if (!grant.isReplaced && !await replaceToken(p.sql, client, token, next.hash)) {
    throw await refusal(p, client, token, wanted);
  }
  return { ...answerOf(accessToken, scopes, client.accessTokenSeconds), refresh_token: next.text };
}

/** A grant whose refresh token may be used now. */
interface CurrentGrant extends Granted {
  mayNeedFactor: boolean;
  /** The token was replaced with the check: no second factor is needed, and no permissions have to be read. */
  isReplaced: boolean;
}

/** The grant of a refresh token; undefined: the token is refused. */
async function readGrant(
  q: Sql,
  { client, token, wanted, hash }: {
    client: KnownClient;
    token: RefreshToken;
    wanted: string[] | null;
    hash: Uint8Array;
  },
): Promise<CurrentGrant | undefined> {
  const needsNothingElse = client.tokenClaims.includes("permissions")
    ? q`false`
    : q`exists (select from current where not may_need_factor)`;
  const replacement = replacing(q, client, token, { hash, condition: needsNothingElse });
  const [grant] = await q<CurrentGrant[]>`
    with current as (
      select g.session_id, g.user_id, g.tenant_id, g.scopes, s.security_version,
        coalesce(t.require_second_factor or t.type = 'Platform', true) as may_need_factor
      from oauth_grants g join sessions s on s.id = g.session_id join users u on u.id = s.user_id
      left join tenants t on t.id = g.tenant_id
      where ${isCurrent(q, token)} and g.client_id = ${client.id} and g.scopes @> ${wanted ?? []}::text[]
    ), ${replacement}
    select current.*, exists (select from rotated) as is_replaced from current`;
  return grant;
}

/** SQL condition: `token` is the one of the grant `g` and gives access now. */
const isCurrent = (q: Sql, token: RefreshToken) =>
  q`g.session_id = ${token.sessionId} and g.refresh_hash = ${token.hash} and g.refresh_expires_at > now()
    and ${givesAccess(q)} and ${isAcceptedIn(q, q`s`, q`g.tenant_id`)}`;

/** Replaces the refresh token, in one statement with its check. @returns false if another request was faster */
async function replaceToken(
  q: Sql,
  client: KnownClient,
  token: RefreshToken,
  hash: Uint8Array,
): Promise<boolean> {
  const rotated = replacing(q, client, token, { hash, condition: q`true` });
  const [replaced] = await q`with ${rotated} select from rotated`;
  return replaced !== undefined;
}

/** SQL of the queries `rotated` and `prolonged`, which replace the refresh token if it is current. */
function replacing(
  q: Sql,
  client: KnownClient,
  token: RefreshToken,
  { hash, condition }: { hash: Uint8Array; condition: SqlPart },
): SqlPart {
  const expiry = extendedExpiry(q, client);
  const prolongSeconds = Math.min(PROLONG_SECONDS, client.refreshTokenSeconds * PROLONG_PART);
  return q`rotated as (
      update oauth_grants g set refresh_hash = ${hash}, refreshed_at = now(), refresh_expires_at = ${expiry}
      from sessions s join users u on u.id = s.user_id
      where s.id = g.session_id and ${isCurrent(q, token)} and ${condition}
      returning g.session_id
    ), prolonged as (
      update sessions s set expires_at = ${expiry} from rotated
      where s.id = rotated.session_id and s.expires_at < ${expiry} - make_interval(secs => ${prolongSeconds})
    )`;
}

/** Refuses a session that lacks a second factor which its tenant requires since the sign-in. */
async function requireFactor(
  { rights }: Pick<OAuthPlatform, "rights">,
  { userId, sessionId, tenantId }: Granted,
): Promise<void> {
  const { proof } = await rights.read(userId, sessionId, tenantId);
  if (proof.isLimited) throw refused("The tenant requires a second factor, which the sign-in lacks.");
}

/** Returns the reason why a token was refused. Ends the grant if the token was replaced before. */
async function refusal(
  p: Pick<OAuthPlatform, "sql" | "rights">,
  client: KnownClient,
  token: RefreshToken,
  wanted: string[] | null,
): Promise<OAuthError> {
  return await transact(p.sql, async (tx) => {
    const [grant] = await tx<
      { userId: string; isOwn: boolean; isCurrent: boolean; isLive: boolean; scopes: string[] }[]
    >`
      select g.user_id, g.client_id = ${client.id} as is_own, g.refresh_hash = ${token.hash} as is_current, g.scopes,
        g.refresh_expires_at > now() and (${givesAccess(tx)})
        and ${isAcceptedIn(tx, tx`s`, tx`g.tenant_id`)} as is_live
      from oauth_grants g join sessions s on s.id = g.session_id join users u on u.id = g.user_id
      where g.session_id = ${token.sessionId} and g.family_hash = ${token.familyHash} for update of g`;
    if (!grant) return refused("The refresh_token is unknown.");
    if (!grant.isOwn) return refused("The refresh_token belongs to another client.");
    if (!grant.isCurrent) {
      const { userId } = grant;
      await endSessions(p, tx, { userId, sessionId: token.sessionId, reason: "refresh token used twice" });
      return refused("The refresh_token was already used, so its grant was revoked.");
    }
    if (!grant.isLive) return refused("The session of the user has ended, or the user's access changed.");
    if (wanted?.some((scope) => !grant.scopes.includes(scope))) {
      return new OAuthError("invalid_scope", "The scope exceeds the one that was granted.");
    }
    return refused("The refresh_token was used at the same time by another request.");
  });
}

const refused = (reason: string) => new OAuthError("invalid_grant", reason);

const FORM = /^ocr_([\w-]{22})([\w-]{22})([\w-]{43})$/;

/**
 * A refresh token: the id of its session, the family secret that all refresh tokens of a grant contain, and a secret of
 * its own. So the row of the grant, which only has the hash of the current one, is enough to recognise an old one.
 */
interface RefreshToken {
  sessionId: string;
  family: string;
  familyHash: Buffer;
  hash: Buffer;
}

/** Parses a refresh token; null if it cannot be one. */
export function readRefreshToken(text: string): RefreshToken | null {
  const [, session, family] = FORM.exec(text) ?? [];
  if (session === undefined || family === undefined) return null;
  const hex = Buffer.from(session, "base64url").toString("hex");
  const sessionId = hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
  return { sessionId, family, familyHash: digest(family), hash: digest(text) };
}

/**
 * A new refresh token of a session.
 * @param family that of the token which it replaces; absent: the first one of a grant.
 */
export function newRefreshToken(
  sessionId: string,
  family = randomBytes(16).toString("base64url"),
): RefreshToken & { text: string } {
  const session = Buffer.from(sessionId.replaceAll("-", ""), "hex").toString("base64url");
  const text = `ocr_${session}${family}${newSecret()}`;
  return { sessionId, family, familyHash: digest(family), hash: digest(text), text };
}
