import { type CatalogueEntry, entry } from "./entry.ts";

/** Problems of the jobs area. */
export const JOB_PROBLEMS = {
  JOB_NOT_FOUND: entry(
    404,
    "Job not found",
    "The tenant has no job with this id.",
    "Check the id.",
  ),
  JOB_TYPE_UNKNOWN: entry(
    400,
    "Job type not found",
    "Callers cannot enqueue a job type with this name.",
    "Use one of the names that the detail lists.",
  ),
  JOB_ALREADY_CANCELLED: entry(
    400,
    "Job is already cancelled",
    "The job was cancelled by an earlier request.",
    "No action is needed.",
  ),
  JOB_CANNOT_CANCEL: entry(
    400,
    "Job cannot be cancelled",
    "The job is running or has ended; only a waiting job can be cancelled.",
    "Wait for it to end. A dead-lettered job can be retried or purged.",
  ),
  JOB_CANNOT_RETRY: entry(
    400,
    "Job cannot be retried",
    "Only a Failed job, which waits for its next retry, can be retried at once.",
    "Retry a dead-lettered job by its dead-letter entry. Enqueue an ended job again as a new job.",
  ),
  JOB_RECURRING_NOT_FOUND: entry(
    404,
    "Recurring job not found",
    "The tenant has no recurring job with this id.",
    "Check the id.",
  ),
  JOB_RECURRING_ALREADY_EXISTS: entry(
    409,
    "Recurring job id already in use",
    "The recurring job was not created because the tenant has another one with this id.",
    "Update that one, or use another id.",
  ),
  JOB_RECURRING_ALREADY_PAUSED: entry(
    400,
    "Recurring job is already paused",
    "The recurring job was paused by an earlier request.",
    "No action is needed.",
  ),
  JOB_RECURRING_NOT_PAUSED: entry(
    400,
    "Recurring job is not paused",
    "Only a paused recurring job can be resumed.",
    "No action is needed.",
  ),
  JOB_DEADLETTER_NOT_FOUND: entry(
    404,
    "Dead letter not found",
    "The tenant has no dead letter with this id. It may have been purged.",
    "Check the id.",
  ),
  JOB_DEADLETTER_ALREADY_RETRIED: entry(
    400,
    "Dead letter was already retried",
    "An earlier request enqueued this job again.",
    "See the job that retriedJobId names.",
  ),
} satisfies Record<string, CatalogueEntry>;
