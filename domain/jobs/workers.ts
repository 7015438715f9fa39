import type { Sql } from "../../infra/postgres/postgres.ts";

/** A running worker. Each instance that runs jobs has one. */
export interface LiveWorker {
  id: string;
  host: string;
  startedAt: Date;
  /** Last renewal of its lease. */
  heartbeatAt: Date;
  /** Number of jobs it has claimed. */
  holds: number;
}

/** The workers that hold a lease, oldest first. */
export async function listWorkers(sql: Sql): Promise<LiveWorker[]> {
  return [
    ...await sql<LiveWorker[]>`
      select w.id, w.host, w.started_at, w.heartbeat_at, held.n as holds from job_workers w
      cross join lateral (
        select count(*) as n from jobs j where j.status = 'Processing' and j.worker_id = w.id
      ) held
      order by w.started_at, w.id`,
  ];
}
