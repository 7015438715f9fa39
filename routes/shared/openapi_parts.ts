/** Headers and parameters operations refer to by name. */
export const SHARED_HEADERS = {
  traceresponse: header("The request's trace, W3C Trace Context; what went wrong is in the log under it.", {
    pattern: "^00-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$",
  }, "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"),
  ETag: header("The version of the resource, for If-Match.", {}, '"3"'),
  Location: header("Where the resource is read, or where the browser goes on."),
  "Set-Cookie": header("Binds the sign-in to this browser, or takes that cookie back."),
  "Idempotency-Replayed": header(
    "Present where the answer is the one that was given to the first request with this key.",
    { enum: ["true"] },
    "true",
  ),
  "Steward-Ignored-Members": header(
    "Members of the body that were ignored, at most 20; present where there were any.",
    {},
    "colour, tenants[0].shape",
  ),
  "Steward-Ignored-Headers": header(
    "Present where X-Tenant-ID names another tenant than the token, which the request has acted in.",
    { enum: ["X-Tenant-ID"] },
    "X-Tenant-ID",
  ),
  "WWW-Authenticate": header(
    "The way to authenticate; `code` says what was wrong.",
    {},
    'Bearer realm="steward"',
  ),
  "Retry-After": count("Seconds after which to try again.", 5),
  "RateLimit-Limit": count("Requests a minute the caller has; absent where requests are not limited.", 600),
  "RateLimit-Remaining": count("Requests left of them at once.", 599),
  "RateLimit-Reset": count("Seconds until all of them are there again.", 1),
};

export const SHARED_PARAMETERS = {
  "Idempotency-Key": parameter(
    "Makes the request safe to repeat: within 24 hours the same request with the same key is answered what the " +
      "first one was answered, and nothing is done again. 1 to 255 visible ASCII characters, such as a UUID.",
    "Idempotency-Key",
    { maxLength: 255 },
    "8e03978e-40d5-43e8-bc93-6894a57f9324",
  ),
  "If-Match": parameter(
    "The ETag of the version the change is meant for; another one is refused with PRECONDITION_FAILED.",
    "If-Match",
    {},
    '"3"',
  ),
  "X-Tenant-ID": parameter(
    "The tenant to act in, for a token without one; its holder must be linked to it. A token of one tenant ignores the " +
      "header, and the answer says so in Steward-Ignored-Headers; an API key is refused where it names another tenant.",
    "X-Tenant-ID",
    { format: "uuid" },
    "0198f1c2-7a3b-7c4d-8e5f-6a7b8c9d0e1f",
  ),
  "Last-Event-ID": parameter(
    "The id of the last event received: the stream goes on after it.",
    "Last-Event-ID",
  ),
};

export const SECURITY_SCHEMES = {
  bearer: {
    type: "http",
    scheme: "bearer",
    bearerFormat: "JWT",
    description: "The access token of POST /api/v1/auth/login, kept fresh by POST /api/v1/auth/refresh.",
  },
  apiKey: {
    type: "http",
    scheme: "bearer",
    description: "An API key (`sk_` …) of POST /api/v1/api-keys, sent as the bearer token by machines.",
  },
};

/** What holds for every operation, as the document's introduction. */
export const INTRODUCTION =
  `Access administration, reports, jobs, file registry and notifications over one HTTP/JSON API.

- **Who asks.** A bearer token in \`Authorization\`. A token without a tenant names one by \`X-Tenant-ID\` or
  \`?tenantId=\`. \`x-permissions\` lists what an operation needs, any one of them; \`admin:system\` stands in for all but
  those of files.
- **Where a change goes.** Into the tenant of the token; \`/auth/me\` names it, and what is made names it in its answer.
  Administrators of the platform sign in to the platform tenant, so the roles they make are the platform's. To make roles
  in another tenant: \`POST /api/v1/tenants\` (in the platform tenant), link yourself with \`POST
  /api/v1/admin/users/{id}/tenants\` and the id of the tenant's \`Admin\` role (\`GET
  /api/v1/admin/tenants/{tenantId}/roles\`), which ends your sessions; sign in with \`"global": true\` and name the tenant
  of each request by \`X-Tenant-ID\`, or sign in with its \`tenantId\`.
- **Refusals** are problem documents (RFC 9457) with a stable \`code\`; each \`type\` leads to a page that tells how to
  mend it. An unknown path is 404 \`ROUTE_NOT_FOUND\`, a known one with another method 405 \`METHOD_NOT_ALLOWED\` with
  \`Allow\`.
- **Versions.** What is read with an \`ETag\` is changed or deleted with \`If-Match\`; without it, the last one wins.
- **Repeating.** Creating operations take an \`Idempotency-Key\`. 429 and 503 carry \`Retry-After\`.
- **Traces.** A W3C \`traceparent\` is carried through to \`traceresponse\`, to jobs and to the log.
- **Unknown members** of a JSON body are ignored, and named in \`Steward-Ignored-Members\`. One that looks like a known
  member is refused with \`VALIDATION_ERROR\`, which names the member that was probably meant.
- Every GET answers HEAD as well. Bodies are JSON in UTF-8 of at most 1 MiB where nothing else is said; empty query
  values count as absent.`;

function header(description: string, schema: object = {}, example?: string) {
  return {
    description,
    schema: { type: "string", ...schema },
    ...(example === undefined ? {} : { example }),
  };
}

function count(description: string, example: number) {
  return { description, schema: { type: "integer", minimum: 0 }, example };
}

function parameter(description: string, name: string, schema: object = {}, example?: string) {
  return { in: "header", name, required: false, ...header(description, schema, example) };
}
