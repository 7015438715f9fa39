import { type CatalogueEntry, entry } from "./entry.ts";

/** Refusals any route can answer. */
export const REQUEST_PROBLEMS = {
  VALIDATION_ERROR: entry(
    400,
    "The request does not fit",
    "A path, query or body value is missing or malformed.",
    "Read `errors`: it names every field and what was expected there.",
  ),
  ROUTE_NOT_FOUND: entry(
    404,
    "No such route",
    "No route answers this path.",
    "Compare the path with /openapi.json; every route of the service lives under /api/v1.",
  ),
  METHOD_NOT_ALLOWED: entry(
    405,
    "Method not allowed",
    "The path exists, but not for this method.",
    "Use one of the methods the Allow header names.",
  ),
  BODY_TOO_LARGE: entry(
    413,
    "The body is too large",
    "The request body is over the limit of this route.",
    "Send less at once; file content never travels through this service but straight to storage.",
  ),
  UNSUPPORTED_MEDIA_TYPE: entry(
    415,
    "Unsupported content type",
    "The body's Content-Type is not one this route reads.",
    "Send application/json, or multipart/form-data where the route takes a file.",
  ),
  PRECONDITION_FAILED: entry(
    412,
    "The resource has changed",
    "If-Match names a version that is no longer the current one.",
    "Read the resource again, apply your change to what it is now, and send its new ETag.",
  ),
  IDEMPOTENCY_KEY_REUSED_UNPROCESSABLE: entry(
    422,
    "The Idempotency-Key belongs to another request",
    "This key was sent within the last 24 hours with another path, query or body.",
    "Make a new key for every new request; send the same key only to repeat the very same one.",
  ),
  IDEMPOTENCY_KEY_IN_USE_CONFLICT: entry(
    409,
    "The same request is being worked on",
    "A request with this Idempotency-Key has not ended yet.",
    "Send it again after Retry-After seconds; it is then answered with what the first one came to.",
  ),
  BODY_TIMED_OUT: entry(
    408,
    "The body came too slowly",
    "The request body was not there in full within the time the service waits for one.",
    "Send the request again over a better connection, or send less at once.",
  ),
  REQUEST_TIMED_OUT_UNAVAILABLE: entry(
    503,
    "The request took too long",
    "The service gave up waiting for its own work on this request.",
    "Try again in a moment; after a change, read first whether it took effect. Long reports belong to generate-async.",
  ),
  DATABASE_UNAVAILABLE: entry(
    503,
    "The database does not answer",
    "The service cannot reach its database for the moment, or the database has run out of disk space or memory.",
    "Try again in a moment; after a change, read first whether it took effect.",
  ),
  DATABASE_BUSY_UNAVAILABLE: entry(
    503,
    "The database is busy",
    "Other work held what the request needs for too long. Nothing was changed.",
    "Send the request again after Retry-After seconds.",
  ),
  INTERNAL_ERROR: entry(
    500,
    "Unexpected failure",
    "Something failed that should not have; the whole error is in the service's log.",
    "Try again; if it stays, give the operator the traceId.",
  ),
} satisfies Record<string, CatalogueEntry>;
