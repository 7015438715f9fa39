import { z } from "zod";
import {
  JOB_STATUSES,
  JOB_TYPES,
  PRIORITIES,
  QUEUE_NAME,
  QUEUE_NAME_EXPECTED,
} from "../../domain/jobs/job_row.ts";
import { THROUGHPUT_WINDOWS } from "../../domain/jobs/throughput.ts";
import { MAX_UNIQUE_SECONDS } from "../../domain/jobs/unique_jobs.ts";
import { bulkRequest, bulkResponseOf } from "../shared/bulk.ts";
import {
  enumName,
  instant,
  optionalText,
  queryBoolean,
  queryInstant,
  requiredText,
  uuid,
} from "../shared/validation.ts";

export const timestamp = z.iso.datetime();

export const status = enumName(JOB_STATUSES);
const type = enumName(JOB_TYPES);
const priority = enumName(PRIORITIES);
export const queue = z.string().regex(QUEUE_NAME, QUEUE_NAME_EXPECTED);
/** Tenant filter of lists, statistics and bulk changes. */
export const ofTenant = {
  tenantId: uuid.optional().meta({ description: "Filter for system administrators" }),
};
/** Filters of lists and counts of jobs, besides the status and those of `furtherJobFilters`. */
export const jobFilters = {
  type: type.optional(),
  priority: priority.optional(),
  queue: z.string().max(100).optional(),
  searchTerm: z.string().max(200).optional(),
};
export const furtherJobFilters = {
  ...ofTenant,
  jobTypeName: z.string().max(200).optional().meta({ description: "Exact name of the job type" }),
  hideInternal: queryBoolean.default(false).meta({
    description: "Leaves out jobs of types that only the service enqueues, such as scans and deliveries",
  }),
  from: queryInstant.optional().meta({ description: "First creation time, inclusive" }),
  to: queryInstant.optional().meta({ description: "Last creation time, inclusive" }),
  errorContains: z.string().max(500).optional().meta({
    description:
      "Part of the error of a failed or dead-lettered job, in any letter case; other jobs do not match. Without " +
      "`from`, `createdBy`, `traceId` and an argument, only the last 5,000 failed and dead-lettered jobs are searched. " +
      "If there are that many, the header `Steward-Searched-From` has the creation time of the first one that was searched",
  }),
  createdBy: uuid.optional(),
  traceId: z.string().toLowerCase().regex(/^[0-9a-f]{32}$/, "expected 32 hexadecimal digits").optional().meta(
    {
      description: "W3C trace id of the request that enqueued the jobs",
    },
  ),
};
const uniqueKey = z.string().min(1).max(200).meta({
  description: "While a job holds the key, no other job of the same tenant and type gets it",
});
const uniqueFor = z.union([z.literal("unfinished"), z.int().min(1).max(MAX_UNIQUE_SECONDS)], {
  error: `expected "unfinished" or 1 to ${MAX_UNIQUE_SECONDS} seconds`,
}).meta({ description: "How long a job holds the key: until it ends, or seconds since its creation" });
/** Members of a request that enqueues jobs. */
const unique = {
  uniqueKey: uniqueKey.nullish().transform((value) => value ?? null),
  uniqueFor: uniqueFor.nullish().transform((value) => value ?? "unfinished"),
};
const serializedArgs = z.string({ error: "expected a string that holds JSON" });

export const JobSummaryDto = z.object({
  id: z.guid(),
  jobTypeName: z.string(),
  argsTypeName: z.string().nullable(),
  serializedArgs: z.string(),
  type: z.enum(JOB_TYPES),
  status: z.enum(JOB_STATUSES),
  priority: z.enum(PRIORITIES),
  queue: z.string(),
  scheduledAt: timestamp.nullable(),
  createdAt: timestamp,
  startedAt: timestamp.nullable(),
  completedAt: timestamp.nullable(),
  attempts: z.int(),
  maxRetries: z.int(),
  nextRetryAt: timestamp.nullable().meta({ description: "When a failed or postponed job runs again" }),
  lastError: z.string().nullable(),
  waitReason: z.string().nullable().meta({ description: "Why the job was postponed; null: it was not" }),
  cancelRequestedAt: timestamp.nullable().meta({
    description: "When a caller asked to stop the running job",
  }),
  parentJobId: z.guid().nullable().meta({ description: "The only parent; null for several" }),
  parentJobIds: z.array(z.guid()).meta({ description: "All parents" }),
  batchId: z.guid().nullable(),
  recurringJobId: z.string().nullable(),
  tenantId: z.guid().nullable(),
  createdBy: z.guid().nullable(),
  uniqueKey: z.string().nullable(),
}).meta({ id: "JobSummaryDto", description: "A background job" });

