import { accessClaims, TokenRefused } from "../../../infra/tokens.ts";
import { accessChanged, type Claims } from "../../rights/authenticate.ts";
import type { Caller } from "../../rights/caller.ts";
import type { OAuthPlatform } from "../platform.ts";
import { apiScopesOf } from "./client_token.ts";

/** Life of a ticket. It is short, because servers on the way may log the URL that contains it. */
export const TICKET_SECONDS = 60;
const TYPE = "stream-ticket+jwt";

/**
 * Signs a ticket for the stream of a user's notifications. It stands for the caller's token where a page can send no header.
 * @throws SESSION_INVALIDATED
 */
export async function signStreamTicket(
  { tokens, rights, config }: Pick<OAuthPlatform, "tokens" | "rights" | "config">,
  { userId, sessionId, tenantId, clientId }: Caller,
): Promise<string> {
  const { current, securityVersion } = await rights.read(userId, sessionId, tenantId);
  if (!current) throw accessChanged();
  return await tokens.issue({
    typ: TYPE,
    algorithm: "EdDSA",
    audience: config.TOKEN_AUDIENCE,
    subject: userId,
    lifeSeconds: TICKET_SECONDS,
    claims: { sid: sessionId, ver: securityVersion, tenant_id: tenantId, client_id: clientId },
  });
}

/** Reads the claims of a ticket, which are those of the token that it stands for. @throws TokenRefused */
export async function readStreamTicket(
  p: Pick<OAuthPlatform, "tokens" | "oauthClients">,
  ticket: string,
): Promise<Claims> {
  const claims = await p.tokens.verifyIssued(ticket, TYPE);
  const clientId = typeof claims.client_id === "string" ? claims.client_id : null;
  const apiScopes = clientId === null ? [] : await apiScopesOf(p, clientId, ["steward.self"]);
  if (clientId !== null && apiScopes.length === 0) {
    throw new TokenRefused("TOKEN_INVALID", "The ticket's client may not act for the user's own data.");
  }
  return { ...accessClaims(claims), clientId, apiScopes };
}
