import { z } from "zod";
import { RequestedJob } from "../../domain/jobs/control/enqueue_requested.ts";
import { JOB_STATUSES, JOB_TYPES, PRIORITIES } from "../../domain/jobs/job_row.ts";
import type { ServicePlatform } from "../../domain/platform.ts";
import { enumName, uuid } from "../../domain/shared/shapes.ts";
import { readItems } from "../shared/bulk.ts";
import type { Call } from "../shared/call.ts";
import { queryBoolean, queryInstant } from "../shared/validation.ts";

export const status = enumName(JOB_STATUSES);
/** Tenant filter of lists, statistics and bulk changes. */
export const ofTenant = {
  tenantId: uuid.optional().describe("Filter for system administrators"),
};
/** Tenants of a list that shows the caller's own unless a system administrator asks for others. */
export const ofTenants = {
  ...ofTenant,
  everywhere: queryBoolean.default(false).describe("All tenants, for system administrators"),
};
/** Filters of lists and counts of jobs, besides the status and those of `furtherJobFilters`. */
export const jobFilters = {
  type: enumName(JOB_TYPES).optional(),
  priority: enumName(PRIORITIES).optional(),
  queue: z.string().max(100).optional(),
  searchTerm: z.string().max(200).trim().optional(),
};
export const furtherJobFilters = {
  ...ofTenant,
  jobTypeName: z.string().max(200).optional().describe("Exact name of the job type"),
  hideInternal: queryBoolean.default(false).describe(
    "Leaves out jobs of types that only the service enqueues, such as scans and deliveries",
  ),
  from: queryInstant.optional().describe("First creation time, inclusive"),
  to: queryInstant.optional().describe("Last creation time, inclusive"),
  errorContains: z.string().max(500).optional().describe(
    "Part of the error of a failed or dead-lettered job, in any letter case; other jobs do not match. Without " +
      "`from`, `createdBy`, `traceId` and an argument, only the last 5,000 failed and dead-lettered jobs are searched. " +
      "If there are that many, the header `Steward-Searched-From` has the creation time of the first one that was searched",
  ),
  createdBy: uuid.optional(),
  traceId: z.string().toLowerCase().regex(/^[0-9a-f]{32}$/, "expected 32 hexadecimal digits").optional()
    .describe("W3C trace id of the request that enqueued the jobs"),
};

/**
 * Checks job arguments for unknown members, like a body. Skips types that callers cannot enqueue; the domain refuses them.
 * @param at path of the object with the arguments in the body
 * @throws VALIDATION_ERROR for an unknown member that looks like a known one
 */
export function requireKnownArgs(
  p: Pick<ServicePlatform, "jobTypes">,
  call: Call,
  { jobTypeName, serializedArgs }: { jobTypeName: string; serializedArgs: string },
  at: (string | number)[] = [],
): void {
  const type = p.jobTypes.get(jobTypeName);
  if (type?.exposed) call.requireKnownMembers(type.args, serializedArgs, "serializedArgs", at);
}

/** Reads each of the requested jobs in a member of a body: the job, or its problem. */
export const readJobs = (
  p: Pick<ServicePlatform, "jobTypes">,
  call: Call,
  items: unknown[],
  member?: string,
) => readItems(call, RequestedJob, items, (item, at) => requireKnownArgs(p, call, item, at), member);
