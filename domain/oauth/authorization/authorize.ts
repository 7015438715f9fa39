import { type Sql, transact, type Tx } from "../../../infra/postgres/postgres.ts";
import type { BrowserSession } from "../../access/sign_in/browser_session.ts";
import { openClientSession } from "../../access/sign_in/client_session.ts";
import { defaultTenantOf, hasActiveLink } from "../../access/sign_in/sessions.ts";
import type { Origin } from "../../access/sign_in/sign_in.ts";
import { providerFactorRequired } from "../../rights/checks.ts";
import { digest, newSecret } from "../../shared/secrets.ts";
import { OAuthError } from "../oauth_error.ts";
import type { OAuthPlatform } from "../platform.ts";
import type { AuthorizationRequest } from "./request.ts";

/** A code must be redeemed within this time. */
const CODE_SECONDS = 60;

/** Maximum time between a sign-in that `max_age` asked for and the return of the browser. */
const RETURN_SECONDS = 5 * 60;

/** The next step: the user signs in, adds a second factor or answers the consent page, or the client gets a code. */
type Decision =
  | { next: "sign in"; again: boolean }
  | { next: "add factor" }
  | { next: "ask consent"; tenantId: string | null }
  | { next: "return"; code: string };

type Authorizing = Pick<OAuthPlatform, "sql" | "clock" | "tokens" | "rights" | "baseUrl">;

/**
 * Decides the next step of an authorization request of a browser.
 * @param session the browser's session; null: no user is signed in
 * @param o.consent the user's answer on the consent page; null: the user was not asked in this request
 * @throws OAuthError, to be sent to the redirect URI
 */
export async function authorize(
  p: Authorizing,
  request: AuthorizationRequest,
  session: BrowserSession | null,
  o: Origin & { consent: "allowed" | null },
): Promise<Decision> {
  const silent = request.prompts.has("none");
  if (!session || !await isSignInAccepted(p, request, session)) {
    if (silent) throw new OAuthError("login_required", "The user must sign in.");
    return { next: "sign in", again: session !== null };
  }
  const tenantId = await tenantFor(p, request, session);
  const { proof } = await p.rights.read(session.userId, session.sessionId, tenantId);
  if (proof.isLimited && session.boundTo !== null) {
    throw new OAuthError("access_denied", providerFactorRequired(session.boundTo).message);
  }
  if (proof.isLimited) {
    if (silent) throw new OAuthError("interaction_required", "The tenant requires a second factor.");
    return { next: "add factor" };
  }
  if (o.consent === null && await needsConsent(p.sql, request, session.userId)) {
    if (silent) throw new OAuthError("consent_required", "The user must allow the client its scopes.");
    return { next: "ask consent", tenantId };
  }
  return { next: "return", code: await openGrant(p, request, session, { ...o, tenantId }) };
}

/** True if the sign-in is recent enough, and by the user that the client expects. */
async function isSignInAccepted(
  p: Authorizing,
  request: AuthorizationRequest,
  session: BrowserSession,
): Promise<boolean> {
  const { prompts, maxAgeSeconds, signedInAfter, idTokenHint } = request;
  const at = session.authenticatedAt.getTime();
  if (prompts.has("login") || prompts.has("select_account")) return false;
  if (signedInAfter !== null && at < signedInAfter.getTime()) return false;
  if (maxAgeSeconds !== null) {
    // The return from a new sign-in and the consent page take time, and max_age may be 0.
    const seconds = signedInAfter === null ? maxAgeSeconds : Math.max(maxAgeSeconds, RETURN_SECONDS);
    if (at + seconds * 1000 < p.clock.now().getTime()) return false;
  }
  if (idTokenHint === null) return true;
  const hint = await p.tokens.verifyIssued(idTokenHint, "JWT", { evenIfExpired: true }).catch(() => {
    throw new OAuthError("invalid_request", "The id_token_hint is no ID token of this service.");
  });
  if (hint.sub === session.userId) return true;
  // A browser that comes back from the sign-in as another user is refused. Otherwise it would be sent there without end.
  if (signedInAfter === null) return false;
  throw new OAuthError("login_required", "Another user than that of the id_token_hint signed in.");
}

