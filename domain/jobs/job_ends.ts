import type { Queryable } from "../../infra/postgres/postgres.ts";

/** How a job ended for good. */
export interface JobEnd {
  status: "Succeeded" | "DeadLettered" | "Cancelled";
  lastError: string | null;
}

/** How those of these jobs ended that have ended, by id; for areas whose own rows wait for a job. */
export async function readJobEnds(q: Queryable, ids: string[]): Promise<Map<string, JobEnd>> {
  if (ids.length === 0) return new Map();
  const rows = await q<(JobEnd & { id: string })[]>`
    select id, status, last_error from jobs
    where id = any(${ids}::uuid[]) and status in ('Succeeded', 'DeadLettered', 'Cancelled')`;
  return new Map(rows.map(({ id, ...end }) => [id, end]));
}
