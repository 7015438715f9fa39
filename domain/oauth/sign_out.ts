import { transact } from "../../infra/postgres/postgres.ts";
import { TokenRefused } from "../../infra/tokens.ts";
import type { BrowserSession } from "../access/sign_in/browser_session.ts";
import { endSessions } from "../access/sign_in/sessions.ts";
import type { OAuthClient } from "./clients/client.ts";
import { isRegistered } from "./clients/redirect_uris.ts";
import { OAuthError, type Parameters } from "./oauth_error.ts";
import type { OAuthPlatform } from "./platform.ts";

/** A sign-out that a client asks for. */
export interface SignOut {
  /** The browser's session that the client's ID token names; null: no ID token was given. */
  sessionId: string | null;
  userId: string | null;
  /** URI to which the browser returns afterwards; null: it stays on the page of the service. */
  returnTo: string | null;
  /** The client that asks; null: it is unknown. */
  client: OAuthClient | null;
}

/** Checks the request of a client to sign the browser out. @throws OAuthError, which is shown on a page */
export async function readSignOut(
  p: Pick<OAuthPlatform, "tokens" | "oauthClients">,
  parameters: Parameters,
): Promise<SignOut> {
  const hint = await readHint(p, parameters.get("id_token_hint"));
  const named = parameters.get("client_id");
  if (hint && named !== undefined && named !== hint.clientId) {
    throw new OAuthError("invalid_request", "The client_id differs from that of the id_token_hint.");
  }
  const clientId = hint?.clientId ?? named;
  const client = clientId === undefined ? null : await p.oauthClients.read(clientId);
  const returnTo = readReturn(client, parameters);
  return { sessionId: hint?.sessionId ?? null, userId: hint?.userId ?? null, returnTo, client };
}

function readReturn(client: OAuthClient | null, parameters: Parameters): string | null {
  const uri = parameters.get("post_logout_redirect_uri");
  if (uri === undefined) return null;
  if (!client || !isRegistered(uri, { kind: client.kind, uris: client.postLogoutRedirectUris })) {
    throw new OAuthError(
      "invalid_request",
      "The post_logout_redirect_uri is none that the client registered.",
    );
  }
  const state = parameters.get("state");
  if (state === undefined) return uri;
  return `${uri}${uri.includes("?") ? "&" : "?"}${new URLSearchParams({ state })}`;
}

async function readHint(
  { tokens }: Pick<OAuthPlatform, "tokens">,
  hint: string | undefined,
): Promise<{ clientId: string; sessionId: string; userId: string } | null> {
  if (hint === undefined) return null;
  try {
    const { aud, sid, sub } = await tokens.verifyIssued(hint, "JWT", { evenIfExpired: true });
    return { clientId: String(aud), sessionId: String(sid), userId: String(sub) };
  } catch (error) {
    if (!(error instanceof TokenRefused)) throw error;
    throw new OAuthError("invalid_request", "The id_token_hint is no ID token of this service.");
  }
}

/**
 * Ends the browser's session and the client sessions that were opened by it. If the browser has no session, for example
 * because its cookie has expired, ends the session that the client's ID token names.
 */
export async function signOutBrowser(
  p: Pick<OAuthPlatform, "sql" | "rights">,
  { sessionId, userId }: Pick<SignOut, "sessionId" | "userId">,
  browser: BrowserSession | null,
): Promise<void> {
  const target = browser ? { sessionId: browser.sessionId, userId: browser.userId } : { sessionId, userId };
  const { sessionId: session, userId: user } = target;
  if (session === null || user === null) return;
  const ended = { userId: user, sessionId: session, reason: "signed out by a client" };
  await transact(p.sql, (tx) => endSessions(p, tx, ended));
}