/** The tenant of the tokens: the client's, else the requested one, else that of the session or the user's default. */
async function tenantFor(
  p: Authorizing,
  { client, tenantId }: AuthorizationRequest,
  { userId, boundTo }: BrowserSession,
): Promise<string | null> {
  if (client.tenantId !== null && tenantId !== null && tenantId !== client.tenantId) {
    throw new OAuthError("access_denied", "The client serves another tenant.");
  }
  const named = client.tenantId ?? tenantId ?? boundTo ?? await defaultTenantOf(p.sql, userId);
  if (named === null || await hasActiveLink(p.sql, userId, named, boundTo)) return named;
  throw new OAuthError(
    "access_denied",
    "The user does not belong to the tenant, or must sign in to it by its own provider, or to another one by themselves.",
  );
}

/** Opens the client's session and its grant, which first is a code. */
async function openGrant(
  p: Authorizing,
  request: AuthorizationRequest,
  session: BrowserSession,
  o: Origin & { consent: "allowed" | null; tenantId: string | null },
): Promise<string> {
  const { client, scopes, redirectUri, codeChallenge, nonce } = request;
  const code = newSecret();
  const isOpen = await transact(p.sql, async (tx) => {
    const sessionId = await openClientSession(tx, {
      browserSessionId: session.sessionId,
      clientId: client.id,
      lifeSeconds: CODE_SECONDS,
      outlivesBrowser: scopes.includes("offline_access"),
      tellsClient: client.backchannelLogoutUri !== null,
      ip: o.ip,
      userAgent: o.userAgent,
    });
    if (sessionId === null) return false;
    if (o.consent === null && await needsConsent(tx, request, session.userId)) {
      throw new OAuthError("consent_required", "The user has just disconnected the client.");
    }
    // The consent to a client of all tenants counts in all of them, so a session of one tenant's provider gives it once only.
    const isLasting = session.boundTo === null || client.tenantId !== null;
    if (o.consent && isLasting) {
      await rememberConsent(tx, { userId: session.userId, clientId: client.id, scopes });
    }
    await tx`insert into oauth_grants (session_id, client_id, user_id, tenant_id, scopes, browser_session_id, code_hash,
        code_expires_at, redirect_uri, code_challenge, nonce)
      values (${sessionId}, ${client.id}, ${session.userId}, ${o.tenantId}, ${scopes}::text[], ${session.sessionId},
        ${digest(code)}, now() + make_interval(secs => ${CODE_SECONDS}), ${redirectUri}, ${codeChallenge},
        ${nonce})`;
    return true;
  });
  if (isOpen) return code;
  throw new OAuthError("login_required", "The user's session has just ended.");
}

/** Must the user be asked? Not by a first-party client, and not for scopes that the user allowed before. */
async function needsConsent(
  q: Sql,
  { client, scopes, prompts }: AuthorizationRequest,
  userId: string,
): Promise<boolean> {
  if (prompts.has("consent")) return true;
  if (client.firstParty) return false;
  const known = await q`select from oauth_consents
    where user_id = ${userId} and client_id = ${client.id} and scopes @> ${scopes}::text[]`;
  return known.length === 0;
}

/** Remembers that a user allows a client these scopes, besides those allowed before. */
async function rememberConsent(
  tx: Tx,
  o: { userId: string; clientId: string; scopes: string[] },
): Promise<void> {
  await tx`insert into oauth_consents as c (user_id, client_id, scopes)
    values (${o.userId}, ${o.clientId}, ${o.scopes}::text[])
    on conflict (user_id, client_id) do update set updated_at = now(),
      scopes = array(select distinct scope from unnest(c.scopes || excluded.scopes) scope order by scope)`;
}
