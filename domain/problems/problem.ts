import { CATALOGUE, type ProblemCode } from "./catalogue.ts";

export type FieldErrors = Record<string, string[]>;

/** What a problem may carry beyond its code and detail. */
export interface ProblemExtras {
  /** Field name → messages of a validation failure, or a plain list. */
  errors?: FieldErrors | string[];
  headers?: Record<string, string>;
  /** Status of this occurrence, where it differs from the catalogue's. */
  status?: number;
  /** True for a refusal that has no code of its own: its document has no `code` and the type `about:blank`. */
  uncoded?: boolean;
  cause?: unknown;
}

/** A refusal of the catalogue: thrown anywhere below a route, answered as a problem document. */
export class Problem extends Error {
  override name = "Problem";
  readonly status: number;

  constructor(readonly code: ProblemCode, detail: string, readonly extras: ProblemExtras = {}) {
    super(detail, { cause: extras.cause });
    this.status = extras.status ?? CATALOGUE[code].status;
  }
}

/**
 * Makes the refusal `code`; throw it. `detail` says what was attempted, the value found and the value expected.
 */
export function problem(code: ProblemCode, detail: string, extras?: ProblemExtras): Problem {
  return new Problem(code, detail, extras);
}

/** The refusal of input that does not fit: `VALIDATION_ERROR` with messages by field. */
export function invalid(errors: FieldErrors): Problem {
  const [first] = Object.entries(errors);
  const detail = first
    ? `The request does not fit: ${first[0]}: ${first[1][0]}`
    : "The request does not fit.";
  return new Problem("VALIDATION_ERROR", detail, { errors });
}

/** The one 400 without a code: a well-formed body whose parts contradict each other. */
export const incoherent = (detail: string): Problem =>
  new Problem("VALIDATION_ERROR", detail, { uncoded: true });
