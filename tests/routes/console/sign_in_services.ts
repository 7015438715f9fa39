/** Settings of a service with an OpenID provider, which does not answer, and a short limit for reading a body. */
export const AWAY = {
  OIDC_PROVIDERS: JSON.stringify({ away: { issuer: "http://127.0.0.1:1", clientId: "x" } }),
  BODY_TIMEOUT_SECONDS: "1",
};
