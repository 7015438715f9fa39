import { CATALOGUE, type ProblemCode } from "../../domain/problems/catalogue.ts";
import { constraintProblem } from "../../domain/problems/constraints.ts";
import { type FieldErrors, Problem } from "../../domain/problems/problem.ts";
import type { Log } from "../../infra/log.ts";
import { ObjectStoreUnavailable } from "../../infra/objectstore/objectstore.ts";
import { databaseFailure } from "../../infra/postgres/failures.ts";
import type { Answer } from "./answer.ts";

export interface ProblemContext {
  baseUrl: string;
  instance: string;
  /** What the log gets as the path. */
  loggedPath: string;
  traceId: string;
  /** True where `errors` travels as a list of strings. */
  errorList: boolean;
}

const RETRY_AFTER_S = "1";

/** What callers and the log are told of a database that cannot do its work for now. */
const TROUBLES = {
  unreachable: {
    code: "DATABASE_UNAVAILABLE",
    detail: "The service could not reach its database.",
    retryAfterS: RETRY_AFTER_S,
    logged: "a request failed: the database is away",
  },
  full: {
    code: "DATABASE_UNAVAILABLE",
    detail: "The database has run out of room. Nothing was changed.",
    retryAfterS: "10",
    logged: "a request failed: the database has run out of disk space, memory or another resource",
  },
  busy: {
    code: "DATABASE_BUSY_UNAVAILABLE",
    detail: "Other work held what the request needs for too long. Nothing was changed.",
    retryAfterS: "2",
    logged: "a request failed: a lock or a statement took too long",
  },
} as const;

/**
 * The problem document of a failure. What is not a refusal of the catalogue becomes INTERNAL_ERROR, or
 * a 503 where database or object store cannot work for now: the answer tells nothing of it, the log has it whole under
 * the same trace id.
 */
export function problemAnswer(failure: unknown, context: ProblemContext, log: Log): Answer {
  const refusal = failure instanceof Problem ? failure : constraintProblem(failure);
  if (refusal) return document(refusal, context);
  const trouble = databaseFailure(failure);
  log.error(trouble ? TROUBLES[trouble].logged : "a request failed unexpectedly", {
    traceId: context.traceId,
    path: context.loggedPath,
    error: failure,
  });
  return document(unexpectedProblem(failure), context);
}

/** RFC 9110: a 401 names the way to authenticate. The code says what was wrong with the token. */
const CHALLENGE = 'Bearer realm="steward"';

function unexpectedProblem(failure: unknown): Problem {
  const trouble = databaseFailure(failure);
  if (trouble) {
    const { code, detail, retryAfterS } = TROUBLES[trouble];
    return new Problem(code, detail, { headers: { "retry-after": retryAfterS } });
  }
  const headers = { "retry-after": RETRY_AFTER_S };
  if (failure instanceof ObjectStoreUnavailable) {
    return new Problem("FILE_STORAGE_UNAVAILABLE", "The service could not reach its object store.", {
      headers,
    });
  }
  const detail = "Something failed that should not have; quote the traceId to the operator.";
  return new Problem("INTERNAL_ERROR", detail);
}

/** RFC 9457: the title of `about:blank` is the status's own phrase; only one 400 has no code. */
const UNCODED_TITLE = "Bad Request";

function document({ code, status, message, extras }: Problem, context: ProblemContext): Answer {
  const { uncoded } = extras;
  const body = {
    type: uncoded ? "about:blank" : problemType(context.baseUrl, code),
    title: uncoded ? UNCODED_TITLE : CATALOGUE[code].title,
    status,
    detail: message,
    instance: context.instance,
    traceId: context.traceId,
    ...(uncoded ? {} : { code }),
    ...(extras.errors ? { errors: shapeErrors(extras.errors, context.errorList) } : {}),
  };
  const headers = {
    "content-type": "application/problem+json",
    ...status === 401 ? { "www-authenticate": CHALLENGE } : {},
    ...extras.headers,
  };
  return { status, headers, body: JSON.stringify(body) };
}

/** The URI that names a kind of problem and leads to its page. */
export const problemType = (baseUrl: string, code: ProblemCode): string => `${baseUrl}/problems/${code}`;

function shapeErrors(errors: FieldErrors | string[], asList: boolean): FieldErrors | string[] {
  if (!asList || Array.isArray(errors)) return errors;
  return Object.entries(errors).flatMap(([field, messages]) =>
    messages.map((message) => `${field}: ${message}`)
  );
}
