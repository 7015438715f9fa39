/** Error codes of OAuth 2.0 (RFC 6749, 6750, 7009, 8707) and OpenID Connect. */
export type OAuthErrorCode =
  | "access_denied"
  | "consent_required"
  | "insufficient_scope"
  | "interaction_required"
  | "invalid_client"
  | "invalid_grant"
  | "invalid_request"
  | "invalid_scope"
  | "invalid_target"
  | "invalid_token"
  | "login_required"
  | "request_not_supported"
  | "request_uri_not_supported"
  | "temporarily_unavailable"
  | "unauthorized_client"
  | "unsupported_grant_type"
  | "unsupported_response_type"
  | "unsupported_token_type";

/** A refusal in the format of OAuth. `message` is its `error_description`: printable ASCII without quotes. */
export class OAuthError extends Error {
  override name = "OAuthError";
  constructor(readonly error: OAuthErrorCode, description: string) {
    super(description.replaceAll(/[^\x20-\x7e]/g, "?").replaceAll(/["\\]/g, "'"));
  }
}

/** The values of a request's parameters by name. Empty values count as absent (RFC 6749, 3.1). */
export type Parameters = ReadonlyMap<string, string>;

/** @throws OAuthError if a parameter is repeated, or has a character that the database cannot store */
export function readParameters(given: URLSearchParams): Parameters {
  const values = new Map<string, string>();
  for (const [name, value] of given) {
    if (value === "") continue;
    if (values.has(name)) throw new OAuthError("invalid_request", `The parameter ${name} is repeated.`);
    if (value.includes("\0")) throw new OAuthError("invalid_request", `The parameter ${name} contains NUL.`);
    values.set(name, value);
  }
  return values;
}

/** @throws OAuthError if the parameter is absent */
export function requireParameter(parameters: Parameters, name: string): string {
  const value = parameters.get(name);
  if (value !== undefined) return value;
  throw new OAuthError("invalid_request", `The parameter ${name} is missing.`);
}

/** The values of a parameter that is a list separated by spaces, without repetition. */
export const listOf = (text: string | undefined): string[] => [
  ...new Set((text ?? "").split(" ").filter((part) => part !== "")),
];
