import { z } from "zod";

/** Constants of the job type, for code that enqueues it. The only argument is the import's id. */
export const IMPORT_JOB = {
  name: "steward.import-users",
  args: z.object({ importId: z.guid() }),
  exposed: false,
  timeoutMs: 30 * 60_000,
  maxRetries: 10,
  concurrency: 2,
  isConcurrencySoft: true,
} as const;
