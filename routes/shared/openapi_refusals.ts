import { CATALOGUE, type ProblemCode } from "../../domain/problems/problem.ts";
import { type Endpoint, takesKey } from "./endpoint.ts";
import { isScimPath, problemType, SCIM_TYPE } from "./problem_document.ts";

const text = { type: "string" };
const texts = { type: "array", items: text };

/** The problem document (RFC 9457) of every refusal. */
export const problemSchema = (baseUrl: string) => ({
  type: "object",
  description: "A refusal. `type` is the address of a page that tells what `code` means and how to fix it.",
  properties: {
    type: text,
    title: text,
    status: { type: "integer" },
    detail: text,
    instance: text,
    traceId: text,
    code: text,
    errors: {
      anyOf: [{ type: "object", additionalProperties: texts }, texts],
      description: "The expected values by field, or a list that the code describes",
    },
  },
  required: ["type", "title", "status", "detail", "instance", "traceId"],
  example: {
    type: problemType(baseUrl, "VALIDATION_ERROR"),
    title: CATALOGUE.VALIDATION_ERROR.title,
    status: 400,
    detail: CATALOGUE.VALIDATION_ERROR.meaning,
    instance: "/api/v1/users",
    traceId: "4bf92f3577b34da6a3ce929d0e0e4736",
    code: "VALIDATION_ERROR",
    errors: { email: ["expected an email address"] },
  },
});

/** The refusals of SCIM routes (RFC 7644, 3.12), with the code of the problem. */
export const SCIM_ERROR_SCHEMA = {
  type: "object",
  properties: {
    schemas: texts,
    status: text,
    scimType: text,
    detail: text,
    code: text,
    errors: { type: "object", additionalProperties: texts },
  },
  required: ["schemas", "status", "detail", "code"],
};

/** Refusals of all operations that need a caller. The last one is for the tenant that a global token names. */
const CALLER_PROBLEMS: ProblemCode[] = [
  "TOKEN_MISSING",
  "TOKEN_INVALID",
  "TOKEN_EXPIRED",
  "TOKEN_REVOKED",
  "SESSION_INVALIDATED",
  "TENANT_FORBIDDEN",
  "FORBIDDEN",
  "DELEGATION_FORBIDDEN",
  "TENANT_SESSION_FORBIDDEN",
];
const LIMITED: ProblemCode[] = ["SECOND_FACTOR_REQUIRED", "PROVIDER_FACTOR_REQUIRED_FORBIDDEN"];
const KEY_PROBLEMS: ProblemCode[] = [
  "IDEMPOTENCY_KEY_REUSED_UNPROCESSABLE",
  "IDEMPOTENCY_KEY_IN_USE_CONFLICT",
];
const BODY_PROBLEMS: ProblemCode[] = ["BODY_TIMED_OUT", "BODY_TOO_LARGE", "UNSUPPORTED_MEDIA_TYPE"];
/** The failures of the service, which can end every request. */
const FAILURES: ProblemCode[] = [
  "INTERNAL_ERROR",
  "REQUEST_TIMED_OUT_UNAVAILABLE",
  "DATABASE_UNAVAILABLE",
  "DATABASE_BUSY_UNAVAILABLE",
  "INSTANCE_BUSY_UNAVAILABLE",
];
/** The codes with which every operation can refuse a request, besides those of access. */
const EVERYWHERE: ProblemCode[] = [
  "VALIDATION_ERROR", // also without parameters: any query is checked for text that the database cannot store
  ...BODY_PROBLEMS,
  ...KEY_PROBLEMS,
  "PRECONDITION_FAILED",
  "RATE_LIMITED",
  ...FAILURES,
  "FILE_STORAGE_UNAVAILABLE",
];

/** All codes with which an operation can refuse a request: the declared ones, and those of its shapes and access. */
export function refusalCodes(spec: Endpoint): Set<ProblemCode> {
  const readsBody = Boolean(spec.body ?? spec.content) || takesKey(spec);
  const reachesStorage = spec.area === "Files" || spec.area === "Reports" && spec.method !== "get";
  return new Set<ProblemCode>([
    "VALIDATION_ERROR",
    ...accessProblems(spec),
    ...(takesKey(spec) ? KEY_PROBLEMS : []),
    ...(readsBody ? BODY_PROBLEMS : []),
    "RATE_LIMITED",
    ...spec.problems,
    ...FAILURES,
    ...(reachesStorage ? ["FILE_STORAGE_UNAVAILABLE"] as const : []),
  ]);
}