export const EnqueueRequest = z.object({
  jobTypeName: requiredText(200),
  serializedArgs: serializedArgs.nullish().transform((value) => value ?? "{}"),
  argsTypeName: optionalText(200),
  priority: priority.nullish().transform((value) => value ?? "Normal"),
  queue: queue.nullish().transform((value) => value ?? "default"),
  scheduledAt: instant.nullish().transform((value) => value ?? null),
  maxRetries: z.int().min(0).max(25).nullish().transform((value) => value ?? null),
  parentJobId: uuid.nullish().transform((value) => value ?? null),
  parentJobIds: z.array(uuid).max(1_000).nullish().transform((value) => value ?? []).meta({
    description:
      "The job starts when all have succeeded, and is cancelled when one is dead-lettered or cancelled",
  }),
  ...unique,
}).refine(
  ({ parentJobId, parentJobIds }) => parentJobId === null || parentJobIds.length === 0,
  { path: ["parentJobIds"], error: "expected either parentJobId or parentJobIds, not both" },
).meta({ id: "EnqueueJobRequest" });

export const BulkEnqueueRequest = bulkRequest.meta({
  id: "BulkEnqueueRequest",
  description: "Each item is an EnqueueJobRequest",
});

export const BulkEnqueueResponse = bulkResponseOf(JobSummaryDto).extend({
  duplicates: z.array(z.int()).meta({
    description: "Indexes of the items whose key another job holds; their result is that job",
  }),
}).meta({ id: "BulkEnqueueResponse" });

export const JobExecutionDto = z.object({
  id: z.guid(),
  jobId: z.guid(),
  attemptNumber: z.int(),
  status: z.enum(["Processing", "Succeeded", "Failed", "Abandoned"]),
  startedAt: timestamp,
  completedAt: timestamp.nullable(),
  durationMs: z.number().nullable(),
  errorMessage: z.string().nullable(),
  workerId: z.guid(),
  output: z.string().nullable(),
  progressPercent: z.number().nullable(),
  progressNote: z.string().nullable(),
}).meta({ id: "JobExecutionDto", description: "One attempt; Abandoned: interrupted by a crash or a stop" });

export const JobLogLineDto = z.object({
  at: timestamp,
  level: z.string(),
  message: z.string(),
  fields: z.record(z.string(), z.unknown()).nullable(),
}).meta({ id: "JobLogLineDto" });

export const JobDashboardStatsDto = z.object({
  totalJobs: z.int(),
  enqueuedJobs: z.int(),
  processingJobs: z.int(),
  succeededJobs: z.int(),
  failedJobs: z.int(),
  deadLetteredJobs: z.int(),
  scheduledJobs: z.int(),
  recurringJobs: z.int(),
  averageExecutionDurationMs: z.number(),
  totalExecutions: z.int(),
}).meta({ id: "JobDashboardStatsDto" });

const count = z.int();

export const JobThroughputDto = z.object({
  window: z.enum(THROUGHPUT_WINDOWS),
  intervalSeconds: z.int(),
  intervals: z.array(z.object({ start: timestamp, succeeded: count, failed: count, abandoned: count })),
}).meta({
  id: "JobThroughputDto",
  description: "Ended attempts per interval, oldest first; the last interval is not complete",
});

const quantiles = z.object({ p50: z.number(), p95: z.number(), p99: z.number() }).nullable();
const typeFigures = {
  succeeded: count,
  failed: count.meta({ description: "Failed attempts, the last ones of dead-lettered jobs included" }),
  deadLettered: count,
  postponed: count.meta({ description: "Attempts after which the job waits again without having failed" }),
  abandoned: count.meta({ description: "Attempts that a crash or a stop interrupted" }),
  failureRate: z.number().nullable().meta({ description: "failed / (succeeded + failed), 0 to 1" }),
  waitMs: quantiles.meta({ description: "From the due time to the start of an attempt, exact to 5 %" }),
  durationMs: quantiles.meta({ description: "Duration of succeeded and failed attempts, exact to 5 %" }),
};

export const JobTypeStatsDto = z.object({
  jobTypeName: z.string(),
  window: z.enum(THROUGHPUT_WINDOWS),
  intervalSeconds: z.int(),
  total: z.object(typeFigures),
  intervals: z.array(z.object({ start: timestamp, ...typeFigures })),
}).meta({
  id: "JobTypeStatsDto",
  description: "Ended attempts of a job type, oldest interval first; the last interval is not complete",
});

export const JobPauseDto = z.object({
  kind: z.enum(["queue", "type"]),
  name: z.string(),
  scope: z.enum(["tenant", "all"]).meta({ description: "`all`: paused for all tenants, by the platform" }),
  reason: z.string().nullable(),
  pausedAt: timestamp,
}).meta({ id: "JobPauseDto", description: "Why waiting jobs do not start" });

export const JobPauseStateDto = z.object({
  kind: z.enum(["queue", "type"]),
  name: z.string(),
  isPaused: z.boolean(),
  pause: JobPauseDto.nullable(),
}).meta({ id: "JobPauseStateDto" });

export const PauseRequest = z.object({ reason: optionalText(500) }).meta({ id: "PauseJobsRequest" });

