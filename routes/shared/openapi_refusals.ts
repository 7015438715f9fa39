import { CATALOGUE, type ProblemCode } from "../../domain/problems/catalogue.ts";
import { AREAS_WITH_ERROR_LISTS, type Endpoint } from "./endpoint.ts";
import { problemType } from "./problem_document.ts";

const texts = { type: "array", items: { type: "string" } };

function problemSchema(description: string, errors: object) {
  const text = { type: "string" };
  const properties = { type: text, title: text, status: { type: "integer" }, detail: text, instance: text };
  return {
    type: "object",
    description,
    properties: { ...properties, traceId: text, code: text, errors },
    required: ["type", "title", "status", "detail", "instance", "traceId"],
  };
}

/** Problem documents (RFC 9457) with the two forms of `errors`. */
export const PROBLEM_SCHEMAS = {
  ProblemDocument: problemSchema(
    "A refusal; `errors` has the expected values by field, or a list that the code describes.",
    { anyOf: [{ type: "object", additionalProperties: texts }, texts] },
  ),
  ProblemDocumentWithList: problemSchema("A refusal; `errors` is a list of `field: message`.", texts),
};

/** Refusals of all operations that need a caller. The last one is for the tenant that a global token names. */
const CALLER_PROBLEMS: ProblemCode[] = [
  "TOKEN_MISSING",
  "TOKEN_INVALID",
  "TOKEN_EXPIRED",
  "TOKEN_REVOKED",
  "SESSION_INVALIDATED",
  "TENANT_FORBIDDEN",
];
const LIMITED: ProblemCode = "SECOND_FACTOR_REQUIRED";
const KEY_PROBLEMS: ProblemCode[] = [
  "IDEMPOTENCY_KEY_REUSED_UNPROCESSABLE",
  "IDEMPOTENCY_KEY_IN_USE_CONFLICT",
];
const BODY_PROBLEMS: ProblemCode[] = ["BODY_TIMED_OUT", "BODY_TOO_LARGE", "UNSUPPORTED_MEDIA_TYPE"];

/** Groups of refusals that many operations share. A status with exactly these codes refers to the group. */
const SHARED: Record<string, ProblemCode[]> = {
  Invalid: ["VALIDATION_ERROR"],
  Unauthenticated: CALLER_PROBLEMS.slice(0, -1),
  TenantForbidden: ["TENANT_FORBIDDEN", LIMITED],
  Forbidden: ["TENANT_FORBIDDEN", LIMITED, "MISSING_PERMISSION"],
  ForbiddenInTenant: ["TENANT_FORBIDDEN", LIMITED, "FORBIDDEN", "MISSING_PERMISSION"],
  ForbiddenWithoutTenant: ["TENANT_FORBIDDEN", LIMITED, "FORBIDDEN"],
  BodyTimedOut: ["BODY_TIMED_OUT"],
  PreconditionFailed: ["PRECONDITION_FAILED"],
  BodyTooLarge: ["BODY_TOO_LARGE"],
  UnsupportedMediaType: ["UNSUPPORTED_MEDIA_TYPE"],
  RateLimited: ["RATE_LIMITED"],
  Failed: ["INTERNAL_ERROR"],
  Unavailable: [
    "REQUEST_TIMED_OUT_UNAVAILABLE",
    "DATABASE_UNAVAILABLE",
    "DATABASE_BUSY_UNAVAILABLE",
    "INSTANCE_BUSY_UNAVAILABLE",
  ],
};

/** All codes that an operation can refuse with: the declared ones, and those of its shapes and access. */
export function refusalCodes(spec: Endpoint): Set<ProblemCode> {
  const { needsCaller, needsTenant, personsOnly, permissions, forEnrolling, needsStepUp } = spec.access;
  const readsBody = Boolean(spec.body ?? spec.lateBody ?? spec.form ?? spec.filePart ?? spec.rawBody) ||
    spec.creates !== undefined;
  const reachesStorage = spec.area === "Files" || spec.area === "Reports" && spec.method !== "get";
  return new Set<ProblemCode>([
    "VALIDATION_ERROR", // also without parameters: any query is checked for text that the database cannot store
    ...(needsCaller ? CALLER_PROBLEMS : []),
    ...(needsCaller && !forEnrolling ? [LIMITED] : []),
    ...(needsStepUp ? ["STEP_UP_REQUIRED_FORBIDDEN"] as const : []),
    ...(needsTenant || personsOnly ? ["FORBIDDEN"] as const : []),
    ...(permissions.length > 0 ? ["MISSING_PERMISSION"] as const : []),
    ...(spec.creates ? KEY_PROBLEMS : []),
    ...(readsBody ? BODY_PROBLEMS : []),
    ...(spec.unlimited ? [] : ["RATE_LIMITED"] as const),
    ...spec.problems,
    "INTERNAL_ERROR",
    "REQUEST_TIMED_OUT_UNAVAILABLE",
    "DATABASE_UNAVAILABLE",
    "DATABASE_BUSY_UNAVAILABLE",
    "INSTANCE_BUSY_UNAVAILABLE",
    ...(reachesStorage ? ["FILE_STORAGE_UNAVAILABLE"] as const : []),
  ]);
}

