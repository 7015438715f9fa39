import { OpenApiGeneratorV31, OpenAPIRegistry } from "@asteasolutions/zod-to-openapi";
import { z } from "zod";
import { BODY_EXAMPLES } from "./openapi_bodies.ts";
import { type AnswerSpec, AREAS, type Endpoint, takesKey } from "./endpoint.ts";
import { EVENT_TYPES, type EventTypes } from "../../domain/events/event_types.ts";
import { exampleOf, type Schema } from "./openapi_examples.ts";
import {
  INTRODUCTION,
  SECURITY,
  SECURITY_SCHEMES,
  SHARED_HEADERS,
  SHARED_PARAMETERS,
} from "./openapi_components.ts";
import { isOAuthRefusal, isScimPath } from "./problem_document.ts";
import {
  problemSchema,
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
  for (const parameter of (operation.parameters ?? []) as unknown as Parameter[]) {
    if (parameter.required) parameter.example = parameterExample(spec.path, parameter, schemas);
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

const ref = (kind: string, name: string) => ({ [name]: { $ref: `#/components/${kind}/${name}` } });

function headerParameters(spec: Endpoint): { $ref: string }[] {
  const names: (keyof typeof SHARED_PARAMETERS)[] = [
    ...(takesKey(spec) ? ["Idempotency-Key"] as const : []),
    ...(spec.problems.includes("PRECONDITION_FAILED") ? ["If-Match"] as const : []),
    ...(isStream(spec) ? ["Last-Event-ID"] as const : []),
  ];
  return names.map((name) => ({ $ref: `#/components/parameters/${name}` }));
}

const isStream = (spec: Endpoint) => spec.answers[200]?.contentType === "text/event-stream";

function answerHeaders(spec: Endpoint, status: number, answer: AnswerSpec): object {
  const isRedirect = status >= 300 && status < 400;
  const leadsOn = status === 201 || status === 202 && answer.schema !== undefined || isRedirect;
  return {
    ...(answer.etag ? ref("headers", "ETag") : {}),
    ...(leadsOn ? ref("headers", "Location") : {}),
    ...(isRedirect ? ref("headers", "Set-Cookie") : {}),
    ...(takesKey(spec) ? ref("headers", "Idempotency-Replayed") : {}),
  };
}
