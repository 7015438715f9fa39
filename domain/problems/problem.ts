import { CATALOGUE, type ProblemCode } from "./catalogue.ts";

export type FieldErrors = Record<string, string[]>;

/** Optional parts of a problem besides its code and detail. */
export interface ProblemExtras {
  /** Messages by field for a validation error, else a list. */
  errors?: FieldErrors | string[];
  headers?: Record<string, string>;
  /** Further members of the problem document. */
  members?: Record<string, unknown>;
  /** Status, if it differs from the catalogue's. */
  status?: number;
  /** True: the problem document has no `code`, and its type is `about:blank`. */
  uncoded?: boolean;
  cause?: unknown;
}

/** A problem of the catalogue. Any code below a route may throw it; the service answers it as a problem document. */
export class Problem extends Error {
  override name = "Problem";
  readonly status: number;

  constructor(readonly code: ProblemCode, detail: string, readonly extras: ProblemExtras = {}) {
    super(detail, { cause: extras.cause });
    this.status = extras.status ?? CATALOGUE[code].status;
  }
}

/**
 * Creates a problem to throw.
 * @param detail says what was attempted, the value found and the value expected.
 */
export function problem(code: ProblemCode, detail: string, extras?: ProblemExtras): Problem {
  return new Problem(code, detail, extras);
}

/** Creates a `VALIDATION_ERROR` with messages by field. */
export function invalid(errors: FieldErrors): Problem {
  const [first] = Object.entries(errors);
  const detail = first ? `The request is invalid: ${first[0]}: ${first[1][0]}` : "The request is invalid.";
  return new Problem("VALIDATION_ERROR", detail, { errors });
}

/** The only 400 without a code: valid members of a body contradict each other. */
export const incoherent = (detail: string): Problem =>
  new Problem("VALIDATION_ERROR", detail, { uncoded: true });
