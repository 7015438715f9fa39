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
  DATABASE_UNAVAILABLE: entry(
    503,
    "The database does not answer",
    "The service cannot reach its database for the moment.",
    "Try again in a moment; after a change, read first whether it took effect.",
  ),
  INTERNAL_ERROR: entry(
    500,
    "Unexpected failure",
    "Something failed that should not have; the whole error is in the service's log.",
    "Try again; if it stays, give the operator the traceId.",
  ),
} satisfies Record<string, CatalogueEntry>;
