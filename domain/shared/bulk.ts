import { type FieldErrors, type Problem, problem } from "../problems/problem.ts";

/** Outcome of a request that makes many at once; `failures` name the items by their position. */
export interface BulkOutcome<T> {
  total: number;
  succeeded: number;
  failed: number;
  results: T[];
  failures: BulkFailure[];
}

export interface BulkFailure {
  index: number;
  code: string;
  message: string;
  errors: FieldErrors | null;
}

/** Why one item of many was left out, while the others went on. */
export const bulkFailure = (index: number, refusal: Problem): BulkFailure => ({
  index,
  code: refusal.code,
  message: refusal.message,
  errors: fieldErrorsOf(refusal),
});

/** The refusal of a whole request for the sake of one item of it. */
export function refuseAllFor(index: number, refusal: Problem): Problem {
  const { code, message } = refusal;
  const errors = fieldErrorsOf(refusal);
  return problem(code, `Item ${index}, and with it the whole request, is refused: ${message}`, {
    errors: errors
      ? Object.fromEntries(Object.entries(errors).map(([field, list]) => [`items.${index}.${field}`, list]))
      : { [`items.${index}`]: [message] },
  });
}

const fieldErrorsOf = ({ extras: { errors } }: Problem): FieldErrors | null =>
  errors && !Array.isArray(errors) ? errors : null;
