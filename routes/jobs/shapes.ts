import { z } from "zod";
import { serializedArgs } from "../../domain/jobs/control/enqueue_requested.ts";
import { JOB_STATUSES, JOB_TYPES, JobSummary, PRIORITIES, queueName } from "../../domain/jobs/job_row.ts";
import { unique, uniqueFor, uniqueKey } from "../../domain/jobs/unique_jobs.ts";
import type { ServicePlatform } from "../../domain/platform.ts";
import {
  enumName,
  optionalText,
  orNull,
  orReset,
  orUndefined,
  requiredText,
  uuid,
  withDefault,
} from "../../domain/shared/shapes.ts";
import { bulkRequest, bulkResponseOf } from "../shared/bulk.ts";
import type { Call } from "../shared/call.ts";
import { queryBoolean, queryInstant } from "../shared/validation.ts";

export const status = enumName(JOB_STATUSES);
const type = enumName(JOB_TYPES);
const priority = enumName(PRIORITIES);
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
  type: type.optional(),
  priority: priority.optional(),
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
export const BulkEnqueueRequest = bulkRequest.meta({
  id: "BulkEnqueueRequest",
  description: "Each item is an EnqueueJobRequest",
});

export const BulkEnqueueResponse = bulkResponseOf(JobSummary).extend({
  duplicates: z.array(z.int()).describe(
    "Indexes of the items whose key another job holds; their result is that job",
  ),
}).meta({ id: "BulkEnqueueResponse" });

export const PauseRequest = z.object({ reason: optionalText(500) }).meta({ id: "PauseJobsRequest" });

export const JobStatusCountsDto = z.object({
  statuses: z.array(z.object({ status: z.enum(JOB_STATUSES), count: z.int() })),
}).meta({ id: "JobStatusCountsDto", description: "Exact counts by status, without zero counts" });

export const NextRunsDto = z.object({ nextRuns: z.array(z.iso.datetime()) })
  .meta({ id: "NextRunsDto", description: "The next due times of a schedule, soonest first" });

const schedule = {
  cronExpression: requiredText(200),
  timeZoneId: requiredText(100),
};

export const CreateRecurringJobRequest = z.object({
  jobId: z.string().regex(
    /^(?!\.\.?$)[A-Za-z0-9._:-]{1,100}$/, // a URL cannot contain `.` and `..` as a segment
    "expected 1 to 100 of A-Z, a-z, 0-9, dot, underscore, colon and dash, other than . and ..",
  ),
  jobTypeName: requiredText(200),
  ...schedule,
  timeZoneId: withDefault(schedule.timeZoneId, "UTC"),
  queue: withDefault(queueName, "default"),
  serializedArgs: withDefault(serializedArgs, "{}"),
  argsTypeName: orNull(z.string().max(200)),
  ...unique,
}).meta({ id: "CreateRecurringJobRequest" });

export const UpdateRecurringJobRequest = z.object({
  cronExpression: orUndefined(schedule.cronExpression),
  timeZoneId: orReset(schedule.timeZoneId, "UTC"),
  queue: orReset(queueName, "default"),
  serializedArgs: orReset(serializedArgs, "{}"),
  argsTypeName: z.string().max(200).nullish(),
  uniqueKey: uniqueKey.nullish(),
  uniqueFor: uniqueFor.nullish(),
}).meta({
  id: "UpdateRecurringJobRequest",
  description: "Omitted members keep their values; null sets the default of the creation",
});

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