export const JobDetailDto = JobSummaryDto.extend({
  progressPercent: z.number().nullable().meta({ description: "Of the last attempt, like `output`" }),
  progressNote: z.string().nullable(),
  output: z.string().nullable(),
  deadLetter: z.object({ id: z.guid(), retriedAt: timestamp.nullable(), retriedJobId: z.guid().nullable() })
    .nullable().meta({ description: "The dead letter of the job, and the job that it was retried as" }),
  names: z.record(z.string(), z.string()).meta({
    description: "Names of `createdBy` and `tenantId`, by id, if the caller may see them",
  }),
  pause: JobPauseDto.nullable().meta({ description: "Set while a pause keeps the job from starting" }),
}).meta({ id: "JobDetailDto", description: "A background job" });

export const JobQueueDto = z.object({
  queue: z.string(),
  waiting: count,
  processing: count,
  scheduled: count,
  retrying: count,
  awaitingParent: count,
  oldestDueAt: timestamp.nullable().meta({
    description: "Due time of the longest waiting job; jobs that wait for a rate limit do not count",
  }),
  pause: JobPauseDto.nullable(),
}).meta({ id: "JobQueueDto" });

export const JobWorkerDto = z.object({
  id: z.guid(),
  host: z.string(),
  startedAt: timestamp,
  heartbeatAt: timestamp,
  holds: count.meta({ description: "Number of jobs it has claimed" }),
  isRemote: z.boolean().meta({ description: "A process of a caller; `host` is the name it gives" }),
  program: z.string().nullable().meta({
    description: "Product and version, as its User-Agent names them; null: it did not say",
  }),
  jobs: z.array(z.object({
    id: z.guid(),
    jobTypeName: z.string(),
    queue: z.string(),
    tenantId: z.guid().nullable(),
    startedAt: timestamp.nullable(),
  })).meta({ description: "The ten jobs that it has held longest" }),
}).meta({ id: "JobWorkerDto", description: "An instance or a process of a caller that runs jobs" });

export const JobTypeDto = z.object({
  name: z.string(),
  argsSchema: z.record(z.string(), z.unknown()).meta({ description: "JSON Schema of the arguments" }),
  timeoutMs: z.int(),
  maxRetries: z.int(),
  concurrency: z.int().nullable().meta({
    description: "Maximum number that run at once in the whole service",
  }),
  rateLimit: z.object({ count: z.int(), perSeconds: z.int(), key: z.string().nullable() }).nullable(),
  pause: JobPauseDto.nullable(),
}).meta({ id: "JobTypeDto", description: "A job type callers may enqueue" });

export const JobStatusCountsDto = z.object({
  statuses: z.array(z.object({ status: z.enum(JOB_STATUSES), count })),
}).meta({ id: "JobStatusCountsDto", description: "Exact counts by status, without zero counts" });

export const NextRunsDto = z.object({ nextRuns: z.array(timestamp) })
  .meta({ id: "NextRunsDto", description: "The next due times of a schedule, soonest first" });

export const RecurringJobDto = z.object({
  jobId: z.string(),
  jobTypeName: z.string(),
  cronExpression: z.string(),
  timeZoneId: z.string(),
  queue: z.string(),
  serializedArgs: z.string(),
  argsTypeName: z.string().nullable(),
  uniqueKey: z.string().nullable(),
  uniqueFor: uniqueFor.nullable(),
  isPaused: z.boolean(),
  nextRunAt: timestamp.nullable(),
  lastRunAt: timestamp.nullable(),
  lastJobId: z.guid().nullable(),
  lastStatus: z.enum(JOB_STATUSES).nullable(),
  createdAt: timestamp,
  updatedAt: timestamp,
}).meta({ id: "RecurringJobDto" });

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
  timeZoneId: schedule.timeZoneId.nullish().transform((value) => value ?? "UTC"),
  queue: queue.nullish().transform((value) => value ?? "default"),
  serializedArgs: serializedArgs.nullish().transform((value) => value ?? "{}"),
  argsTypeName: optionalText(200),
  ...unique,
}).meta({ id: "CreateRecurringJobRequest" });

/** null sets the default of the creation. */
const cleared = <S extends z.ZodType<string>>(schema: S, fallback: string) =>
  schema.nullish().transform((value) => value === null ? fallback : value);

export const UpdateRecurringJobRequest = z.object({
  cronExpression: schedule.cronExpression.nullish().transform((value) => value ?? undefined),
  timeZoneId: cleared(schedule.timeZoneId, "UTC"),
  queue: cleared(queue, "default"),
  serializedArgs: cleared(serializedArgs, "{}"),
  argsTypeName: z.string().max(200).nullish(),
  uniqueKey: uniqueKey.nullish(),
  uniqueFor: uniqueFor.nullish(),
}).meta({
  id: "UpdateRecurringJobRequest",
  description: "Omitted members keep their values; null sets the default of the creation",
});
