import { deleteExpired, maintenanceJob } from "../jobs/maintenance.ts";
import { KEY_HOURS } from "./idempotency.ts";

/** Deletes expired idempotency keys every ten minutes. */
export const pruneIdempotencyKeysJob = maintenanceJob({
  name: "steward.prune-idempotency-keys",
  cron: "*/10 * * * *",
  works: {
    pruned: deleteExpired({ table: "idempotency_keys", column: "created_at", keptFor: `${KEY_HOURS} hours` }),
  },
});
