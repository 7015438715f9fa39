import { type CatalogueEntry, entry } from "./entry.ts";

/** Problems that any route can answer. */
export const REQUEST_PROBLEMS = {
  VALIDATION_ERROR: entry(
    400,
    "Request is invalid",
    "A value in the path, query or body is missing or malformed.",
    "Read `errors`: it names each field and the expected value.",
  ),
  ROUTE_NOT_FOUND: entry(
    404,
    "Route not found",
    "No route has this path.",
    "Compare the path with /openapi.json. All routes are under /api/v1.",
  ),
  METHOD_NOT_ALLOWED: entry(
    405,
    "Method not allowed",
    "The path exists, but not with this method.",
    "Use one of the methods in the Allow header.",
  ),
  BODY_TOO_LARGE: entry(
    413,
    "Body is too large",
    "The request body is larger than the limit of this route.",
    "Send less per request. Upload file content directly to storage, not through this service.",
  ),
  UNSUPPORTED_MEDIA_TYPE: entry(
    415,
    "Content type not supported",
    "The route does not accept the Content-Type of the body.",
    "Send application/json, or multipart/form-data if the route accepts a file.",
  ),
  PRECONDITION_FAILED: entry(
    412,
    "Resource has changed",
    "The version in If-Match is not the current one, so nothing was changed.",
    "Read the resource again, apply your change to the current state, and send its new ETag.",
  ),
  IDEMPOTENCY_KEY_REUSED_UNPROCESSABLE: entry(
    422,
    "Idempotency-Key belongs to another request",
    "This key was sent within the last 24 hours with another path, query or body.",
    "Use a new key for each new request. Send the same key only to repeat exactly the same request.",
  ),
  IDEMPOTENCY_KEY_IN_USE_CONFLICT: entry(
    409,
    "Request is already in progress",
    "Another request with this Idempotency-Key has not finished.",
    "Repeat the request after the number of seconds in Retry-After. It then gets the answer of the first request.",
  ),
  BODY_TIMED_OUT: entry(
    408,
    "Body arrived too slowly",
    "The service did not receive the whole request body within its time limit.",
    "Send the request again over a faster connection, or send less per request.",
  ),
  REQUEST_TIMED_OUT_UNAVAILABLE: entry(
    503,
    "Request took too long",
    "The service stopped waiting for the result of this request.",
    "Try again in a moment. After a change, first read whether it took effect. Use generate-async for long reports.",
  ),
  DATABASE_UNAVAILABLE: entry(
    503,
    "Database unavailable",
    "The service cannot reach its database, or the database has run out of disk space or memory.",
    "Try again in a moment. After a change, first read whether it took effect.",
  ),
  DATABASE_BUSY_UNAVAILABLE: entry(
    503,
    "Database is busy",
    "The request waited too long for a lock that other work holds. Nothing was changed.",
    "Send the request again after the number of seconds in Retry-After.",
  ),
  INTERNAL_ERROR: entry(
    500,
    "Internal error",
    "The service failed unexpectedly. Its log has the whole error.",
    "Try again. If it fails again, give the operator the traceId.",
  ),
} satisfies Record<string, CatalogueEntry>;
