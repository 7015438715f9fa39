import { importPKCS8, SignJWT } from "jose";
import { z } from "zod";
import { callProvider } from "../http_out/provider_http.ts";
import type { FcmServiceAccount } from "../setting_shapes.ts";

const SCOPE = "https://www.googleapis.com/auth/firebase.messaging";
const GRANT = "urn:ietf:params:oauth:grant-type:jwt-bearer";
const ASSERTION_SECONDS = 3600;
/** A token is replaced this long before it expires, so that it does not expire during a request. */
const MARGIN_MS = 60_000;

const granted = z.object({ access_token: z.string().min(1), expires_in: z.number().positive() });
const refused = z.object({ error: z.string(), error_description: z.string().optional() });

/** The provider refused the sign-in. The cause is the configuration, not a message. */
export class SignInRefused extends Error {
  override readonly name = "SignInRefused";
}

/** The access token of a service account. */
export interface AccessTokens {
  /** The cached token, or a new one shortly before it expires. @throws SignInRefused, ProviderUnreachable */
  get(): Promise<string>;
  /** Removes a token that the provider refused from the cache. Has no effect if it was already replaced. */
  invalidate(token: string): void;
}

/**
 * Exchanges assertions signed by a Google service account (RS256) for access tokens at its `token_uri`. Concurrent
 * callers share one exchange.
 */
export function openAccessTokens(account: FcmServiceAccount, now: () => number = Date.now): AccessTokens {
  const key = importPKCS8(account.private_key, "RS256");
  key.catch(() => {}); // `exchange` awaits the key and throws the error
  let current: { value: string; usableUntil: number } | null = null;
  let running: Promise<string> | null = null;

  async function exchange(): Promise<string> {
    const issuedAt = Math.floor(now() / 1000);
    const assertion = await new SignJWT({ scope: SCOPE })
      .setProtectedHeader({ alg: "RS256", typ: "JWT", kid: account.private_key_id })
      .setIssuer(account.client_email).setAudience(account.token_uri)
      .setIssuedAt(issuedAt).setExpirationTime(issuedAt + ASSERTION_SECONDS)
      .sign(await key);
    const answer = await callProvider(account.token_uri, {
      headers: {},
      body: new URLSearchParams({ grant_type: GRANT, assertion }),
    });
    const token = granted.safeParse(answer.json);
    if (answer.status !== 200 || !token.success) throw new SignInRefused(whyRefused(answer));
    const { access_token: value, expires_in: seconds } = token.data;
    current = { value, usableUntil: now() + seconds * 1000 - MARGIN_MS };
    return value;
  }

  return {
    async get() {
      if (current && now() < current.usableUntil) return current.value;
      return await (running ??= exchange().finally(() => running = null));
    },
    invalidate(token) {
      if (current?.value === token) current = null;
    },
  };
}

function whyRefused({ status, json }: { status: number; json: unknown }): string {
  const error = refused.safeParse(json);
  const reason = error.success ? `: ${error.data.error_description ?? error.data.error}` : "";
  return `the provider refused the sign-in (${status}${reason})`;
}
