import { z } from "zod";
import { type FieldErrors, type Problem, problem } from "../problems/problem.ts";

/** Maximum number of items in a bulk request. */
export const BULK_LIMIT = 1000;

/** Result of a request that creates several items. */
export interface BulkOutcome<T> {
  total: number;
  succeeded: number;
  failed: number;
  results: T[];
  failures: BulkFailure[];
}

export const BulkFailure = z.object({
  // Position of the item in the request, from 0.
  index: z.int(),
  code: z.string(),
  message: z.string(),
  errors: z.record(z.string(), z.array(z.string())).nullable(),
}).meta({ id: "BulkItemFailure" });
export type BulkFailure = z.output<typeof BulkFailure>;

/** Failure of one item, while the others are created. */
export const bulkFailure = (index: number, refusal: Problem): BulkFailure => ({
  index,
  code: refusal.code,
  message: refusal.message,
  errors: fieldErrorsOf(refusal),
});

/**
 * Returns the problem of a request that is rejected as a whole because of one item.
 * @param member name of the member that holds the items
 */
export function wholeRequestProblem(index: number, refusal: Problem, member = "items"): Problem {
  const { code, message } = refusal;
  const errors = fieldErrorsOf(refusal);
  return problem(code, `Item ${index} is invalid, so the whole request was rejected: ${message}`, {
    errors: errors
      ? Object.fromEntries(
        Object.entries(errors).map(([field, list]) => [`${member}.${index}.${field}`, list]),
      )
      : { [`${member}.${index}`]: [message] },
  });
}

const fieldErrorsOf = ({ extras: { errors } }: Problem): FieldErrors | null =>
  errors && !Array.isArray(errors) ? errors : null;
