import type { AnyJobType } from "../jobs/job_type.ts";
import type { Platform } from "../shared/platform.ts";
import { pruneIdempotencyKeysJob } from "./prune_idempotency_keys.ts";

/** The background work that belongs to requests themselves. */
export const requestsJobTypes = (p: Platform): AnyJobType[] => [pruneIdempotencyKeysJob(p)];
