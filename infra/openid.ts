import {
  allowInsecureRequests,
  authorizationCodeGrant,
  AuthorizationResponseError,
  buildAuthorizationUrl,
  calculatePKCECodeChallenge,
  ClientError,
  ClientSecretBasic,
  ClientSecretPost,
  clockSkew,
  type Configuration,
  discovery,
  enableNonRepudiationChecks,
  fetchUserInfo,
  None,
  ResponseBodyError,
} from "openid-client";
import type { Clock } from "../domain/shared/clock.ts";
import type { OpenIdSettings } from "./config.ts";

const TIMEOUT_SECONDS = 10;
/** Endpoints of a provider may move; what it said of itself is asked for again after this long. */
const DISCOVERY_LIFE_MS = 60 * 60_000;
/** The library bears 30 seconds between two clocks; the difference from the host's may change by so much of them. */
const SKEW_BORNE_SECONDS = 5;
/** Failures that speak of this one sign-in and not of the connection to the provider. */
const REFUSALS: ReadonlySet<string | undefined> = new Set([
  "OAUTH_INVALID_RESPONSE",
  "OAUTH_JWT_CLAIM_COMPARISON_FAILED",
  "OAUTH_JWT_TIMESTAMP_CHECK_FAILED",
  "OAUTH_JSON_ATTRIBUTE_COMPARISON_FAILED",
  "OAUTH_KEY_SELECTION_FAILED",
]);

/** Thrown when the provider, or a check of what it answered, refuses this sign-in. */
export class OpenIdRefused extends Error {
  override name = "OpenIdRefused";
}

/** Thrown when the provider cannot be spoken to. */
export class OpenIdUnavailable extends Error {
  override name = "OpenIdUnavailable";
}

/** Who signed in, as the provider vouches for it. */
export interface OpenIdIdentity {
  issuer: string;
  subject: string;
  email: string | null;
  isEmailVerified: boolean;
  firstName: string;
  lastName: string;
}

/** What binds the two halves of a sign-in to each other. */
export interface OpenIdBinding {
  state: string;
  nonce: string;
  codeVerifier: string;
}

export interface OpenIdProvider {
  /** Where the browser signs in. @throws OpenIdUnavailable */
  authorizationUrl(o: OpenIdBinding & { redirectUri: string }): Promise<URL>;
  /** Exchanges the code the browser came back with. @throws OpenIdRefused, OpenIdUnavailable */
  identify(callback: URL, o: OpenIdBinding): Promise<OpenIdIdentity>;
}

/**
 * Authorization code flow with PKCE (S256), state and nonce. ID tokens are verified by signature, too, although
 * they come straight from the provider, and their times by the service's clock.
 */
export function openIdProvider(settings: OpenIdSettings, clock: Clock): OpenIdProvider {
  let known: { configuration: Promise<Configuration>; since: number; skew: number } | null = null;

  async function configuration(): Promise<Configuration> {
    const skew = Math.round((clock.now().getTime() - Date.now()) / 1000); // the library asks the host's clock
    const isStale = !known || performance.now() - known.since > DISCOVERY_LIFE_MS;
    if (!known || isStale || Math.abs(skew - known.skew) > SKEW_BORNE_SECONDS) {
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
      return buildAuthorizationUrl(await configuration(), {
        redirect_uri: redirectUri,
        scope: settings.scopes.join(" "),
        state,
        nonce,
        code_challenge: await calculatePKCECodeChallenge(codeVerifier),
        code_challenge_method: "S256",
      });
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
        // Email and its verification are believed only together, from one and the same answer.
        const person = typeof claims.email === "string" || !client.serverMetadata().userinfo_endpoint
          ? claims
          : await fetchUserInfo(client, tokens.access_token, claims.sub);
        return {
          issuer: claims.iss,
          subject: claims.sub,
          email: text(person.email) || null,
          isEmailVerified: person.email_verified === true,
          firstName: text(person.given_name),
          lastName: text(person.family_name),
        };
      } catch (error) {
        throw isRefusal(error) ? new OpenIdRefused(reason(error)) : new OpenIdUnavailable(reason(error));
      }
    },
  };
}

async function discover(settings: OpenIdSettings, skew: number): Promise<Configuration> {
  const { clientSecret: secret } = settings;
  const authentication = secret === undefined
    ? None()
    : settings.clientAuthentication === "client_secret_post"
    ? ClientSecretPost(secret)
    : ClientSecretBasic(secret);
  const metadata = { ...(secret === undefined ? {} : { client_secret: secret }), [clockSkew]: skew };
  const isPlain = new URL(settings.issuer).protocol === "http:"; // configuration allows it on this machine only
  return await discovery(new URL(settings.issuer), settings.clientId, metadata, authentication, {
    execute: [enableNonRepudiationChecks, ...isPlain ? [allowInsecureRequests] : []],
    timeout: TIMEOUT_SECONDS,
  });
}

function isRefusal(error: unknown): boolean {
  if (error instanceof OpenIdRefused || error instanceof AuthorizationResponseError) return true;
  if (error instanceof ResponseBodyError) return error.error === "invalid_grant";
  return error instanceof ClientError && REFUSALS.has(error.code);
}

/** What went wrong in words that hold no token, code or claim. */
function reason(error: unknown): string {
  if (error instanceof AuthorizationResponseError || error instanceof ResponseBodyError) return error.error;
  const { message, code } = error as { message: string; code?: string };
  return code ? `${message} (${code})` : message;
}

/** A claim as text; empty where it is none that a database can hold. */
const text = (claim: unknown): string =>
  typeof claim === "string" && !claim.includes("\0") ? claim.trim().slice(0, 320) : "";
