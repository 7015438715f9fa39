import type { Sql } from "../../infra/postgres/postgres.ts";

/** The final status of a job. */
export interface JobEnd {
  status: "Succeeded" | "DeadLettered" | "Cancelled";
  lastError: string | null;
}

/** Final status by job id, for those of the jobs that have ended. For areas whose rows wait for a job. */
export async function readJobEnds(q: Sql, ids: string[]): Promise<Map<string, JobEnd>> {
  if (ids.length === 0) return new Map();
  const rows = await q<(JobEnd & { id: string })[]>`
    select id, status, last_error from jobs
    where id = any(${ids}::uuid[]) and status in ('Succeeded', 'DeadLettered', 'Cancelled')`;
  return new Map(rows.map(({ id, ...end }) => [id, end]));
}

/**
 * A page of the jobs of a type that were cancelled within the last day and before their scheduled time, in the order of
 * their ids. For areas whose rows wait for the same time.
 */
export async function readCancelledEarly(
  q: Sql,
  jobTypeName: string,
  { limit, after }: { limit: number; after: string },
): Promise<{ id: string; serializedArgs: string }[]> {
  return await q<{ id: string; serializedArgs: string }[]>`
    select id, serialized_args from jobs
    where status = 'Cancelled' and job_type_name = ${jobTypeName} and completed_at > now() - interval '1 day'
      and scheduled_at > completed_at and id > ${after}
    order by id limit ${limit}`;
}
