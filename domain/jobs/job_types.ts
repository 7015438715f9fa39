import { httpRequest } from "./built_in/http_request.ts";
import { pruneEndedJobs } from "./built_in/prune_jobs.ts";
import { sampleJobTypes } from "./built_in/sample_jobs.ts";
import type { AnyJobType } from "./job_type.ts";

/** The job types of the jobs area. */
export const jobsJobTypes: AnyJobType[] = [
  ...sampleJobTypes,
  httpRequest,
  pruneEndedJobs,
];
