import { GroupCommit } from "../../infra/postgres/group_commit.ts";
import { isTransaction, type Pool, type Sql } from "../../infra/postgres/postgres.ts";
import { type NewJob, writeJobs } from "./enqueue.ts";
import type { JobRow } from "./job_row.ts";

/** Inserts jobs that are enqueued one by one. Concurrent calls share a commit; each resolves after the commit. */
export class JobWriter {
  readonly #jobs: GroupCommit<NewJob, JobRow>;

  constructor(pool: Pool) {
    this.#jobs = new GroupCommit((jobs) => writeJobs(pool, jobs));
  }

  /**
   * Inserts jobs without parents, all or none; returns their rows in the given order.
   * @param sql a transaction to insert them in; a pool: their own commit, shared with concurrent calls
   */
  write(sql: Sql, jobs: NewJob[]): Promise<JobRow[]> {
    return isTransaction(sql) ? writeJobs(sql, jobs) : this.#jobs.write(jobs);
  }
}
