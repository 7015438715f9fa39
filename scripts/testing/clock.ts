// The clock of a test service.
import type { Clock } from "../../infra/clock.ts";
import { DatabaseClock } from "../../infra/postgres/database_clock.ts";
import { type Sql, transact } from "../../infra/postgres/postgres.ts";
import { clockFunctions } from "./database.ts";

/**
 * Moves the time of the database and of the service by an interval, such as `3 days`. Leases move along, so that running
 * jobs are not lost. The service's own recurring jobs, such as those that delete old data, become due.
 * @throws Error if `by` is no interval, or would move the time back
 */
export async function advanceClock(p: { sql: Sql; clock: Clock }, by: string): Promise<void> {
  await transact(p.sql, async (tx) => {
    const [offset] = await tx<{ seconds: number; isBack: boolean }[]>`
      select extract(epoch from now() + ${by}::text::interval - pg_catalog.now())::float8 as seconds,
        ${by}::text::interval < interval '0' as is_back`;
    if (offset?.isBack !== false) { // null: `by` is absent
      throw new Error(`the clock cannot move by ${by}; expected such as "3 days"`);
    }
    await tx.unsafe(clockFunctions(offset.seconds));
    await tx`update job_workers set heartbeat_at = heartbeat_at + ${by}::text::interval`;
    await tx`update jobs set lease_until = lease_until + ${by}::text::interval,
      deadline = deadline + ${by}::text::interval where lease_until is not null`;
    await tx`update recurring_jobs set next_run_at = now()
      where tenant_id is null and created_by is null and next_run_at > now()`;
  });
  if (p.clock instanceof DatabaseClock) await p.clock.start(p.sql);
}
