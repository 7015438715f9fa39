import { z } from "zod";
import type { Sql } from "../../../infra/postgres/postgres.ts";
import { countScope, type JobReach, within } from "../reach.ts";

/** The counters of the dashboard. Jobs and executions that were pruned are not included. */
export const JobDashboardStats = z.object({
  totalJobs: z.int(),
  enqueuedJobs: z.int(),
  processingJobs: z.int(),
  succeededJobs: z.int(),
  failedJobs: z.int(),
  deadLetteredJobs: z.int(),
  scheduledJobs: z.int(),
  recurringJobs: z.int(),
  averageExecutionDurationMs: z.number(),
  totalExecutions: z.int(),
}).meta({ id: "JobDashboardStatsDto" });
export type JobDashboardStats = z.output<typeof JobDashboardStats>;

/** Exact counts from one snapshot. Sums the folded counters and the deltas not yet folded. */
export async function readJobStats(q: Sql, reach: JobReach): Promise<JobDashboardStats> {
  const scope = countScope(reach);
  const [stats] = await q<JobDashboardStats[]>`
    select
      coalesce(sum(counted.n), 0)::bigint as total_jobs,
      coalesce(sum(counted.n) filter (where status = 'Enqueued'), 0)::bigint as enqueued_jobs,
      coalesce(sum(counted.n) filter (where status = 'Processing'), 0)::bigint as processing_jobs,
      coalesce(sum(counted.n) filter (where status = 'Succeeded'), 0)::bigint as succeeded_jobs,
      coalesce(sum(counted.n) filter (where status = 'Failed'), 0)::bigint as failed_jobs,
      coalesce(sum(counted.n) filter (where status = 'DeadLettered'), 0)::bigint as dead_lettered_jobs,
      coalesce(sum(counted.n) filter (where status = 'Scheduled'), 0)::bigint as scheduled_jobs,
      (select count(*) from recurring_jobs where ${within(q, reach)}) as recurring_jobs,
      executions.n as total_executions,
      case when executions.n > 0 then executions.duration_ms / executions.n else 0 end as average_execution_duration_ms
    from (
      select status, n from job_counts where scope = ${scope}
      union all
      select status, n from job_count_deltas where ${within(q, reach)}
    ) counted
    right join (
      select coalesce(sum(n), 0)::bigint as n, coalesce(sum(duration_ms), 0) as duration_ms from (
        select n, duration_ms from execution_counts where scope = ${scope}
        union all
        select n, duration_ms from execution_count_deltas where ${within(q, reach)}
      ) added
    ) executions on true
    group by executions.n, executions.duration_ms`;
  if (!stats) throw new Error("the dashboard query returned no row");
  return {
    ...stats,
    averageExecutionDurationMs: Math.max(0, Math.round(stats.averageExecutionDurationMs * 1000) / 1000),
  };
}
