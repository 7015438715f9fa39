import { v5 } from "uuid";
/** A job's `createdAt` is the very time of its id, so order by id is order by creation. */
export { newId, timeOfId } from "../shared/ids.ts";

/** The least UUIDv7 of a time: ids made before it are smaller, ids made from then on are not. */
export function firstIdOf(time: Date): string {
  const hex = time.getTime().toString(16).padStart(12, "0");
  return `${hex.slice(0, 8)}-${hex.slice(8)}-7000-8000-000000000000`;
}

/** Id of an execution, the same while it runs and after: it follows from the job and the number of the attempt. */
export const executionId = (jobId: string, attemptNumber: number): string => v5(String(attemptNumber), jobId);
