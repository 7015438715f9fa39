import { z } from "zod";
import type { Sql } from "../../infra/postgres/postgres.ts";
import { defineJob } from "../jobs/job_type.ts";
import { KEY_HOURS } from "./idempotency.ts";

const BATCH = 1_000;

/** Deletes expired idempotency keys every ten minutes. Returns how many. */
export const pruneIdempotencyKeysJob = defineJob({
  name: "steward.prune-idempotency-keys",
  args: z.object({}),
  cron: "*/10 * * * *",
  maxRetries: 0,
  run: async (_args, { db, signal }) => ({ pruned: await pruneIdempotencyKeys(db, signal) }),
});

/** Deletes expired keys in batches until none are left or `signal` aborts. Returns how many. */
export async function pruneIdempotencyKeys(sql: Sql, signal: AbortSignal): Promise<number> {
  let pruned = 0;
  let count = BATCH;
  while (count >= BATCH && !signal.aborted) {
    ({ count } = await sql`delete from idempotency_keys where id in (
      select id from idempotency_keys where created_at < now() - make_interval(hours => ${KEY_HOURS})
      limit ${BATCH})`);
    pruned += count;
  }
  return pruned;
}
