import { z } from "zod";
import {
  JOB_STATUSES,
  JOB_TYPES,
  PRIORITIES,
  QUEUE_NAME,
  QUEUE_NAME_EXPECTED,
} from "../../domain/jobs/job_row.ts";
import { THROUGHPUT_WINDOWS } from "../../domain/jobs/throughput.ts";
import { bulkRequest, bulkResponseOf } from "../shared/bulk.ts";
import { enumName, instant, optionalText, requiredText, uuid } from "../shared/validation.ts";

const timestamp = z.iso.datetime();

export const status = enumName(JOB_STATUSES);
export const type = enumName(JOB_TYPES);
export const priority = enumName(PRIORITIES);
export const queue = z.string().regex(QUEUE_NAME, QUEUE_NAME_EXPECTED);
/** Tenant filter of lists, statistics and bulk changes. */
export const ofTenant = {
  tenantId: uuid.optional().meta({ description: "Filter for system administrators" }),
};
/** Filters of lists and counts of jobs, besides the status. */
export const jobFilters = {
  ...ofTenant,
  type: type.optional(),
  priority: priority.optional(),
  queue: z.string().max(100).optional(),
  searchTerm: z.string().max(200).optional(),
};
const serializedArgs = z.string({ error: "expected a string that holds JSON" });

export const JobSummaryDto = z.object({
  id: z.uuid(),
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
  nextRetryAt: timestamp.nullable(),
  lastError: z.string().nullable(),
  parentJobId: z.uuid().nullable(),
  recurringJobId: z.string().nullable(),
  tenantId: z.uuid().nullable(),
  createdBy: z.uuid().nullable(),
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
}).meta({ id: "EnqueueJobRequest" });

export const BulkEnqueueRequest = bulkRequest.meta({
  id: "BulkEnqueueRequest",
  description: "Each item is an EnqueueJobRequest",
});

export const BulkEnqueueResponse = bulkResponseOf(JobSummaryDto).meta({ id: "BulkEnqueueResponse" });

export const JobExecutionDto = z.object({
  id: z.uuid(),
  jobId: z.uuid(),
  attemptNumber: z.int(),
  status: z.enum(["Processing", "Succeeded", "Failed", "Abandoned"]),
  startedAt: timestamp,
  completedAt: timestamp.nullable(),
  durationMs: z.number().nullable(),
  errorMessage: z.string().nullable(),
  workerId: z.uuid(),
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

export const JobQueueDto = z.object({
  queue: z.string(),
  waiting: count,
  processing: count,
  scheduled: count,
  retrying: count,
  awaitingParent: count,
  oldestDueAt: timestamp.nullable().meta({ description: "Due time of the longest waiting job" }),
}).meta({ id: "JobQueueDto" });

export const JobWorkerDto = z.object({
  id: z.uuid(),
  host: z.string(),
  startedAt: timestamp,
  heartbeatAt: timestamp,
  holds: count.meta({ description: "Number of jobs it has claimed" }),
}).meta({ id: "JobWorkerDto", description: "An instance that runs jobs" });

export const JobTypeDto = z.object({
  name: z.string(),
  argsSchema: z.record(z.string(), z.unknown()).meta({ description: "JSON Schema of the arguments" }),
  timeoutMs: z.int(),
  maxRetries: z.int(),
  concurrency: z.int().nullable().meta({
    description: "Maximum number that run at once in the whole service",
  }),
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
  isPaused: z.boolean(),
  nextRunAt: timestamp.nullable(),
  lastRunAt: timestamp.nullable(),
  lastJobId: z.uuid().nullable(),
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
}).meta({
  id: "UpdateRecurringJobRequest",
  description: "Omitted members keep their values; null sets the default of the creation",
});

export const DeadLetterJobDto = z.object({
  id: z.uuid(),
  jobId: z.uuid(),
  jobTypeName: z.string(),
  queue: z.string(),
  serializedArgs: z.string(),
  attempts: z.int(),
  errorMessage: z.string().nullable(),
  failedAt: timestamp,
  retriedAt: timestamp.nullable(),
  retriedJobId: z.uuid().nullable(),
}).meta({ id: "DeadLetterJobDto" });

export const PurgeRequest = z.object({ retentionDays: z.int().min(0).max(36_500).nullish() })
  .meta({ id: "PurgeDeadLettersRequest", description: "Without retentionDays all dead letters are purged" });

export const DeadLetterGroupDto = z.object({
  jobTypeName: z.string(),
  errorPattern: z.string(),
  count: z.int(),
  firstFailedAt: timestamp,
  lastFailedAt: timestamp,
}).meta({ id: "DeadLetterGroupDto", description: "Numbers and ids in error messages are replaced by #" });

const orNull = <S extends z.ZodType>(schema: S) =>
  schema.nullish().transform((value) => (value ?? null) as z.output<S> | null);

export const RetryManyRequest = z.object({
  jobTypeName: orNull(z.string().max(200)),
  errorPattern: orNull(z.string().max(600)), // 300 characters of at most two UTF-16 code units each
  errorContains: orNull(z.string().min(1).max(500)),
  failedFrom: orNull(instant),
  failedTo: orNull(instant),
  dryRun: z.boolean().default(false),
}).meta({ id: "RetryDeadLettersRequest", description: "Absent filters match everything" });

export const RetryManyResponse = z.object({
  matched: z.int(),
  retried: z.int(),
  dryRun: z.boolean(),
  jobIds: z.array(z.uuid()).meta({ description: "Ids of the first 100 new jobs" }),
}).meta({ id: "RetryDeadLettersResponse" });
