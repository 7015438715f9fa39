import type { AnyJobType } from "../jobs/job_type.ts";
import { pruneIdempotencyKeysJob } from "./prune_idempotency_keys.ts";

/** The background work that belongs to requests themselves. */
export const requestsJobTypes: AnyJobType[] = [pruneIdempotencyKeysJob];
