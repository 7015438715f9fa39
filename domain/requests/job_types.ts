import type { AnyJobType } from "../jobs/job_type.ts";
import { pruneIdempotencyKeysJob } from "./prune_idempotency_keys.ts";

/** Job types of the requests area. */
export const requestsJobTypes: AnyJobType[] = [pruneIdempotencyKeysJob];
