import { hasAllAreas } from "../../../infra/areas.ts";
import { transact } from "../../../infra/postgres/postgres.ts";
import { newId } from "../../shared/ids.ts";
import { nextRun } from "../cron.ts";
import type { JobPlatform } from "../platform.ts";
import { ADVISORY_LOCKS } from "../../../infra/postgres/advisory_locks.ts";

const ZONE = "UTC";

/**
 * Synchronizes the service's own recurring jobs (no tenant, no creator) with the job types that have a `cron`: inserts
 * new ones, updates changed ones, deletes those whose type does not exist. Those of areas that are off stay, because another
 * instance may have these areas. Paused ones stay paused.
 */
export async function ensureServiceRecurringJobs(
  p: Pick<JobPlatform, "sql" | "jobTypes" | "clock" | "config">,
): Promise<void> {
  const types = p.jobTypes.recurring();
  const names = types.map((type) => type.name);
  await transact(p.sql, async (tx) => {
    await tx`select pg_advisory_xact_lock(${ADVISORY_LOCKS.serviceRecurringJobs})`;
    if (hasAllAreas(p.config)) {
      await tx`
        delete from recurring_jobs
        where tenant_id is null and created_by is null and job_id <> all(${names}::text[])`;
    }
    const kept = await tx<{ jobId: string; cronExpression: string }[]>`
      select job_id, cron_expression from recurring_jobs
      where tenant_id is null and created_by is null and time_zone_id = ${ZONE}`;
    const expressions = new Map(kept.map(({ jobId, cronExpression }) => [jobId, cronExpression]));
    for (const { name, cron } of types) {
      if (expressions.get(name) === cron) continue;
      const next = nextRun(cron, ZONE, p.clock.now());
      await tx`
        insert into recurring_jobs as r (id, tenant_id, job_id, job_type_name, cron_expression, time_zone_id, queue,
          serialized_args, next_run_at)
        values (${newId()}, null, ${name}, ${name}, ${cron}, ${ZONE}, 'default', '{}', ${next})
        on conflict (coalesce(tenant_id, '00000000-0000-0000-0000-000000000000'), job_id) do update
        set cron_expression = excluded.cron_expression, time_zone_id = excluded.time_zone_id, version = r.version + 1,
          updated_at = now(), next_run_at = case when r.is_paused then null else excluded.next_run_at end
        where r.created_by is null
          and (r.cron_expression, r.time_zone_id) <> (excluded.cron_expression, excluded.time_zone_id)`;
    }
  });
}
