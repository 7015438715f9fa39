import {
  allowInsecureRequests,
  authorizationCodeGrant,
  AuthorizationResponseError,
  buildAuthorizationUrl,
  calculatePKCECodeChallenge,
  type ClientAuth,
  ClientError,
  ClientSecretBasic,
  ClientSecretPost,
  clockSkew,
  type Configuration,
  type CustomFetch,
  customFetch,
  discovery,
  enableNonRepudiationChecks,
  fetchUserInfo,
  None,
  ResponseBodyError,
} from "openid-client";
import type { Clock } from "./clock.ts";
import type { Config, OpenIdSettings } from "./config.ts";
import { createHttpOut } from "./http_out/http_out.ts";

const TIMEOUT_SECONDS = 10;
/** Time for which the provider's metadata is cached. It is limited, because endpoints may change. */
const DISCOVERY_LIFE_MS = 60 * 60_000;
/** Change of the clock skew after which the client is configured again. The library tolerates 30 seconds of skew. */
const MAX_SKEW_CHANGE_SECONDS = 5;
const MAX_REASON = 200;
/** Error codes that concern this one sign-in, not the connection to the provider. */
const REFUSALS: ReadonlySet<string | undefined> = new Set([
  "OAUTH_INVALID_RESPONSE",
  "OAUTH_JWT_CLAIM_COMPARISON_FAILED",
  "OAUTH_JWT_TIMESTAMP_CHECK_FAILED",
  "OAUTH_JSON_ATTRIBUTE_COMPARISON_FAILED",
  "OAUTH_KEY_SELECTION_FAILED",
]);

/** Thrown when the provider refuses this sign-in, or when its answer fails a check. */
export class OpenIdRefused extends Error {
  override name = "OpenIdRefused";
}

/** Thrown when the provider cannot be reached or does not answer correctly. */
export class OpenIdUnavailable extends Error {
  override name = "OpenIdUnavailable";
}

/** The user who signed in, according to the provider. */
export interface OpenIdIdentity {
  issuer: string;
  subject: string;
  email: string | null;
  isEmailVerified: boolean;
  firstName: string;
  lastName: string;
  /** How the provider authenticated the user (RFC 8176); empty if it does not say. */
  amr: string[];
  /** All that the provider says of the user. */
  claims: Record<string, unknown>;
}

/** How the service speaks to a provider. */
export interface OpenIdClient
  extends Pick<OpenIdSettings, "issuer" | "clientId" | "clientSecret" | "scopes"> {
  /** `supported`: the first of the two methods that the provider names. */
  clientAuthentication: OpenIdSettings["clientAuthentication"] | "supported";
  /** Scopes to ask for if the provider names them. */
  optionalScopes?: string[];
  /** Claims to look for in the ID token, and if one is missing also in the answer of the userinfo endpoint. Absent: `email`. */
  claims?: string[];
  /** Sends the requests to the provider; absent: the host's own `fetch`. */
  fetch?: CustomFetch;
}

/** Secrets that tie the callback of a sign-in to its start. */
export interface OpenIdBinding {
  state: string;
  nonce: string;
  codeVerifier: string;
}

export interface OpenIdProvider {
  /** Returns the URL where the browser signs in. @throws OpenIdUnavailable */
  authorizationUrl(o: OpenIdBinding & { redirectUri: string }): Promise<URL>;
  /** Exchanges the code in the callback URL for the user's identity. @throws OpenIdRefused, OpenIdUnavailable */
  identify(callback: URL, o: OpenIdBinding): Promise<OpenIdIdentity>;
}

/**
 * Authorization code flow with PKCE (S256), state and nonce. The signature of ID tokens is verified too, although they
 * come directly from the provider. Their times are compared with the service's clock.
 */
export function openIdProvider(settings: OpenIdClient, clock: Clock): OpenIdProvider {
  let known: { configuration: Promise<Configuration>; since: number; skew: number } | null = null;

  async function configuration(): Promise<Configuration> {
    const skew = Math.round((clock.now().getTime() - Date.now()) / 1000); // the library uses the host's clock
    const isStale = !known || performance.now() - known.since > DISCOVERY_LIFE_MS;
    if (!known || isStale || Math.abs(skew - known.skew) > MAX_SKEW_CHANGE_SECONDS) {
      known = { configuration: discover(settings, skew), since: performance.now(), skew };
    }
    try {
      return await known.configuration;
    } catch (error) {
      known = null;
      throw new OpenIdUnavailable(`the provider's discovery failed: ${reason(error)}`);
    }
  }

  return {
    async authorizationUrl({ redirectUri, state, nonce, codeVerifier }) {
      const client = await configuration();
      const { scopes_supported: supported = [] } = client.serverMetadata();
      const more = (settings.optionalScopes ?? []).filter((scope) => supported.includes(scope));
      const parameters = {
        redirect_uri: redirectUri,
        scope: [...settings.scopes, ...more].join(" "),
        state,
        nonce,
        code_challenge: await calculatePKCECodeChallenge(codeVerifier),
        code_challenge_method: "S256",
      };
      try {
        return buildAuthorizationUrl(client, parameters);
      } catch (error) {
        throw new OpenIdUnavailable(`the provider's authorization endpoint cannot be used: ${reason(error)}`);
      }
    },
    async identify(callback, { state, nonce, codeVerifier }) {
      const client = await configuration();
      try {
        const tokens = await authorizationCodeGrant(client, callback, {
          expectedState: state,
          expectedNonce: nonce,
          pkceCodeVerifier: codeVerifier,
        });
        const claims = tokens.claims();
        if (!claims) throw new OpenIdRefused("the provider gave no ID token");
        const isComplete = (settings.claims ?? ["email"]).every((name) => claims[name] !== undefined);
        const info = isComplete || !client.serverMetadata().userinfo_endpoint
          ? null
          : await fetchUserInfo(client, tokens.access_token, claims.sub);
        // `email` and `email_verified` must come from the same answer.
        const { email_verified } = info?.email === undefined ? claims : info;
        const person: Record<string, unknown> = { ...claims, ...info, email_verified };
        return {
          issuer: claims.iss,
          subject: claims.sub,
          email: text(person.email) || null,
          isEmailVerified: person.email_verified === true,
          firstName: text(person.given_name),
          lastName: text(person.family_name),
          amr: Array.isArray(claims.amr) ? claims.amr.map(String) : [],
          claims: person,
        };
      } catch (error) {
        throw isRefusal(error) ? new OpenIdRefused(reason(error)) : new OpenIdUnavailable(reason(error));
      }
    },
  };
}

