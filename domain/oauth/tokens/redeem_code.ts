import { createHash } from "node:crypto";
import { Buffer } from "node:buffer";
import { transact, type Tx } from "../../../infra/postgres/postgres.ts";
import { givesAccess } from "../../access/sign_in/client_session.ts";
import { endSessions, extendedExpiry } from "../../access/sign_in/sessions.ts";
import { isAcceptedIn } from "../../rights/tenant_sign_in.ts";
import { digest } from "../../shared/secrets.ts";
import type { KnownClient } from "../clients/known_clients.ts";
import { OAuthError, type Parameters, requireParameter } from "../oauth_error.ts";
import type { OAuthPlatform } from "../platform.ts";
import {
  answerOf,
  type Granted,
  presentScopes,
  signAccessToken,
  type TokenAnswer,
  userClaims,
} from "./grant.ts";
import { newRefreshToken } from "./refresh.ts";

interface StoredCode extends SignInRecord {
  clientId: string;
  redirectUri: string;
  codeChallenge: string;
  usedBefore: boolean;
  expired: boolean;
  isLive: boolean;
}

/**
 * Redeems the code of a sign-in for tokens, once. A code that is used again may be stolen, so the grant of the code ends. A
 * wrong client, redirect URI or verifier does not use up the code, because its rightful client may still redeem it.
 * @throws OAuthError
 */
export async function redeemCode(
  p: Pick<OAuthPlatform, "sql" | "tokens" | "rights">,
  client: KnownClient,
  parameters: Parameters,
): Promise<TokenAnswer> {
  const code = requireParameter(parameters, "code");
  const verifier = requireParameter(parameters, "code_verifier");
  // PKCE binds the code to its client, so OAuth 2.1 needs no redirect_uri here. Older clients send it.
  const redirectUri = parameters.get("redirect_uri");
  const redeemed = await transact(p.sql, async (tx) => {
    const grant = await lockCode(tx, code);
    if (!grant || grant.clientId !== client.id) throw refused("The code is unknown, or of another client.");
    if (grant.usedBefore) {
      const { userId, sessionId } = grant;
      await endSessions(p, tx, { userId, sessionId, reason: "code used twice" });
      return null; // this transaction must commit
    }
    if (grant.expired) throw refused("The code has expired.");
    if (redirectUri !== undefined && grant.redirectUri !== redirectUri) {
      throw refused("The redirect_uri is not that of the code.");
    }
    if (!fits(verifier, grant.codeChallenge)) {
      throw refused("The code_verifier does not fit the code_challenge.");
    }
    if (!grant.isLive) throw refused("The session of the user has ended.");
    const refreshToken = newRefreshToken(grant.sessionId);
    const { familyHash, hash } = refreshToken;
    await tx`with prolonged as (
        update sessions s set expires_at = ${extendedExpiry(tx, client)} where s.id = ${grant.sessionId}
        returning s.expires_at
      )
      update oauth_grants set code_used_at = now(), family_hash = ${familyHash}, refresh_hash = ${hash},
        refresh_expires_at = prolonged.expires_at, refreshed_at = now()
      from prolonged where session_id = ${grant.sessionId}`;
    return { grant, refreshToken: refreshToken.text };
  });
  if (!redeemed) throw refused("The code was already used, so the tokens that it gave were revoked.");
  const { refreshToken } = redeemed;
  const scopes = presentScopes(client, redeemed.grant.scopes);
  const grant = { ...redeemed.grant, scopes };
  const accessToken = await signAccessToken(p, client, grant);
  return {
    ...answerOf(accessToken, scopes, client.accessTokenSeconds),
    refresh_token: refreshToken,
    ...scopes.includes("openid") ? { id_token: await signIdToken(p, client, grant, accessToken) } : {},
  };
}

async function lockCode(tx: Tx, code: string): Promise<StoredCode | undefined> {
  const [grant] = await tx<StoredCode[]>`
    select g.session_id, g.client_id, g.user_id, g.tenant_id, g.scopes, g.browser_session_id, g.redirect_uri,
      g.code_challenge, g.nonce, g.code_used_at is not null as used_before, g.code_expires_at <= now() as expired,
      s.security_version, s.authenticated_at, s.amr, (${givesAccess(tx)})
        and ${isAcceptedIn(tx, tx`s`, tx`g.tenant_id`)} as is_live
    from oauth_grants g join sessions s on s.id = g.session_id join users u on u.id = g.user_id
    where g.code_hash = ${digest(code)} for update of g`;
  return grant;
}

const refused = (reason: string) => new OAuthError("invalid_grant", reason);

/** True if the verifier belongs to the S256 challenge (RFC 7636, 4.6). */
function fits(verifier: string, challenge: string): boolean {
  if (!/^[\w.~-]{43,128}$/.test(verifier)) return false;
  return Buffer.from(challenge).equals(
    Buffer.from(createHash("sha256").update(verifier).digest("base64url")),
  );
}

/** An ID token is proof of a sign-in that has just happened. */
const LIFE_SECONDS = 5 * 60;

/** A sign-in that an ID token tells of. */
interface SignInRecord extends Granted {
  browserSessionId: string;
  authenticatedAt: Date;
  amr: string[];
  nonce: string | null;
}

/**
 * Signs the ID token of a sign-in. `sid` is the session of the browser, so that all clients of a browser share it, and a
 * sign-out can name it. `at_hash` binds the token to the access token beside it.
 */
async function signIdToken(
  p: Pick<OAuthPlatform, "sql" | "tokens">,
  client: KnownClient,
  signIn: SignInRecord,
  accessToken: string,
): Promise<string> {
  const { userId, tenantId, nonce, amr, scopes } = signIn;
  const hash = createHash("sha256").update(accessToken).digest();
  return await p.tokens.issue({
    typ: "JWT",
    algorithm: "RS256",
    audience: client.clientId,
    subject: userId,
    lifeSeconds: LIFE_SECONDS,
    claims: {
      ...await userClaims(p.sql, userId, scopes),
      auth_time: Math.floor(signIn.authenticatedAt.getTime() / 1000),
      sid: signIn.browserSessionId,
      at_hash: hash.subarray(0, hash.length / 2).toString("base64url"),
      ...amr.length > 0 ? { amr } : {},
      ...nonce === null ? {} : { nonce },
      ...tenantId === null ? {} : { tenant_id: tenantId },
    },
  });
}
