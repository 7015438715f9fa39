import { OpenApiGeneratorV31, OpenAPIRegistry } from "@asteasolutions/zod-to-openapi";
import { z } from "zod";
import { BODY_EXAMPLES } from "./openapi_bodies.ts";
import { type AnswerSpec, AREAS, type Endpoint, takesKey } from "./endpoint.ts";
import { EVENT_TYPES, type EventTypes } from "../../domain/events/event_types.ts";
import { exampleOf, type Schema } from "./openapi_examples.ts";
import { isOAuthRefusal, isScimPath } from "./problem_document.ts";
import {
  problemSchema,
  ref,
  type Refusal,
  refusalComponents,
  refusalResponses,
  SCIM_ERROR_SCHEMA,
} from "./openapi_refusals.ts";
import { dropRepetition, nameBodies, type Parameter, shareParameters } from "./openapi_sharing.ts";
import type { OpenApiDocument, Operation, Response } from "./openapi_document.ts";
import { EVENT_SCHEMA, RECEIVED, webhooksOf } from "./openapi_webhooks.ts";

export type { OpenApiDocument, Operation };

/**
 * The OpenAPI 3.1 document of `endpoints`, derived from the shapes that validate requests. Clients and the reference page
 * load it, so parts that repeat are references.
 */
export function openApiDocument(
  endpoints: readonly Endpoint[],
  o: { baseUrl: string; version: string; eventTypes?: EventTypes },
): OpenApiDocument {
  const registry = new OpenAPIRegistry();
  for (const spec of endpoints) registry.registerPath(shapes(spec));
  const used = new Set(endpoints.map((spec) => spec.area));
  const others = [...used].filter((area) => !Object.hasOwn(AREAS, area)).map((name) => ({
    name,
    description: name,
  }));
  const document = new OpenApiGeneratorV31(registry.definitions).generateDocument({
    openapi: "3.1.0",
    info: {
      title: "Steward",
      version: o.version,
      description: INTRODUCTION,
      license: { name: "MIT", identifier: "MIT" },
    },
    servers: [{ url: o.baseUrl }],
    security: SECURITY,
    tags: [
      ...Object.entries(AREAS).filter(([name]) => used.has(name)).map(([name, description]) => ({
        name,
        description,
      })),
      ...others,
    ],
  }) as unknown as OpenApiDocument;
  document.components.schemas.WebhookEvent = EVENT_SCHEMA;
  document.components.schemas.ProblemDocument = problemSchema(o.baseUrl);
  if (endpoints.some(({ path }) => isScimPath(path))) {
    document.components.schemas.ScimError = SCIM_ERROR_SCHEMA;
  }
  Object.assign(document.components, {
    responses: { ...refusalComponents(endpoints), ...RECEIVED },
    headers: SHARED_HEADERS,
    parameters: { ...SHARED_PARAMETERS },
    securitySchemes: SECURITY_SCHEMES,
  });
  for (const spec of endpoints) {
    const operation = document.paths[spec.path]?.[spec.method];
    if (operation) addDetails(operation, spec, document.components.schemas);
  }
  giveBulkExamples(document);
  document.webhooks = webhooksOf(o.eventTypes ?? new Map(Object.entries(EVENT_TYPES)));
  nameBodies(document);
  dropRepetition(document);
  shareParameters(document);
  return document;
}

/** The bulk creation of a record has the example of its single creation. */
function giveBulkExamples({ paths }: OpenApiDocument): void {
  for (const [path, { post }] of Object.entries(paths)) {
    const single = paths[path.replace(/\/bulk$/, "")]?.post?.requestBody?.content["application/json"]
      ?.example;
    const content = post?.requestBody?.content["application/json"];
    if (path.endsWith("/bulk") && content && single) content.example = { items: [single] };
  }
}

/** The members of an operation that follow from zod shapes: parameters, body, success answers. */
function shapes(spec: Endpoint) {
  const { json, form, raw, file } = spec.content ?? {};
  const body = spec.body ?? json;
  const request = {
    ...(spec.params ? { params: spec.params as z.ZodObject } : {}),
    ...(spec.query ? { query: spec.query as z.ZodObject } : {}),
    ...(body
      ? { body: { required: !spec.bodyOptional, content: { "application/json": { schema: body } } } }
      : {}),
    ...(form
      ? { body: { required: true, content: { "application/x-www-form-urlencoded": { schema: form } } } }
      : {}),
    ...(raw ? { body: { required: true, content: rawContent(raw) } } : {}),
    ...(file
      ? { body: { required: true, content: { "multipart/form-data": { schema: fileForm(file) } } } }
      : {}),
  };
  const responses = Object.entries(spec.answers).map(([status, answer]) => [status, success(answer)]);
  return {
    method: spec.method,
    path: spec.path,
    operationId: spec.id,
    tags: [spec.area],
    summary: spec.summary,
    request,
    responses: Object.fromEntries(responses),
  };
}

const fileForm = (part: string) =>
  z.object({ [part]: z.string().meta({ type: "string", format: "binary" }) });

const rawContent = (types: string[]) => {
  const schema = z.string().meta({ type: "string", format: "binary" });
  return Object.fromEntries(types.map((type) => [type, { schema }]));
};

function success({ description, schema, contentType, alsoAs = [] }: AnswerSpec) {
  const types = contentType ? [contentType] : schema ? ["application/json"] : [];
  const content = [
    ...types.map((type) => [type, { schema: schema ?? z.string() }]),
    ...alsoAs.map((type) => [type, { schema: z.string() }]),
  ];
  return { description, ...(content.length > 0 ? { content: Object.fromEntries(content) } : {}) };
}

