import { isStoreAway, ObjectStoreRefused } from "../../infra/objectstore/errors.ts";
import { databaseFailure } from "../../infra/postgres/failures.ts";
import { type Attempt, DependencyUnavailable, PostponeJob } from "./job_type.ts";

/**
 * Converts an error of an unavailable database or object store to DependencyUnavailable; null for any other error. A store
 * that refuses the credentials or has no bucket is unavailable until an operator acts, so the message has its error code.
 */
export function outageOf(error: unknown): DependencyUnavailable | null {
  if (error instanceof DependencyUnavailable) return error;
  if (isStoreAway(error)) {
    const reason = error instanceof ObjectStoreRefused
      ? `The object store refuses the service (${error.answer}).`
      : "The object store does not answer.";
    return new DependencyUnavailable(reason, { cause: error });
  }
  const failure = databaseFailure(error);
  // "busy" (a query timeout) is not an outage: the same query would time out again.
  return failure === "unreachable" || failure === "full"
    ? new DependencyUnavailable("The database is currently unavailable.", { cause: error })
    : null;
}

/** True if the job waits for the end of the error's cause, also of a busy database, which another query may reach. */
export const isOutage = (error: unknown): boolean =>
  outageOf(error) !== null || databaseFailure(error) !== null;

/**
 * In a handler's `catch`: has the job now failed for the last time? An aborted attempt may run again, a postponed one runs
 * again, and an outage counts for nothing while the job may wait for its end.
 */
export const isLastFailure = (
  { failures, maxRetries, signal, waitsForDependencies }: Attempt,
  error: unknown,
): boolean =>
  failures >= maxRetries && !signal.aborted && !(error instanceof PostponeJob) &&
  !(waitsForDependencies && isOutage(error));