async function discover(settings: OpenIdClient, skew: number): Promise<Configuration> {
  const { clientSecret: secret } = settings;
  const authentication = secret === undefined
    ? None()
    : settings.clientAuthentication === "supported"
    ? supportedAuthentication(secret)
    : settings.clientAuthentication === "client_secret_post"
    ? ClientSecretPost(secret)
    : ClientSecretBasic(secret);
  const metadata = { ...(secret === undefined ? {} : { client_secret: secret }), [clockSkew]: skew };
  const isPlain = new URL(settings.issuer).protocol === "http:"; // the settings allow http only for localhost
  const client = await discovery(new URL(settings.issuer), settings.clientId, metadata, authentication, {
    execute: [enableNonRepudiationChecks, ...isPlain ? [allowInsecureRequests] : []],
    timeout: TIMEOUT_SECONDS,
    ...settings.fetch ? { [customFetch]: settings.fetch } : {},
  });
  // Entra's `common` and `organizations`, for which the library accepts the ID tokens of every directory
  if (client.serverMetadata().issuer.includes("{tenantid}")) {
    throw new Error(
      "expected the issuer of one directory; found one that stands for all, whose administrators assert any email",
    );
  }
  return client;
}

/** Sends the secret as the provider wants it; the usual way is in a header (OpenID Connect Discovery, 3). */
const supportedAuthentication = (secret: string): ClientAuth => (server, ...request) => {
  const supported = server.token_endpoint_auth_methods_supported ?? ["client_secret_basic"];
  const send = supported.includes("client_secret_basic") ? ClientSecretBasic : ClientSecretPost;
  send(secret)(server, ...request);
};

/** A `fetch` that reaches only what OUTBOUND_ALLOW lets callers reach, for providers that tenants name. */
export function guardedFetch(allow: string | null): CustomFetch {
  const http = createHttpOut({ allow, wholeMs: TIMEOUT_SECONDS * 1000, followsRedirects: false });
  return async (url, { method, headers, body }) => {
    const content = body instanceof URLSearchParams
      ? String(body)
      : body as string | null | undefined ?? null;
    const answer = await http.send({ url, method, headers, body: content }).catch((cause: Error) => {
      throw new OpenIdUnavailable(cause.message, { cause });
    });
    if (answer.isTruncated) throw new OpenIdUnavailable("the provider's answer is larger than 1 MiB");
    const isEmpty = [204, 205, 304].includes(answer.status);
    return new Response(isEmpty ? null : answer.body as BodyInit, answer);
  };
}

function isRefusal(error: unknown): boolean {
  if (error instanceof OpenIdRefused || error instanceof AuthorizationResponseError) return true;
  if (error instanceof ResponseBodyError) return error.error === "invalid_grant";
  return error instanceof ClientError && REFUSALS.has(error.code);
}

/** The reason of a failure, as a short text without tokens, codes or claims. */
function reason(error: unknown): string {
  if (error instanceof AuthorizationResponseError || error instanceof ResponseBodyError) {
    return error.error.slice(0, MAX_REASON); // the provider, or who wrote the callback's address, chose it
  }
  const { message, code, cause } = error as { message: string; code?: string; cause?: unknown };
  if (cause instanceof OpenIdUnavailable) return cause.message; // of `guardedFetch`
  return code ? `${message} (${code})` : message;
}

/** A claim as text of at most 320 characters; "" if it is not a text or contains NUL, which Postgres cannot store. */
const text = (claim: unknown): string =>
  typeof claim === "string" && !claim.includes("\0") ? claim.trim().slice(0, 320) : "";

/** A configured OpenID provider and its client. */
export interface NamedProvider {
  name: string;
  settings: OpenIdSettings;
  openId: OpenIdProvider;
}

/** The configured OpenID providers by name. */
export type OpenIdProviders = ReadonlyMap<string, NamedProvider>;

/** The configured OpenID providers, by name. The service contacts a provider at the first sign-in by it. */
export const createOpenIdProviders = (
  { config, clock }: { config: Pick<Config, "OIDC_PROVIDERS">; clock: Clock },
): OpenIdProviders =>
  new Map(
    Object.entries(config.OIDC_PROVIDERS ?? {}).map(([name, settings]) => [
      name,
      { name, settings, openId: openIdProvider(settings, clock) },
    ]),
  );
