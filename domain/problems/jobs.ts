import { type CatalogueEntry, entry } from "./entry.ts";

/** Refusals of the jobs area. */
export const JOB_PROBLEMS = {
  JOB_NOT_FOUND: entry(
    404,
    "No such job",
    "The job does not exist or belongs to another tenant.",
    "Check the id.",
  ),
  JOB_TYPE_UNKNOWN: entry(
    400,
    "Unknown job type",
    "No job type of this name may be enqueued by callers.",
    "Use one of the names the detail lists.",
  ),
  JOB_ALREADY_CANCELLED: entry(
    400,
    "Already cancelled",
    "The job was cancelled before.",
    "Nothing needs doing.",
  ),
  JOB_CANNOT_CANCEL: entry(
    400,
    "Too late to cancel",
    "The job is running or has ended.",
    "Wait for it to end; a dead-lettered one can be retried or purged.",
  ),
  JOB_CANNOT_RETRY: entry(
    400,
    "Nothing to retry",
    "The job does not wait for a retry.",
    "Retry a dead-lettered job by its dead-letter entry; enqueue an ended one anew.",
  ),
  JOB_RECURRING_NOT_FOUND: entry(
    404,
    "No such recurring job",
    "No recurring job has this id in the tenant.",
    "Check the id.",
  ),
  JOB_RECURRING_ALREADY_EXISTS: entry(
    409,
    "The id is taken",
    "The tenant has a recurring job of this id already.",
    "Update that one, or use another id.",
  ),
  JOB_RECURRING_ALREADY_PAUSED: entry(
    400,
    "Already paused",
    "The recurring job is paused.",
    "Nothing needs doing.",
  ),
  JOB_RECURRING_NOT_PAUSED: entry(
    400,
    "Not paused",
    "The recurring job is not paused.",
    "Nothing needs doing.",
  ),
  JOB_DEADLETTER_NOT_FOUND: entry(
    404,
    "No such dead letter",
    "The entry does not exist, was purged, or belongs to another tenant.",
    "Check the id.",
  ),
  JOB_DEADLETTER_ALREADY_RETRIED: entry(
    400,
    "Already retried",
    "The entry was re-enqueued before.",
    "Follow the job that retriedJobId names.",
  ),
} satisfies Record<string, CatalogueEntry>;