/** Codes that follow from who may call an operation. */
function accessProblems({ access }: Endpoint): ProblemCode[] {
  const { needsCaller, permissions, forEnrolling, needsStepUp } = access;
  return [
    ...(needsCaller ? CALLER_PROBLEMS : []),
    ...(needsCaller && !forEnrolling ? LIMITED : []),
    ...(needsStepUp ? ["STEP_UP_REQUIRED_FORBIDDEN"] as const : []),
    ...(permissions.length > 0 ? ["MISSING_PERMISSION"] as const : []),
  ];
}

/** A reference to a component of the document. */
export const ref = (kind: string, name: string) => ({ $ref: `#/components/${kind}/${name}` });

/** The name of the shared answer for the refusals of access and of every operation: "AnyoneRefused", "CallerRefused_…". */
function commonName(spec: Endpoint): string {
  const { needsCaller, needsTenant, personsOnly, permissions, forEnrolling, needsStepUp } = spec.access;
  const parts = [
    ...(isScimPath(spec.path) ? ["Scim"] : []),
    ...(forEnrolling ? ["Enrolling"] : []),
    ...(needsStepUp ? ["StepUp"] : []),
    ...(needsTenant ? ["Tenant"] : personsOnly ? ["Person"] : []),
    ...(permissions.length > 0 ? ["Permission"] : []),
  ];
  return [needsCaller ? "Caller" : "Anyone", ...parts].join("");
}

/** The codes of an operation that its common answer does not name. */
const ownCodes = (spec: Endpoint): ProblemCode[] => {
  const common = new Set([...accessProblems(spec), ...EVERYWHERE]);
  return spec.problems.filter((code) => !common.has(code));
};

/** A reference to a shared answer. In OpenAPI 3.1, `description` replaces that of the shared answer. */
export interface Refusal {
  $ref: string;
  description?: string;
}

/**
 * The refusals of an operation: its own codes by status, and `default` for the codes that follow from access, shapes and
 * the state of the service. Codes of `default` with the status of an own code apply besides it.
 */
export function refusalResponses(spec: Endpoint): Record<string, Refusal> {
  const own = Map.groupBy(ownCodes(spec), (code) => CATALOGUE[code].status);
  const answered = Object.keys(spec.answers).map(Number).filter((status) => status >= 400);
  const statuses = [...new Set([...own.keys(), ...answered])].toSorted((a, b) => a - b);
  return {
    ...Object.fromEntries(
      statuses.map((status) => [
        status,
        {
          ...ref("responses", isScimPath(spec.path) ? "ScimProblem" : "Problem"),
          description: listed(own.get(status) ?? []),
        },
      ]),
    ),
    default: ref("responses", commonName(spec)),
  };
}

/** The shared answers: `Problem`, and those for `default`. */
export function refusalComponents(endpoints: readonly Endpoint[]): Record<string, object> {
  const common = new Map(endpoints.map((spec) => [commonName(spec), spec]));
  const named = [...common].toSorted(([a], [b]) => a < b ? -1 : 1);
  return {
    Problem: response("A refusal"),
    ...endpoints.some(({ path }) => isScimPath(path)) ? { ScimProblem: response("A refusal", SCIM) } : {},
    ...Object.fromEntries(named.map(([name, spec]) => [name, commonResponse(spec)])),
  };
}

const commonResponse = (spec: Endpoint) => ({
  ...response(listed([...accessProblems(spec), ...EVERYWHERE]), isScimPath(spec.path) ? SCIM : PROBLEM),
  headers: {
    ...(spec.access.needsCaller ? { "WWW-Authenticate": ref("headers", "WWW-Authenticate") } : {}),
    "Retry-After": ref("headers", "Retry-After"),
    ...RATE_LIMIT_HEADERS,
    ...TRACE_HEADER,
  },
});

const PROBLEM = { "application/problem+json": { schema: ref("schemas", "ProblemDocument") } };
const SCIM = { [SCIM_TYPE]: { schema: ref("schemas", "ScimError") } };

const response = (description: string, content: object = PROBLEM) => ({ description, content });

const listed = (codes: ProblemCode[]): string => codes.map((code) => `\`${code}\``).join(", ");

/** The codes in the description of an answer. */
export const codesIn = (description: string): string[] =>
  [...description.matchAll(/`([A-Z][A-Z_]+)`/g)].map(([, code]) => code ?? "");

const TRACE_HEADER = { traceresponse: ref("headers", "traceresponse") };
const RATE_LIMIT_HEADERS = Object.fromEntries(
  ["RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset"].map((name) => [name, ref("headers", name)]),
);
