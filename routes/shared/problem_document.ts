import { PATH as SCIM_PATH, scimError } from "../../domain/access/scim/schema.ts";
import { OAuthError } from "../../domain/oauth/oauth_error.ts";
import { constraintProblem } from "../../domain/problems/constraints.ts";
import { CATALOGUE, type FieldErrors, Problem, type ProblemCode } from "../../domain/problems/problem.ts";
import type { Log } from "../../infra/log.ts";
import { isStoreAway } from "../../infra/objectstore/errors.ts";
import { databaseFailure } from "../../infra/postgres/failures.ts";
import type { Answer } from "./answer.ts";

export interface ProblemContext {
  baseUrl: string;
  instance: string;
  loggedPath: string;
  traceId: string;
  /** True if `errors` is a list of strings. */
  errorList: boolean;
}

const RETRY_AFTER_S = "1";

/** Answer and log message for each temporary failure of the database. */
const DATABASE_FAILURES = {
  unreachable: {
    code: "DATABASE_UNAVAILABLE",
    detail: "The service could not reach its database.",
    retryAfterS: RETRY_AFTER_S,
    logged: "a request failed: the database is unreachable",
  },
  full: {
    code: "DATABASE_UNAVAILABLE",
    detail: "The database has run out of disk space, memory or another resource. Nothing was changed.",
    retryAfterS: "10",
    logged: "a request failed: the database has run out of disk space, memory or another resource",
  },
  busy: {
    code: "DATABASE_BUSY_UNAVAILABLE",
    detail:
      "The database did not finish in time: other work holds locks, or too many writes wait. Nothing was changed.",
    retryAfterS: "2",
    logged: "a request failed: a lock or a statement took too long",
  },
} as const;

/**
 * The problem document of a failure. An unexpected error becomes INTERNAL_ERROR, or a 503 if the database or the object
 * store is unavailable. The answer does not contain the error; the log does, with the same trace id.
 */
export function problemAnswer(failure: unknown, context: ProblemContext, log: Log): Answer {
  const refusal = failure instanceof Problem ? failure : constraintProblem(failure);
  if (refusal) return document(refusal, context);
  const failed = databaseFailure(failure);
  const logged = isStoreAway(failure)
    ? "a request failed: the object store does not answer or refuses the service"
    : "a request failed unexpectedly";
  log.error(failed ? DATABASE_FAILURES[failed].logged : logged, {
    traceId: context.traceId,
    path: context.loggedPath,
    error: failure,
  });
  return document(unexpectedProblem(failure), context);
}

/** RFC 9110 requires the authentication scheme in a 401. The code is the reason. */
const CHALLENGE = 'Bearer realm="steward"';

function unexpectedProblem(failure: unknown): Problem {
  const failed = databaseFailure(failure);
  if (failed) {
    const { code, detail, retryAfterS } = DATABASE_FAILURES[failed];
    return new Problem(code, detail, { headers: { "retry-after": retryAfterS } });
  }
  const headers = { "retry-after": RETRY_AFTER_S };
  if (isStoreAway(failure)) {
    return new Problem("FILE_STORAGE_UNAVAILABLE", "The service could not reach its object store.", {
      headers,
    });
  }
  const detail = "An unexpected error occurred; send the traceId to the operator.";
  return new Problem("INTERNAL_ERROR", detail);
}

/** The title of a problem without a code, which is always a 400. RFC 9457: it is the phrase of the status. */
const UNCODED_TITLE = "Bad Request";

function document(refusal: Problem, context: ProblemContext): Answer {
  const { code, status, message, extras } = refusal;
  if (isOAuthRefusal(context.instance, status)) return oauthAnswer(refusal);
  const { uncoded } = extras;
  const challenge: Record<string, string> = status === 401 ? { "www-authenticate": CHALLENGE } : {};
  if (isScimPath(context.instance)) {
    const headers = { "content-type": SCIM_TYPE, ...challenge, ...extras.headers };
    return { status, headers, body: JSON.stringify(scimError(refusal)) };
  }
  const body = {
    type: uncoded ? "about:blank" : problemType(context.baseUrl, code),
    title: uncoded ? UNCODED_TITLE : CATALOGUE[code].title,
    status,
    detail: message,
    instance: context.instance,
    traceId: context.traceId,
    ...(uncoded ? {} : { code }),
    ...extras.members,
    ...(extras.errors ? { errors: shapeErrors(extras.errors, context.errorList) } : {}),
  };
  const headers = {
    "content-type": "application/problem+json",
    ...challenge,
    ...extras.headers,
  };
  return { status, headers, body: JSON.stringify(body) };
}

/** The content type of SCIM (RFC 7644, 3.1). */
export const SCIM_TYPE = "application/scim+json";

/** True if a refusal is answered in the format of SCIM, which its clients require. */
export const isScimPath = (path: string): boolean => path.startsWith(`${SCIM_PATH}/`);

/** True if a refusal is answered in the format of OAuth, which the protocol of these routes requires. Failures (5xx) are problem documents. */
export const isOAuthRefusal = (path: string, status: number): boolean =>
  path.startsWith("/oauth/") && status < 500;

/** A refusal in the format of OAuth (RFC 6749, 5.2). Its codes are about grants, so the status says the rest. */
function oauthAnswer({ code, status, message, extras }: Problem): Answer {
  const error = code === "RATE_LIMITED" ? "temporarily_unavailable" : "invalid_request";
  const errors = Array.isArray(extras.errors) ? extras.errors : Object.values(extras.errors ?? {}).flat();
  const description = new OAuthError(error, [message, ...errors].join(" ")).message;
  const headers = { "content-type": "application/json", ...extras.headers };
  return { status, headers, body: JSON.stringify({ error, error_description: description }) };
}

/** The URL that identifies a code and has a page about it. */
export const problemType = (baseUrl: string, code: ProblemCode): string => `${baseUrl}/problems/${code}`;

/** Maximum number of fields whose errors an answer names. A body can have many thousand wrong members. */
const MAX_FIELDS = 1_000;

function shapeErrors(errors: FieldErrors | string[], asList: boolean): FieldErrors | string[] {
  if (Array.isArray(errors)) return errors;
  const named = Object.entries(errors).slice(0, MAX_FIELDS);
  if (!asList) return Object.fromEntries(named);
  return named.flatMap(([field, messages]) => messages.map((message) => `${field}: ${message}`));
}
