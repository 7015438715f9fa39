import type { AuditPlatform } from "../audit/platform.ts";
import type { JobWriter } from "./enqueue.ts";
import type { JobTypes } from "./job_type.ts";

export interface JobPlatform extends AuditPlatform {
  jobTypes: JobTypes;
  /** Writes single jobs of many requests in shared commits. */
  jobWriter: JobWriter;
}
