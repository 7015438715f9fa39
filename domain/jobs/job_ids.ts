import { v5 } from "uuid";
/** A job's `createdAt` is the time in its id, so the order by id is the order by creation. */
export { newId, timeOfId } from "../shared/ids.ts";

/** The smallest UUIDv7 of a time: ids made before it are smaller, ids made at or after it are not. */
export function firstIdOf(time: Date): string {
  const hex = time.getTime().toString(16).padStart(12, "0");
  return `${hex.slice(0, 8)}-${hex.slice(8)}-7000-8000-000000000000`;
}

/** Id of an execution, derived from the job id and the attempt number, so it is the same while it runs and after. */
export const executionId = (jobId: string, attemptNumber: number): string => v5(String(attemptNumber), jobId);
