import { isUuid } from "../../shared/ids.ts";
import { isSameAudience, type OAuthClient } from "../clients/client.ts";
import { isRegistered } from "../clients/redirect_uris.ts";
import type { KnownClient } from "../clients/known_clients.ts";
import { PROMPTS } from "../metadata.ts";
import { listOf, OAuthError, type Parameters, readParameters, requireParameter } from "../oauth_error.ts";
import type { OAuthPlatform } from "../platform.ts";

/** Maximum number of characters of a parameter that the answer repeats or a page shows. */
const MAX_LENGTH = 2000;
type Prompt = typeof PROMPTS[number];

/** The target of the answer to an authorization request: a redirect URI that its client registered. */
export interface TrustedReturn {
  client: KnownClient;
  redirectUri: string;
  state: string | null;
}

/** A valid authorization request. */
export interface AuthorizationRequest extends TrustedReturn {
  /** The requested scopes that the client may have. */
  scopes: string[];
  nonce: string | null;
  codeChallenge: string;
  prompts: ReadonlySet<Prompt>;
  maxAgeSeconds: number | null;
  loginHint: string | null;
  idTokenHint: string | null;
  /** The tenant that the client asks for; null: the user's own choice, as at a sign-in. */
  tenantId: string | null;
  /** Only a sign-in after this time counts; set by the service itself after `prompt=login` and `max_age`. */
  signedInAfter: Date | null;
}

/**
 * Finds the client and checks the redirect URI. Its errors are shown on a page. They must not be sent to the URI, which may be
 * an attacker's.
 * @throws OAuthError
 */
export async function readTrustedReturn(
  p: Pick<OAuthPlatform, "oauthClients">,
  parameters: Parameters,
): Promise<TrustedReturn> {
  const client = await p.oauthClients.read(requireParameter(parameters, "client_id"));
  if (!client) throw new OAuthError("invalid_client", "No client has this client_id, or it was revoked.");
  const redirectUri = requireParameter(parameters, "redirect_uri");
  if (!isRegistered(redirectUri, { kind: client.kind, uris: client.redirectUris })) {
    throw new OAuthError("invalid_request", "The redirect_uri is none that the client registered.");
  }
  return { client, redirectUri, state: parameters.get("state") ?? null };
}

/** Whose name and looks a page of a sign-in or sign-out has; both null: the service's own. */
export interface PageOwner {
  tenantId: string | null;
  /** Only of a first-party client: another one must not look like the service that the user trusts. */
  clientName: string | null;
}

export const pageOwnerOf = (
  client: Pick<OAuthClient, "tenantId" | "firstParty" | "name">,
  tenantId: string | null,
): PageOwner => ({
  tenantId: client.tenantId ?? tenantId,
  clientName: client.firstParty ? client.name : null,
});

/**
 * The owner of the pages of a request, as far as it is known before the sign-in: the client and its tenant, or the tenant
 * that the client asks for; nobody if the client or the redirect URI is not trusted.
 */
export async function readPageOwner(
  p: Pick<OAuthPlatform, "oauthClients">,
  given: URLSearchParams,
): Promise<PageOwner> {
  try {
    const parameters = readParameters(given);
    const { client } = await readTrustedReturn(p, parameters);
    return pageOwnerOf(client, tenant(parameters));
  } catch (error) {
    if (error instanceof OAuthError) return { tenantId: null, clientName: null };
    throw error;
  }
}

