import { type CatalogueEntry, entry } from "./entry.ts";

/** Problems of the reports area. */
export const REPORT_PROBLEMS = {
  REPORT_NOT_FOUND: entry(
    404,
    "Report execution not found",
    "The tenant has no report execution with this id. It may be deleted.",
    "Check the id.",
  ),
  REPORT_TEMPLATE_NOT_FOUND: entry(
    404,
    "Report template not found",
    "No report template has this id.",
    "Use one of the ids that GET /api/v1/reports lists.",
  ),
  REPORT_FORMAT_NOT_SUPPORTED: entry(
    400,
    "Report format not supported",
    "The template cannot generate a report in this format.",
    "Use one of its supportedFormats.",
  ),
  REPORT_NOT_AVAILABLE: entry(
    409,
    "Report is not completed",
    "The document cannot be downloaded because the execution is not completed.",
    "Poll the execution until its status is Completed.",
  ),
  REPORT_LINK_NOT_FOUND: entry(
    404,
    "Report link not found",
    "The link to the report is unknown or older than 24 hours, or the report was deleted.",
    "Ask the sender for a new link.",
  ),
  REPORT_BUSY_UNAVAILABLE: entry(
    503,
    "Too many concurrent reports",
    "No report was generated because the maximum number of reports was running until the time limit.",
    "Try again after the number of seconds in Retry-After, or use generate-async, which waits in a queue.",
  ),
  REPORT_TOO_LARGE_FOR_SYNC: entry(
    400,
    "Report takes too long for a synchronous request",
    "A synchronous generation may take 60 seconds; this report would take longer.",
    "Use generate-async.",
  ),
  REPORT_SCHEDULE_NOT_FOUND: entry(
    404,
    "Report schedule not found",
    "The tenant has no report schedule with this id.",
    "Check the id.",
  ),
  REPORT_SCHEDULE_ALREADY_PAUSED: entry(
    400,
    "Report schedule is already paused",
    "The schedule was paused by an earlier request.",
    "No action is needed.",
  ),
  REPORT_SCHEDULE_NOT_PAUSED: entry(
    400,
    "Report schedule is not paused",
    "Only a paused schedule can be resumed.",
    "No action is needed.",
  ),
} satisfies Record<string, CatalogueEntry>;
