import { type CatalogueEntry, entry } from "./entry.ts";

/** Refusals of the reports area. */
export const REPORT_PROBLEMS = {
  REPORT_NOT_FOUND: entry(
    404,
    "No such report",
    "The execution does not exist, is deleted, or belongs to another tenant.",
    "Check the id.",
  ),
  REPORT_TEMPLATE_NOT_FOUND: entry(
    404,
    "No such report template",
    "No report template has this id.",
    "Use one of the ids GET /api/v1/reports lists.",
  ),
  REPORT_FORMAT_NOT_SUPPORTED: entry(
    400,
    "Format not supported",
    "The template cannot be generated in this format.",
    "Use one of its supportedFormats.",
  ),
  REPORT_NOT_AVAILABLE: entry(
    409,
    "Not completed",
    "The execution has not completed, so there is nothing to download.",
    "Poll the execution until its status is Completed.",
  ),
  REPORT_LINK_NOT_FOUND: entry(
    404,
    "No such report link",
    "The link to the report is unknown or older than 24 hours, or the report was deleted.",
    "Ask whoever sent the link for a new one.",
  ),
  REPORT_BUSY_UNAVAILABLE: entry(
    503,
    "Too many reports at once",
    "As many reports as may run at once are running, and none of them ended in time; nothing was generated.",
    "Try again after as long as Retry-After says, or use generate-async, which waits for its turn.",
  ),
  REPORT_TOO_LARGE_FOR_SYNC: entry(
    400,
    "Too large to wait for",
    "A synchronous generation may take 60 seconds; this one would take longer.",
    "Use generate-async.",
  ),
  REPORT_SCHEDULE_NOT_FOUND: entry(
    404,
    "No such report schedule",
    "The schedule does not exist or belongs to another tenant.",
    "Check the id.",
  ),
  REPORT_SCHEDULE_ALREADY_PAUSED: entry(
    400,
    "Already paused",
    "The schedule is paused; pausing it again changes nothing.",
    "Nothing needs to be done.",
  ),
  REPORT_SCHEDULE_NOT_PAUSED: entry(
    400,
    "Not paused",
    "Only a paused schedule can be resumed.",
    "Nothing needs to be done.",
  ),
} satisfies Record<string, CatalogueEntry>;
