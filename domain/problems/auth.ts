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
    "The session is out of date",
    "The user, or a role, permission or tenant link of theirs, has changed since the token was given.",
    "Sign in again, or refresh, to get a token that carries the new rights.",
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
  FORBIDDEN: entry(
    403,
    "Not allowed",
    "The caller is known, but has no tenant context for this route.",
    "Sign in to a tenant, or name one with X-Tenant-ID when the token is a global one.",
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
