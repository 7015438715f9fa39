import { OpenApiGeneratorV31, OpenAPIRegistry } from "@asteasolutions/zod-to-openapi";
import { z } from "zod";
import { CATALOGUE, type ProblemCode } from "../../domain/problems/catalogue.ts";
import { AREAS, AREAS_WITH_ERROR_LISTS, type Endpoint } from "./endpoint.ts";
import { problemType } from "./problem_document.ts";

const problemFields = {
  type: z.string(),
  title: z.string(),
  status: z.int(),
  detail: z.string(),
  instance: z.string(),
  traceId: z.string(),
  code: z.string().optional(),
};
const ProblemDocument = z.object({
  ...problemFields,
  errors: z.union([z.record(z.string(), z.array(z.string())), z.array(z.string())]).optional(),
})
  .meta({
    id: "ProblemDocument",
    description:
      "A refusal; `errors` names fields and what was expected of them, or is the list the code speaks of.",
  });
const ProblemDocumentWithList = z.object({ ...problemFields, errors: z.array(z.string()).optional() })
  .meta({ id: "ProblemDocumentWithList", description: "A refusal; `errors` is a list of `field: message`." });

/** Refusals every endpoint that needs a caller can answer; the last two for the tenant a global token names. */
const CALLER_PROBLEMS: ProblemCode[] = [
  "TOKEN_MISSING",
  "TOKEN_INVALID",
  "TOKEN_EXPIRED",
  "TOKEN_REVOKED",
  "SESSION_INVALIDATED",
  "TENANT_FORBIDDEN",
  "VALIDATION_ERROR",
];

const KEY_PROBLEMS: ProblemCode[] = [
  "VALIDATION_ERROR",
  "IDEMPOTENCY_KEY_REUSED_UNPROCESSABLE",
  "IDEMPOTENCY_KEY_IN_USE_CONFLICT",
];
const IdempotencyHeaders = z.object({
  "Idempotency-Key": z.string().max(255).optional().meta({
    description:
      "Makes the request safe to repeat: within 24 hours the same request with the same key is answered what the " +
      "first one was answered, and nothing is done again. 1 to 255 visible ASCII characters, such as a UUID.",
    example: "8e03978e-40d5-43e8-bc93-6894a57f9324",
  }),
});
const ReplayHeaders = z.object({
  "Idempotency-Replayed": z.literal("true").optional().meta({
    description: "Present where the answer is the one that was given to the first request with this key.",
  }),
});

/** The OpenAPI 3.1 document of `endpoints`, made from the very shapes that validate. */
export function openApiDocument(endpoints: Endpoint[], o: { baseUrl: string; version: string }) {
  const registry = new OpenAPIRegistry();
  registry.registerComponent("securitySchemes", "bearer", {
    type: "http",
    scheme: "bearer",
    bearerFormat: "JWT",
  });
  for (const spec of endpoints) registry.registerPath(operation(spec, o.baseUrl));
  const used = new Set(endpoints.map((spec) => spec.area));
  return new OpenApiGeneratorV31(registry.definitions).generateDocument({
    openapi: "3.1.0",
    info: {
      title: "Steward",
      version: o.version,
      description:
        "Access administration, reports, jobs, file registry and notifications over one HTTP/JSON API.",
      license: { name: "MIT", identifier: "MIT" },
    },
    servers: [{ url: o.baseUrl }],
    tags: Object.entries(AREAS).filter(([name]) => used.has(name as Endpoint["area"]))
      .map(([name, description]) => ({ name, description })),
  });
}

function operation(spec: Endpoint, baseUrl: string) {
  const { access } = spec;
  const body = spec.body ?? spec.lateBody;
  const request = {
    ...(spec.creates ? { headers: IdempotencyHeaders } : {}),
    ...(spec.params ? { params: spec.params as z.ZodObject } : {}),
    ...(spec.query ? { query: spec.query as z.ZodObject } : {}),
    ...(body
      ? { body: { required: !spec.bodyOptional, content: { "application/json": { schema: body } } } }
      : {}),
    ...(spec.filePart
      ? { body: { required: true, content: { "multipart/form-data": { schema: fileForm(spec.filePart) } } } }
      : {}),
  };
  return {
    method: spec.method,
    path: spec.path,
    operationId: spec.id,
    tags: [spec.area],
    summary: spec.summary,
    ...(access.permissions.length > 0 ? { description: `Needs ${access.permissions.join(" or ")}.` } : {}),
    ...(access.needsCaller ? { security: [{ bearer: [] }] } : { security: [] }),
    request,
    responses: { ...successes(spec), ...refusals(spec, baseUrl) },
  };
}

const fileForm = (part: string) =>
  z.object({ [part]: z.string().meta({ type: "string", format: "binary" }) });

function successes(spec: Endpoint) {
  return Object.fromEntries(
    Object.entries(spec.answers).map(([status, { description, schema, contentType }]) => [status, {
      description,
      ...(spec.creates ? { headers: ReplayHeaders } : {}),
      ...(schema ? { content: { [contentType ?? "application/json"]: { schema } } } : {}),
      ...(!schema && contentType ? { content: { [contentType]: { schema: z.string() } } } : {}),
    }]),
  );
}

function refusals(spec: Endpoint, baseUrl: string) {
  const { needsCaller, needsTenant, permissions } = spec.access;
  const codes = new Set<ProblemCode>([
    ...(needsCaller ? CALLER_PROBLEMS : []),
    ...(needsTenant ? ["FORBIDDEN"] as const : []),
    ...(permissions.length > 0 ? ["MISSING_PERMISSION"] as const : []),
    ...(spec.creates ? KEY_PROBLEMS : []),
    ...(spec.creates === "in steps" ? ["IDEMPOTENCY_OUTCOME_UNKNOWN_CONFLICT"] as const : []),
    ...(spec.params || spec.query || spec.body || spec.lateBody ? ["VALIDATION_ERROR"] as const : []),
    ...(spec.body || spec.lateBody
      ? ["BODY_TOO_LARGE", "BODY_TIMED_OUT", "UNSUPPORTED_MEDIA_TYPE"] as const
      : []),
    ...spec.problems,
  ]);
  const byStatus = Map.groupBy(codes, (code) => CATALOGUE[code].status);
  const schema = AREAS_WITH_ERROR_LISTS.has(spec.area) ? ProblemDocumentWithList : ProblemDocument;
  return Object.fromEntries(
    [...byStatus].map(([status, group]) => [status, {
      description: group.map((code) => `\`${code}\` ${CATALOGUE[code].title}`).join("; "),
      content: {
        "application/problem+json": {
          schema,
          examples: Object.fromEntries(
            group.map((code) => [code, { value: example(code, baseUrl, spec.path) }]),
          ),
        },
      },
    }]),
  );
}

const example = (code: ProblemCode, baseUrl: string, path: string) => ({
  type: problemType(baseUrl, code),
  title: CATALOGUE[code].title,
  status: CATALOGUE[code].status,
  detail: CATALOGUE[code].meaning,
  instance: path,
  traceId: "4bf92f3577b34da6a3ce929d0e0e4736",
  code,
});
