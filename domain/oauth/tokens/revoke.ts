import { transact } from "../../../infra/postgres/postgres.ts";
import { endSessions } from "../../access/sign_in/sessions.ts";
import type { KnownClient } from "../clients/known_clients.ts";
import { OAuthError, type Parameters, requireParameter } from "../oauth_error.ts";
import type { OAuthPlatform } from "../platform.ts";
import { readLiveToken } from "./live_token.ts";
import { readRefreshToken } from "./refresh_token.ts";

interface Target {
  clientId: string;
  userId: string;
  sessionId: string;
}

/**
 * Revokes a token of the client (RFC 7009) by ending its grant: the refresh token and all access tokens. An API that
 * verifies access tokens without asking accepts them until they expire. An unknown token is not an error.
 * @throws OAuthError for a token of another client, or one that belongs to no grant
 */
export async function revokeToken(
  p: Pick<OAuthPlatform, "sql" | "tokens" | "rights" | "oauthClients">,
  client: KnownClient,
  parameters: Parameters,
): Promise<void> {
  const text = requireParameter(parameters, "token");
  const target = await ofRefreshToken(p, text) ?? await ofAccessToken(p, text);
  if (!target) return;
  if (target.clientId !== client.id) {
    throw new OAuthError("invalid_grant", "The token belongs to another client.");
  }
  const { userId, sessionId } = target;
  await transact(p.sql, (tx) => endSessions(p, tx, { userId, sessionId, reason: "revoked by its client" }));
}

async function ofRefreshToken({ sql }: Pick<OAuthPlatform, "sql">, text: string): Promise<Target | null> {
  const token = readRefreshToken(text);
  if (!token) return null;
  const [grant] = await sql<Target[]>`select client_id, user_id, session_id from oauth_grants
    where session_id = ${token.sessionId} and family_hash = ${token.familyHash}`;
  return grant ?? null;
}

async function ofAccessToken(
  p: Pick<OAuthPlatform, "tokens" | "rights" | "oauthClients">,
  text: string,
): Promise<Target | null> {
  const token = await readLiveToken(p, text);
  if (!token) return null;
  const { user, client } = token;
  if (user) return { clientId: client.id, userId: user.id, sessionId: user.sessionId };
  throw new OAuthError(
    "unsupported_token_type",
    "The token of a client for itself cannot be revoked; it expires.",
  );
}
