import { searchOf } from "./api.ts";

/** The page of a job type. */
export const typePath = (name: string): string => `job-types/${encodeURIComponent(name)}`;

/** The list of the jobs of a queue, with the service's own. */
export const queuePath = (queue: string): string => `jobs${searchOf({ queue, internal: "shown" })}`;

/** The page about a queue or a job type, which may be paused. */
export const pathOfPaused = ({ kind, name }: { kind: "queue" | "type"; name: string }): string =>
  kind === "queue" ? queuePath(name) : typePath(name);
