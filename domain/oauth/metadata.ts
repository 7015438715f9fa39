import type { Platform } from "../shared/platform.ts";
import { requireProviderKey, TOKEN_ALGORITHMS, USER_SCOPES } from "./clients/client.ts";

/** How a client may authenticate at the token endpoint; `none` is for public clients. */
const CLIENT_AUTHENTICATION = ["client_secret_basic", "client_secret_post", "none"] as const;
/** How a client may authenticate where it needs a secret. */
const SECRET_AUTHENTICATION = CLIENT_AUTHENTICATION.filter((way) => way !== "none");
/** The grant type of an exchanged token (RFC 8693). */
export const EXCHANGE_GRANT = "urn:ietf:params:oauth:grant-type:token-exchange";
/** Values of `prompt` that the authorization endpoint knows. */
export const PROMPTS = ["none", "login", "consent", "select_account"] as const;

/**
 * The metadata of the provider for clients, by OpenID Connect Discovery 1.0 and RFC 8414, which have the same members.
 * @throws OPENID_KEY_MISSING_UNAVAILABLE
 */
export function providerMetadata(p: Pick<Platform, "tokens" | "baseUrl">) {
  requireProviderKey(p);
  const issuer = p.baseUrl();
  return {
    issuer,
    authorization_endpoint: `${issuer}/oauth/authorize`,
    token_endpoint: `${issuer}/oauth/token`,
    userinfo_endpoint: `${issuer}/oauth/userinfo`,
    revocation_endpoint: `${issuer}/oauth/revoke`,
    introspection_endpoint: `${issuer}/oauth/introspect`,
    end_session_endpoint: `${issuer}/oauth/logout`,
    jwks_uri: `${issuer}/.well-known/jwks.json`,
    scopes_supported: [...USER_SCOPES],
    response_types_supported: ["code"],
    response_modes_supported: ["query"],
    grant_types_supported: ["authorization_code", "refresh_token", "client_credentials", EXCHANGE_GRANT],
    subject_types_supported: ["public"],
    id_token_signing_alg_values_supported: ["RS256"],
    access_token_signing_alg_values_supported: [...TOKEN_ALGORITHMS],
    token_endpoint_auth_methods_supported: [...CLIENT_AUTHENTICATION],
    introspection_endpoint_auth_methods_supported: [...SECRET_AUTHENTICATION, "Bearer"], // RFC 8414: a token type
    revocation_endpoint_auth_methods_supported: [...CLIENT_AUTHENTICATION],
    code_challenge_methods_supported: ["S256"],
    prompt_values_supported: [...PROMPTS],
    claims_supported: [
      "sub",
      "iss",
      "aud",
      "exp",
      "iat",
      "auth_time",
      "nonce",
      "amr",
      "sid",
      "tenant_id",
      "name",
      "given_name",
      "family_name",
      "email",
      "email_verified",
    ],
    ui_locales_supported: ["en", "pt"],
    authorization_response_iss_parameter_supported: true,
    backchannel_logout_supported: true,
    backchannel_logout_session_supported: true,
    request_parameter_supported: false,
    request_uri_parameter_supported: false,
    claims_parameter_supported: false,
  };
}