const ref = (kind: string, name: string) => ({ $ref: `#/components/${kind}/${name}` });

/** The refusals of an operation by status; shared groups as references. */
export function refusalResponses(spec: Endpoint): Record<string, object> {
  const hasList = AREAS_WITH_ERROR_LISTS.has(spec.area);
  const byStatus = Map.groupBy(refusalCodes(spec), (code) => CATALOGUE[code].status);
  return Object.fromEntries(
    [...byStatus].toSorted(([a], [b]) => a - b).map(([status, codes]) => {
      const [name] = Object.entries(SHARED).find(([, shared]) => isSame(shared, codes)) ?? [];
      if (!name || Object.hasOwn(spec.answers, status)) {
        return [String(status), response(status, codes, hasList)];
      }
      return [String(status), ref("responses", name === "Invalid" && hasList ? "InvalidWithList" : name)];
    }),
  );
}

const isSame = (a: ProblemCode[], b: ProblemCode[]) =>
  a.length === b.length && a.every((code) => b.includes(code));

/** The shared responses, and one example per code, for the document's components. */
export function refusalComponents(baseUrl: string) {
  const responses = Object.entries(SHARED).map(([name, codes]) => {
    const [first = "INTERNAL_ERROR"] = codes;
    return [name, response(CATALOGUE[first].status, codes, false)];
  });
  responses.push(["InvalidWithList", response(400, ["VALIDATION_ERROR"], true)]);
  const examples = Object.keys(CATALOGUE).map((code) => [code, example(code as ProblemCode, baseUrl)]);
  examples.push(["VALIDATION_ERROR_WITH_LIST", {
    ...example("VALIDATION_ERROR", baseUrl, ["email: expected an email address"]),
  }]);
  return { responses: Object.fromEntries(responses), examples: Object.fromEntries(examples) };
}

function response(status: number, codes: ProblemCode[], hasList: boolean) {
  const exampleOf = (code: ProblemCode) =>
    ref("examples", code === "VALIDATION_ERROR" && hasList ? "VALIDATION_ERROR_WITH_LIST" : code);
  return {
    description: codes.map((code) => `\`${code}\` ${CATALOGUE[code].title}`).join("; "),
    headers: {
      ...(status === 401 ? { "WWW-Authenticate": ref("headers", "WWW-Authenticate") } : {}),
      ...(status === 429 || status === 503 ? { "Retry-After": ref("headers", "Retry-After") } : {}),
      ...(status === 429 ? RATE_LIMIT_HEADERS : {}),
      ...TRACE_HEADER,
    },
    content: {
      "application/problem+json": {
        schema: {
          allOf: [
            ref("schemas", hasList ? "ProblemDocumentWithList" : "ProblemDocument"),
            { properties: { code: { enum: codes } } },
          ],
        },
        examples: Object.fromEntries(codes.map((code) => [code, exampleOf(code)])),
      },
    },
  };
}

const example = (code: ProblemCode, baseUrl: string, list?: string[]) => ({
  summary: CATALOGUE[code].title,
  description: CATALOGUE[code].mend,
  value: {
    type: problemType(baseUrl, code),
    title: CATALOGUE[code].title,
    status: CATALOGUE[code].status,
    detail: CATALOGUE[code].meaning,
    instance: "/api/v1/users",
    traceId: "4bf92f3577b34da6a3ce929d0e0e4736",
    code,
    ...(code === "VALIDATION_ERROR" ? { errors: list ?? { email: ["expected an email address"] } } : {}),
  },
});

export const TRACE_HEADER = { traceresponse: ref("headers", "traceresponse") };
export const RATE_LIMIT_HEADERS = Object.fromEntries(
  ["RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset"].map((name) => [name, ref("headers", name)]),
);
