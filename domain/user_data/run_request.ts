import type { JobContext } from "../jobs/job_type.ts";
import { isLastFailure } from "../jobs/outage.ts";
import { type DataRequestRow, failRequest, readRequestRow, startRequest } from "./data_request.ts";
import type { UserDataPlatform } from "./platform.ts";

/**
 * Does the work of a request that has not ended. When the job has failed for the last time, so has the request.
 * @param message the error message of a failed request
 * @returns null if the request has ended already
 */
export async function runRequest<T>(
  context: JobContext<UserDataPlatform>,
  requestId: string,
  message: string,
  work: (request: DataRequestRow) => Promise<T>,
): Promise<T | null> {
  const { db, jobId } = context;
  const request = await readRequestRow(db, requestId);
  if (!request || !await startRequest(db, requestId, jobId)) return null;
  try {
    return await work(request);
  } catch (error) {
    if (isLastFailure(context, error)) await failRequest(db, requestId, message);
    throw error;
  }
}
