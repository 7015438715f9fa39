import { ACCESS_PROBLEMS } from "./access.ts";
import { AUTH_PROBLEMS } from "./auth.ts";
import type { CatalogueEntry } from "./entry.ts";
import { EVENT_PROBLEMS } from "./events.ts";
import { FILE_PROBLEMS } from "./files.ts";
import { JOB_PROBLEMS } from "./jobs.ts";
import { NOTIFICATION_PROBLEMS } from "./notifications.ts";
import { REPORT_PROBLEMS } from "./reports.ts";
import { REQUEST_PROBLEMS } from "./request.ts";
import { RESOURCE_PROBLEMS } from "./resources.ts";

/** All problems that the service can answer: the only source of statuses, problem documents and `/problems/{CODE}` pages. */
export const CATALOGUE = {
  ...REQUEST_PROBLEMS,
  ...AUTH_PROBLEMS,
  ...ACCESS_PROBLEMS,
  ...JOB_PROBLEMS,
  ...FILE_PROBLEMS,
  ...NOTIFICATION_PROBLEMS,
  ...REPORT_PROBLEMS,
  ...RESOURCE_PROBLEMS,
  ...EVENT_PROBLEMS,
} satisfies Record<string, CatalogueEntry>;

export type ProblemCode = keyof typeof CATALOGUE;

/** Is `code` in the catalogue? */
export const isProblemCode = (code: string): code is ProblemCode => Object.hasOwn(CATALOGUE, code);
