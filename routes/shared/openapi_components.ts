/** Headers and parameters that operations refer to by name. */
export const SHARED_HEADERS = {
  traceresponse: header(
    "The trace of the request (W3C Trace Context); the log entries of a failure have it.",
    {
      pattern: "^00-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$",
    },
    "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
  ),
  ETag: header("The version of the resource, for If-Match.", {}, '"3"'),
  Location: header("The URL of the resource, or the target of a redirect."),
  "Set-Cookie": header("Binds the sign-in to this browser, or deletes that cookie."),
  "Idempotency-Replayed": header(
    "Present if this is the stored answer of the first request with this key.",
    { enum: ["true"] },
    "true",
  ),
  "Steward-Ignored-Members": header(
    "Unknown members of the body and parameters of the query that were ignored, at most 20; absent if there were none.",
    {},
    "colour, tenants[0].shape",
  ),
  "Steward-Ignored-Headers": header(
    "Present if X-Tenant-ID names another tenant than the token. The tenant of the token was used.",
    { enum: ["X-Tenant-ID"] },
    "X-Tenant-ID",
  ),
  "WWW-Authenticate": header(
    "The authentication scheme; `code` of the body is the reason.",
    {},
    'Bearer realm="steward"',
  ),
  "Retry-After": count("Seconds after which to try again.", 5),
  "RateLimit-Limit": count(
    "Requests per minute (reports of work: per six seconds); absent if requests are not limited.",
    600,
  ),
  "RateLimit-Remaining": count("Requests that remain now.", 599),
  "RateLimit-Reset": count("Seconds until the full quota is available.", 1),
};

export const SHARED_PARAMETERS = {
  "Idempotency-Key": parameter(
    "Makes the request safe to repeat: for 24 hours, the same request with the same key gets the answer of the " +
      "first one and changes nothing. 1 to 255 visible ASCII characters, for example a UUID.",
    "Idempotency-Key",
    { maxLength: 255 },
    "8e03978e-40d5-43e8-bc93-6894a57f9324",
  ),
  "If-Match": parameter(
    "The ETag of the version to change; if the version differs, the answer is PRECONDITION_FAILED.",
    "If-Match",
    {},
    '"3"',
  ),
  "Last-Event-ID": parameter(
    "The id of the last event received; the stream continues after it.",
    "Last-Event-ID",
  ),
};

export const SECURITY_SCHEMES = {
  bearer: {
    type: "http",
    scheme: "bearer",
    bearerFormat: "JWT",
    description: "The access token of POST /api/v1/auth/login; POST /api/v1/auth/refresh renews it.",
  },
  apiKey: {
    type: "http",
    scheme: "bearer",
    description:
      "An API key (`sk_` …) of POST /api/v1/api-keys, or the secret of a service account (POST /api/v1/service-accounts), " +
      "sent as the bearer token.",
  },
  tenant: {
    type: "apiKey",
    in: "header",
    name: "X-Tenant-ID",
    description:
      "The tenant of the request, for a global token; its user must be linked to the tenant. A token of one tenant " +
      "ignores the header, and Steward-Ignored-Headers tells so; an API key with another tenant is refused. A service " +
      "account names one of its tenants.",
  },
};
/** For all operations that name no other: a token, and with a global one the tenant. */
export const SECURITY: Record<string, string[]>[] = [{ bearer: [] }, { apiKey: [] }, {
  bearer: [],
  tenant: [],
}, {
  apiKey: [],
  tenant: [],
}];

/** The introduction of the document: rules of all operations. */
export const INTRODUCTION =
  `Access administration, reports, jobs, file registry and notifications over one HTTP/JSON API.

- **Authentication.** Send a bearer token in \`Authorization\`. A global token selects the tenant with \`X-Tenant-ID\` or
  \`?tenantId=\`. \`x-permissions\` lists the permissions of an operation; any one of them is enough. \`admin:system\`
  replaces all permissions except those of files.
- **Tenant of a change.** A change belongs to the tenant of the token; \`/auth/me\` and the answers name it.
  Administrators of the platform sign in to the platform tenant, so roles that they create belong to it. To create roles
  in another tenant: \`POST /api/v1/tenants\` (in the platform tenant), then link yourself with \`POST
  /api/v1/admin/users/{id}/tenants\` and the id of the tenant's \`Admin\` role (\`GET
  /api/v1/admin/tenants/{tenantId}/roles\`), which ends your sessions. Then sign in with \`"global": true\` and send
  \`X-Tenant-ID\` with each request, or sign in with its \`tenantId\`.
- **Refusals** are problem documents (RFC 9457) with a stable \`code\`. The URL in \`type\` is a page that tells how to fix
  it. An unknown path is 404 \`ROUTE_NOT_FOUND\`; a known path with another method is 405 \`METHOD_NOT_ALLOWED\` with
  \`Allow\`.
- **Versions.** To change or delete a resource that has an \`ETag\`, send it as \`If-Match\`. Without it, the last change
  wins.
- **Repeats.** Creating operations accept an \`Idempotency-Key\`. 429 and 503 have \`Retry-After\`.
- **Traces.** A W3C \`traceparent\` is passed on to \`traceresponse\`, to jobs and to the log.
- **Unknown members** of a JSON body and unknown parameters of a query are ignored and listed in \`Steward-Ignored-Members\`. One that looks like a known
  one is refused with \`VALIDATION_ERROR\`, which names the known one, unless it is a member of the resource's own answers.
- **Headers of every answer**: \`traceresponse\`, and \`RateLimit-Limit\`, \`RateLimit-Remaining\` and
  \`RateLimit-Reset\` if requests are limited. Answers over 1 KB are compressed if \`Accept-Encoding\` allows it.
- **Parts.** \`/openapi.json?area=Jobs\` is the document of the operations with that tag; \`area\` may be repeated.
- HEAD works wherever GET does. Bodies are JSON in UTF-8 of at most 1 MiB, unless an operation says otherwise. Empty query
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