/** Adds access, headers, refusals, and examples of bodies and required parameters. */
function addDetails(operation: Operation, spec: Endpoint, schemas: Record<string, Schema>): void {
  const { access } = spec;
  operation.description = descriptionOf(spec);
  if (!access.needsCaller) operation.security = [];
  if (access.permissions.length > 0) operation["x-permissions"] = access.permissions;
  if (spec.alsoAt) operation["x-also-at"] = spec.alsoAt;
  const query = spec.query instanceof z.ZodPipe ? spec.query.in : spec.query;
  for (const parameter of (operation.parameters ?? []) as unknown as Parameter[]) {
    if (parameter.required) parameter.example = parameterExample(spec.path, parameter, schemas);
    const shape = parameter.in === "query" && query instanceof z.ZodObject && query.shape[parameter.name];
    if (shape instanceof z.ZodDefault) parameter.schema.default ??= shape.def.defaultValue;
  }
  const parameters = [...operation.parameters ?? [], ...headerParameters(spec)];
  if (parameters.length > 0) operation.parameters = parameters;
  for (const content of Object.values(operation.requestBody?.content ?? {})) {
    content.example ??= BODY_EXAMPLES[spec.id] ?? exampleOf(content.schema, schemas);
  }
  for (const [status, answer] of Object.entries(spec.answers)) {
    const response = operation.responses[status] as Response;
    const headers = answerHeaders(spec, Number(status), answer);
    if (Object.keys(headers).length > 0) response.headers = headers;
  }
  for (const [status, refusal] of Object.entries(refusalResponses(spec))) {
    const declared = operation.responses[status] as Response | undefined;
    operation.responses[status] = declared
      ? withRefusal(declared, refusal, isOAuthRefusal(spec.path, Number(status)))
      : refusal;
  }
}

const parameterExample = (
  path: string,
  { name, schema }: Parameter,
  schemas: Record<string, Schema>,
): unknown => {
  if (/\/jobs\/types\/\{/.test(path)) return "steward.echo";
  if (/\/job-types\/\{/.test(path)) return "invoice.render";
  return exampleOf(schema, schemas, name);
};

/** A refusal with a status that the operation also answers in a shape of its own. */
const withRefusal = (declared: Response, { description = "" }: Refusal, isOAuth: boolean): Response => ({
  ...declared,
  description: [declared.description, description].filter((text) => text !== "").join("; "),
  content: {
    ...declared.content,
    ...isOAuth
      ? { "application/json": { schema: { $ref: "#/components/schemas/OAuthError" } } }
      : { "application/problem+json": { schema: { $ref: "#/components/schemas/ProblemDocument" } } },
  },
});

function descriptionOf({ access, alsoAt = [], quota, details }: Endpoint): string {
  const codes = (list: string[], between: string) => list.map((text) => `\`${text}\``).join(between);
  const { permissions, needsCaller, needsTenant, personsOnly, clientScope, forSetup } = access;
  const who = !needsCaller
    ? "Open to anyone."
    : permissions.length > 0
    ? `Needs ${codes(permissions, " or ")}${needsTenant ? " in the tenant of the request" : ""}.`
    : `For any signed-in caller${needsTenant ? " in a tenant" : ""}.`;
  return [
    who,
    ...(personsOnly ? ["Not for API keys."] : []),
    ...(forSetup ? ["Also with a set-up link."] : []),
    ...(clientScope ? [`Also for a first-party client's token with the scope \`${clientScope}\`.`] : []),
    ...(alsoAt.length > 0 ? [`Also at ${codes(alsoAt, ", ")}.`] : []),
    ...(details ? [details] : []),
    ...(quota === "none" ? ["Not rate limited."] : []),
  ].join(" ");
}

function headerParameters(spec: Endpoint): { $ref: string }[] {
  const names: (keyof typeof SHARED_PARAMETERS)[] = [
    ...(takesKey(spec) ? ["Idempotency-Key"] as const : []),
    ...(spec.problems.includes("PRECONDITION_FAILED") ? ["If-Match"] as const : []),
    ...(isStream(spec) ? ["Last-Event-ID"] as const : []),
  ];
  return names.map((name) => ref("parameters", name));
}

const isStream = (spec: Endpoint) => spec.answers[200]?.contentType === "text/event-stream";

function answerHeaders(spec: Endpoint, status: number, answer: AnswerSpec): object {
  const isRedirect = status >= 300 && status < 400;
  const leadsOn = status === 201 || status === 202 && answer.schema !== undefined || isRedirect;
  const names = [
    ...(answer.etag ? ["ETag"] : []),
    ...(leadsOn ? ["Location"] : []),
    ...(isRedirect ? ["Set-Cookie"] : []),
    ...(takesKey(spec) ? ["Idempotency-Replayed"] : []),
  ];
  return Object.fromEntries(names.map((name) => [name, ref("headers", name)]));
}

/** Headers and parameters that operations refer to by name. */
const SHARED_HEADERS = {
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

const SHARED_PARAMETERS = {
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

const SECURITY_SCHEMES = {
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
const SECURITY: Record<string, string[]>[] = [{ bearer: [] }, { apiKey: [] }, {
  bearer: [],
  tenant: [],
}, {
  apiKey: [],
  tenant: [],
}];

/** The introduction of the document: rules of all operations. */
const INTRODUCTION =
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
