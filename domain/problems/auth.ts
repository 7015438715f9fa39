import { type CatalogueEntry, entry } from "./entry.ts";

/** Refusals of tokens, sign-in and tenant context. */
export const AUTH_PROBLEMS = {
  TOKEN_MISSING: entry(
    401,
    "No access token",
    "The route needs a signed-in caller and the request carries no bearer token.",
    "Sign in and send `Authorization: Bearer <accessToken>`.",
  ),
  TOKEN_INVALID: entry(
    401,
    "The token is not valid",
    "The token is malformed, forged, of another issuer or audience, or signed with another key or algorithm.",
    "Sign in again; never alter a token.",
  ),
  TOKEN_EXPIRED: entry(
    401,
    "The token has expired",
    "The token was good once and its time is over.",
    "Use the refresh token, or sign in again.",
  ),
  TOKEN_REVOKED: entry(
    401,
    "The session has ended",
    "The session was signed out, or one of its used refresh tokens was seen again.",
    "Sign in again. If nobody signed out, someone else may hold a copy of the token.",
  ),
  SESSION_INVALIDATED: entry(
    401,
    "The session ended with a change of access",
    "The user, or a role, permission or tenant link of theirs, has changed since the sign-in.",
    "Sign in again; the refresh token of the session has ended too.",
  ),
  CREDENTIALS_INVALID_UNAUTHORIZED: entry(
    401,
    "Email or password is wrong",
    "No active user signs in with this email and password.",
    "Check both, or ask for a password reset.",
  ),
  ACCOUNT_LOCKED_UNAUTHORIZED: entry(
    401,
    "The account is locked",
    "Too many wrong passwords in a short time have locked the account for a while.",
    "Wait as long as Retry-After says, then sign in with the right password.",
  ),
  RATE_LIMITED: entry(
    429,
    "Too many attempts",
    "This caller or address has asked for more than is allowed in a short time.",
    "Wait as long as Retry-After says.",
  ),
  SIGN_IN_BUSY_UNAVAILABLE: entry(
    503,
    "Too many sign-ins at once",
    "Checking a password takes a processor for a while, and too many wait for their turn.",
    "Try again after as long as Retry-After says.",
  ),
  RESET_TOKEN_INVALID: entry(
    400,
    "The reset link does not work",
    "The token of a password reset is unknown, was used before, or is older than 30 minutes.",
    "Ask for a new link with forgot-password and use the newest one.",
  ),
  SESSION_NOT_FOUND: entry(
    404,
    "No such session",
    "The caller has no open session with this id.",
    "List the caller's sessions; an ended one cannot be ended again.",
  ),
  OIDC_PROVIDER_NOT_FOUND: entry(
    404,
    "No such identity provider",
    "The service is not configured for an OpenID provider of this name.",
    "List the providers with GET /api/v1/auth/oidc.",
  ),
  OIDC_STATE_INVALID: entry(
    400,
    "This sign-in was not begun here",
    "The state is unknown, used, older than ten minutes, of another provider, or of another browser.",
    "Begin the sign-in again, in one browser, with cookies allowed.",
  ),
  OIDC_HANDOVER_INVALID: entry(
    400,
    "The sign-in code does not work",
    "The code of a finished sign-in is unknown, was used before, or is older than a minute.",
    "Begin the sign-in again.",
  ),
  OIDC_REFUSED_UNAUTHORIZED: entry(
    401,
    "The identity provider did not confirm the user",
    "The provider refused, or what it answered is forged, replayed, or meant for another sign-in.",
    "Begin the sign-in again; if it stays, compare the client settings with the provider's.",
  ),
  OIDC_EMAIL_UNVERIFIED_FORBIDDEN: entry(
    403,
    "The email is not verified",
    "The identity provider does not vouch for the user's email, so no user can be found by it.",
    "Verify the email at the provider, then sign in again.",
  ),
  OIDC_USER_UNKNOWN_FORBIDDEN: entry(
    403,
    "No user for this identity",
    "No active user has the email of this identity, and the provider's setting creates none.",
    "Ask an administrator to create or activate the user.",
  ),
  OIDC_IDENTITY_CONFLICT: entry(
    409,
    "The user signs in with another identity",
    "The user of this email is linked to another account at the same provider.",
    "Sign in with that account, or with the password.",
  ),
  OIDC_PROVIDER_UNAVAILABLE: entry(
    503,
    "The identity provider does not answer",
    "The provider could not be reached, or does not accept this service as its client.",
    "Try again later; the service's log has the reason.",
  ),
  API_KEY_NOT_FOUND: entry(
    404,
    "No such API key",
    "The API key does not exist or belongs to another tenant.",
    "Check the id.",
  ),
  FORBIDDEN: entry(
    403,
    "Not allowed",
    "The caller is known, but has no tenant context for this route, or is an API key where a user in person is needed.",
    "Sign in to a tenant, or name one with X-Tenant-ID when the token is a global one; personal routes need a sign-in.",
  ),
  MISSING_PERMISSION: entry(
    403,
    "A permission is missing",
    "None of the caller's roles in this tenant gives the permission the route needs.",
    "Ask an administrator for a role that has the permission the detail names.",
  ),
  TENANT_FORBIDDEN: entry(
    403,
    "No way into this tenant",
    "The caller has no active link to that tenant, or the tenant is not active.",
    "Choose one of the caller's own tenants, or have a link added.",
  ),
  CROSS_TENANT_FORBIDDEN: entry(
    403,
    "Another tenant's matter",
    "The target belongs to a tenant the caller's permissions do not reach.",
    "Sign in to that tenant, or use a caller with manage:all-users, manage:all-tenants or admin:system.",
  ),
} satisfies Record<string, CatalogueEntry>;
