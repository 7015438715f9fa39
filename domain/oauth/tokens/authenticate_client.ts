import { timingSafeEqual } from "node:crypto";
import { Buffer } from "node:buffer";
import { ACCESS_TOKEN_SECONDS } from "../../../infra/tokens.ts";
import { addressKey } from "../../access/sign_in/address.ts";
import { countFailedSignIn, requireAddressBelowLimit } from "../../access/sign_in/failed_sign_ins.ts";
import type { ServiceAccountRights } from "../../rights/key_rights.ts";
import { digest } from "../../shared/secrets.ts";
import type { KnownClient } from "../clients/known_clients.ts";
import { listOf, OAuthError, type Parameters } from "../oauth_error.ts";
import type { OAuthPlatform } from "../platform.ts";
import { USER_SCOPES } from "../clients/client.ts";
import { answerOf, scopeOf, type TokenAnswer } from "./grant.ts";

/** The caller of a route of the provider: a client or, by its client id and secret, a service account. */
export type Authenticated = { client: KnownClient } | { account: ServiceAccountRights };

interface Presented {
  clientId: string;
  secret: string | null;
}

type Authenticating = Pick<OAuthPlatform, "sql" | "rights" | "oauthClients">;

/**
 * Authenticates a client or a service account by client_secret_basic or client_secret_post, and a public client without a
 * secret.
 * @throws OAuthError invalid_client, invalid_request (both ways at once)
 * @throws RATE_LIMITED after 30 failures within 5 minutes for one client from one address. A right secret still works: it
 * has 256 random bits, so it cannot be guessed, and a stranger behind the same address cannot lock a client out.
 */
export async function authenticateClient(
  p: Authenticating,
  o: { authorization: string | null; parameters: Parameters; ip: string | null },
): Promise<Authenticated> {
  const presented = readPresented(o.authorization, o.parameters);
  const client = await p.oauthClients.read(presented.clientId);
  const found = client ? authenticated(client, presented) : await accountOf(p, presented, o.ip);
  if (found) return found;
  const subject = `${client ? client.clientId : "any client"} at ${addressKey(o.ip)}`;
  await countFailedSignIn(p, { address: subject, tried: null });
  await requireAddressBelowLimit(p.sql, subject);
  throw new OAuthError("invalid_client", "The client is unknown or revoked, or its secret is wrong.");
}

/** Returns the authenticated client. @throws OAuthError for a service account */
export function requireClient(by: Authenticated): KnownClient {
  if ("client" in by) return by.client;
  throw new OAuthError("unauthorized_client", "A service account may only use client_credentials.");
}

function authenticated(client: KnownClient, { secret }: Presented): Authenticated | null {
  const { secretHash } = client;
  if (secretHash === null) return secret === null ? { client } : null;
  return secret !== null && timingSafeEqual(secretHash, digest(secret)) ? { client } : null;
}

async function accountOf(
  p: Authenticating,
  { clientId, secret }: Presented,
  ip: string | null,
): Promise<Authenticated | null> {
  const key = secret === null ? null : await p.rights.keys.read(secret);
  if (key?.kind !== "serviceAccount" || key.clientId !== clientId) return null;
  if (key.revoked || key.replaced || key.expired) return null;
  p.rights.keys.recordUse(key, ip);
  return { account: key };
}

function readPresented(authorization: string | null, parameters: Parameters): Presented {
  const [clientId, secret] = [parameters.get("client_id"), parameters.get("client_secret")];
  const encoded = /^Basic +([\w+/=-]+) *$/i.exec(authorization ?? "")?.[1];
  if (encoded === undefined) {
    if (authorization !== null) {
      throw new OAuthError("invalid_client", "The Authorization is not of type Basic.");
    }
    if (clientId === undefined) throw new OAuthError("invalid_client", "The client does not say who it is.");
    return { clientId, secret: secret ?? null };
  }
  if (secret !== undefined) {
    throw new OAuthError("invalid_request", "The client authenticates in two ways at once.");
  }
  const [, name = "", given = ""] = /^([^:]*):(.*)$/s.exec(Buffer.from(encoded, "base64").toString()) ?? [];
  const basic = { clientId: formDecoded(name), secret: formDecoded(given) };
  if (clientId !== undefined && clientId !== basic.clientId) {
    throw new OAuthError("invalid_request", "The client_id differs from that in the Authorization.");
  }
  return basic;
}

/** RFC 6749, 2.3.1: both parts are form-encoded. */
function formDecoded(text: string): string {
  const malformed = () => new OAuthError("invalid_client", "The Authorization is malformed.");
  let decoded: string;
  try {
    decoded = decodeURIComponent(text.replaceAll("+", " "));
  } catch {
    throw malformed();
  }
  if (decoded.includes("\0")) throw malformed(); // the database cannot store it
  return decoded;
}

/**
 * Issues a token to a program for itself. That of a service account is good for the service's API, like the account's
 * secret, and ends with it. That of a client is for the client's audience.
 * @throws OAuthError
 */
export async function grantToProgram(
  p: Pick<OAuthPlatform, "tokens" | "clock">,
  by: Authenticated,
  parameters: Parameters,
): Promise<TokenAnswer> {
  if ("account" in by) {
    const { id, clientId, secretVersion, endsAt } = by.account;
    const secondsLeft = endsAt ? Math.floor((endsAt.getTime() - p.clock.now().getTime()) / 1000) : Infinity;
    const lifeSeconds = Math.max(0, Math.min(ACCESS_TOKEN_SECONDS, secondsLeft));
    const token = await p.tokens.signForAccount({ accountId: id, clientId, secretVersion, lifeSeconds });
    return answerOf(token, [], lifeSeconds);
  }
  const { client } = by;
  if (client.kind === "public") {
    throw new OAuthError("unauthorized_client", "A public client cannot get a token for itself.");
  }
  const scopes = scopesOf(client, parameters);
  return answerOf(
    await p.tokens.issue({
      typ: "at+jwt",
      algorithm: client.tokenAlgorithm,
      audience: client.audience,
      subject: client.clientId,
      lifeSeconds: client.accessTokenSeconds,
      claims: {
        client_id: client.clientId,
        ...scopeOf(scopes),
        ...client.tenantId === null ? {} : { tenant_id: client.tenantId },
      },
    }),
    scopes,
    client.accessTokenSeconds,
  );
}

/** The requested scopes; without a request, all of the client's own. */
function scopesOf({ scopes }: KnownClient, parameters: Parameters): string[] {
  const own = scopes.filter((scope) => !USER_SCOPES.includes(scope));
  if (!parameters.has("scope")) return own;
  const wanted = listOf(parameters.get("scope"));
  if (wanted.every((scope) => own.includes(scope))) return wanted;
  throw new OAuthError("invalid_scope", "The scope exceeds what the client may have for itself.");
}
