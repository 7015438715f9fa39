import { ObjectStoreUnavailable } from "../../infra/objectstore/objectstore.ts";
import { databaseTrouble } from "../../infra/postgres/postgres.ts";
import { DependencyAway } from "../jobs/job_type.ts";

/** What a failure says of a server that does not answer for now; null for any other failure. */
export function outageOf(error: unknown): DependencyAway | null {
  if (error instanceof DependencyAway) return error;
  if (error instanceof ObjectStoreUnavailable) {
    return new DependencyAway("The object store does not answer.", { cause: error });
  }
  const trouble = databaseTrouble(error);
  // A query that takes too long does so again: "busy" is a failure like any other.
  return trouble === "away" || trouble === "full"
    ? new DependencyAway("The database cannot work for now.", { cause: error })
    : null;
}

/** Does a job's work; an outage in it is thrown as one, so that the job waits for its end. */
export async function waitingOutOutages<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw outageOf(error) ?? error;
  }
}
