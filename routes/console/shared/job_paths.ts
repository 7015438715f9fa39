import { searchOf } from "./api.ts";
import type { Visit } from "./page.ts";
import { isOwnRow } from "./scope.ts";

/** The page of a job type. */
export const typePath = (name: string): string => `job-types/${encodeURIComponent(name)}`;

/** The list of the jobs of a queue, with the service's own. */
export const queuePath = (queue: string): string => `jobs${searchOf({ queue, internal: "shown" })}`;

/** The page about a queue or a job type, which may be paused. */
export const pathOfPaused = ({ kind, name }: { kind: "queue" | "type"; name: string }): string =>
  kind === "queue" ? queuePath(name) : typePath(name);

/** The page of a recurring job, or of an action on it. It names the tenant: others may have a job with this id. */
export const recurringPath = (
  v: Visit,
  { jobId, tenantId }: { jobId: string; tenantId: string | null },
  action = "",
): string =>
  `recurring/${encodeURIComponent(jobId)}${action}` +
  searchOf({ tenantId: isOwnRow(v, { tenantId }) ? null : tenantId });
