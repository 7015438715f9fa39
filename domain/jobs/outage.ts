import { ObjectStoreUnavailable } from "../../infra/objectstore/objectstore.ts";
import { databaseFailure } from "../../infra/postgres/failures.ts";
import { DependencyUnavailable } from "./job_type.ts";

/** Converts an error of an unavailable database or object store to DependencyUnavailable; null for any other error. */
export function outageOf(error: unknown): DependencyUnavailable | null {
  if (error instanceof DependencyUnavailable) return error;
  if (error instanceof ObjectStoreUnavailable) {
    return new DependencyUnavailable("The object store does not answer.", { cause: error });
  }
  const failure = databaseFailure(error);
  // "busy" (a query timeout) is not an outage: the same query would time out again.
  return failure === "unreachable" || failure === "full"
    ? new DependencyUnavailable("The database is currently unavailable.", { cause: error })
    : null;
}

/** Runs a job's work and rethrows outage errors as DependencyUnavailable, so that the job waits until the outage ends. */
export async function rethrowOutages<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw outageOf(error) ?? error;
  }
}
