import { type CatalogueEntry, entry } from "./entry.ts";

/** Problems of tokens, sign-in and tenant context. */
export const AUTH_PROBLEMS = {
  TOKEN_MISSING: entry(
    401,
    "Access token missing",
    "The route needs an authenticated caller, but the request has no bearer token.",
    "Sign in and send `Authorization: Bearer <accessToken>`.",
  ),
  TOKEN_INVALID: entry(
    401,
    "Token is invalid",
    "The token is malformed or unknown, has a wrong issuer, audience or algorithm, or is not signed with a current key.",
    "Sign in again and send the token unchanged.",
  ),
  TOKEN_EXPIRED: entry(
    401,
    "Token has expired",
    "The token was valid, but its lifetime is over.",
    "Use the refresh token, or sign in again. Replace an expired API key.",
  ),
  TOKEN_REVOKED: entry(
    401,
    "Session has ended",
    "The session was ended, or one of its refresh tokens was used twice. An API key with this code was revoked.",
    "Sign in again. If no one ended the session, another party may have a copy of the token.",
  ),
  SESSION_INVALIDATED: entry(
    401,
    "Session ended by a change of access",
    "The user, or one of the user's roles, permissions or tenant links, has changed since the sign-in.",
    "Sign in again. The session's refresh token is invalid too.",
  ),
  CREDENTIALS_INVALID_UNAUTHORIZED: entry(
    401,
    "Email or password is wrong",
    "No active user has this email and password.",
    "Check both, or request a password reset.",
  ),
  ACCOUNT_LOCKED_UNAUTHORIZED: entry(
    401,
    "Account is locked",
    "The account is locked for a short time after too many wrong passwords.",
    "Wait for the number of seconds in Retry-After, then sign in with the right password.",
  ),
  RATE_LIMITED: entry(
    429,
    "Too many requests",
    "This caller or address sent more requests than its limit allows.",
    "Wait for the number of seconds in Retry-After.",
  ),
  SIGN_IN_BUSY_UNAVAILABLE: entry(
    503,
    "Too many concurrent sign-ins",
    "The sign-in was not tried because too many others are waiting for their password check.",
    "Try again after the number of seconds in Retry-After.",
  ),
  RESET_TOKEN_INVALID: entry(
    400,
    "Password reset link is invalid",
    "The password was not reset because the token is unknown, was already used, or is older than 30 minutes.",
    "Request a new link with forgot-password and use the newest one.",
  ),
  SESSION_NOT_FOUND: entry(
    404,
    "Session not found",
    "The user has no open session with this id.",
    "List the open sessions. A session that has ended cannot be ended again.",
  ),
  OIDC_PROVIDER_NOT_FOUND: entry(
    404,
    "Identity provider not found",
    "No OpenID provider with this name is configured.",
    "List the providers with GET /api/v1/auth/oidc.",
  ),
  OIDC_STATE_INVALID: entry(
    400,
    "Sign-in cannot be finished",
    "The sign-in's state is unknown, was already used, is older than ten minutes, or belongs to another provider or browser.",
    "Start the sign-in again. Use one browser with cookies enabled.",
  ),
  OIDC_HANDOVER_INVALID: entry(
    400,
    "Sign-in code is invalid",
    "The code of a finished sign-in is unknown, was already used, or is older than a minute.",
    "Start the sign-in again.",
  ),
  OIDC_REFUSED_UNAUTHORIZED: entry(
    401,
    "Identity provider did not confirm the user",
    "The provider rejected the sign-in, or its answer is forged, replayed, or for another sign-in.",
    "Start the sign-in again. If it fails again, compare the client settings with the provider's.",
  ),
  OIDC_EMAIL_UNVERIFIED_FORBIDDEN: entry(
    403,
    "Email is not verified",
    "The identity provider returned no verified email, so the user cannot be found by email.",
    "Verify the email at the provider, then sign in again.",
  ),
  OIDC_USER_UNKNOWN_FORBIDDEN: entry(
    403,
    "No user for this identity",
    "No active user has the email of this identity, and the provider is not configured to create users.",
    "Ask an administrator to create or activate the user.",
  ),
  OIDC_IDENTITY_CONFLICT: entry(
    409,
    "User is linked to another identity",
    "The user with this email is already linked to another account at the same provider.",
    "Sign in with that account, or with the password.",
  ),
  OIDC_PROVIDER_UNAVAILABLE: entry(
    503,
    "Identity provider unavailable",
    "The provider could not be reached, or it does not accept this service as its client.",
    "Try again later. The service's log has the reason.",
  ),
  API_KEY_NOT_FOUND: entry(
    404,
    "API key not found",
    "The tenant has no API key with this id.",
    "Check the id.",
  ),
  FORBIDDEN: entry(
    403,
    "Not allowed",
    "The caller has no tenant context, which the route needs, or is an API key, which the route does not accept.",
    "Sign in to a tenant or, with a global token, name a tenant in X-Tenant-ID. Personal routes need a signed-in user.",
  ),
  MISSING_PERMISSION: entry(
    403,
    "Permission missing",
    "None of the caller's roles in this tenant has the permission that the route needs.",
    "Ask an administrator for a role with the permission that the detail names.",
  ),
  TENANT_FORBIDDEN: entry(
    403,
    "No access to the tenant",
    "The caller has no active link to the tenant, or the tenant is not active.",
    "Choose one of your own tenants, or ask an administrator to add a link.",
  ),
  CROSS_TENANT_FORBIDDEN: entry(
    403,
    "No access to another tenant's data",
    "The target belongs to a tenant that the caller's permissions do not include.",
    "Sign in to that tenant, or use a caller with manage:all-users, manage:all-tenants or admin:system.",
  ),
} satisfies Record<string, CatalogueEntry>;