/** Checks all other parameters. @throws OAuthError, to be sent to the redirect URI */
export function readRequest(trusted: TrustedReturn, parameters: Parameters): AuthorizationRequest {
  for (
    const [name, error] of [["request", "request_not_supported"], [
      "request_uri",
      "request_uri_not_supported",
    ]] as const
  ) {
    if (parameters.has(name)) throw new OAuthError(error, `The parameter ${name} is not supported.`);
  }
  const responseType = requireParameter(parameters, "response_type");
  if (responseType !== "code") {
    throw new OAuthError("unsupported_response_type", "The response_type must be code.");
  }
  if ((parameters.get("response_mode") ?? "query") !== "query") {
    throw new OAuthError("invalid_request", "The response_mode must be query.");
  }
  const { client } = trusted;
  const resource = parameters.get("resource");
  if (resource !== undefined && !isSameAudience(resource, client.audience)) {
    throw new OAuthError("invalid_target", "The resource must be the audience of the client.");
  }
  for (const name of ["state", "nonce", "login_hint"]) {
    if ((parameters.get(name) ?? "").length > MAX_LENGTH) {
      throw new OAuthError(
        "invalid_request",
        `The parameter ${name} is longer than ${MAX_LENGTH} characters.`,
      );
    }
  }
  return {
    ...trusted,
    scopes: scopesOf(client, listOf(parameters.get("scope"))),
    nonce: parameters.get("nonce") ?? null,
    codeChallenge: codeChallenge(parameters),
    prompts: prompts(parameters),
    maxAgeSeconds: maxAge(parameters),
    loginHint: parameters.get("login_hint") ?? null,
    idTokenHint: parameters.get("id_token_hint") ?? null,
    tenantId: tenant(parameters),
    signedInAfter: signedInAfter(parameters),
  };
}

/** The wanted scopes that the client may have. The request fails if none is left, because `scope` must not be empty. */
function scopesOf(client: KnownClient, wanted: string[]): string[] {
  const scopes = wanted.filter((scope) => client.scopes.includes(scope));
  if (scopes.length > 0 || wanted.length === 0) return scopes;
  throw new OAuthError("invalid_scope", "The client may have none of the scopes.");
}

/** PKCE is always needed, with S256: a plain challenge would show the verifier to everyone who sees the request. */
function codeChallenge(parameters: Parameters): string {
  const challenge = requireParameter(parameters, "code_challenge");
  if (parameters.get("code_challenge_method") !== "S256") {
    throw new OAuthError("invalid_request", "The code_challenge_method must be S256.");
  }
  if (/^[\w-]{43}$/.test(challenge)) return challenge;
  throw new OAuthError("invalid_request", "The code_challenge must be the base64url of 32 bytes.");
}

function prompts(parameters: Parameters): ReadonlySet<Prompt> {
  const given = listOf(parameters.get("prompt"));
  const known = given.flatMap((name) => PROMPTS.filter((prompt) => prompt === name));
  if (known.length < given.length) {
    throw new OAuthError("invalid_request", `The values of prompt must be of ${PROMPTS.join(", ")}.`);
  }
  if (known.length > 1 && known.includes("none")) {
    throw new OAuthError("invalid_request", "The prompt none excludes all others.");
  }
  return new Set(known);
}

function maxAge(parameters: Parameters): number | null {
  const text = parameters.get("max_age");
  if (text === undefined) return null;
  if (/^\d{1,9}$/.test(text)) return Number(text);
  throw new OAuthError("invalid_request", "The max_age must be a number of seconds.");
}

function tenant(parameters: Parameters): string | null {
  const id = parameters.get("tenant");
  if (id === undefined || isUuid(id)) return id?.toLowerCase() ?? null;
  throw new OAuthError("invalid_request", "The tenant must be a UUID.");
}

/** Name of the parameter with the time after which the user must have signed in. */
export const SIGNED_IN_AFTER = "signed_in_after";

function signedInAfter(parameters: Parameters): Date | null {
  const text = parameters.get(SIGNED_IN_AFTER);
  return text !== undefined && /^\d{1,15}$/.test(text) ? new Date(Number(text)) : null;
}

/** The redirect URI with the parameters of an answer. `iss` says who answers (RFC 9207). */
export function answerUrl(
  { redirectUri, state }: TrustedReturn,
  issuer: string,
  answer: Record<string, string>,
): string {
  const parameters = new URLSearchParams({ ...answer, ...state === null ? {} : { state }, iss: issuer });
  return `${redirectUri}${redirectUri.includes("?") ? "&" : "?"}${parameters}`;
}
