import { GroupCommit } from "../../infra/postgres/group_commit.ts";
import type { Sql } from "../../infra/postgres/postgres.ts";
import { sharedTransaction } from "../../infra/postgres/shared_transaction.ts";
import { type NewJob, writeJobs } from "./enqueue.ts";
import type { JobRow } from "./job_row.ts";

/** Inserts jobs that are enqueued one by one. Concurrent calls share a commit; each resolves after the commit. */
export class JobWriter {
  readonly #jobs: GroupCommit<NewJob, JobRow>;

  constructor(sql: Sql) {
    this.#jobs = new GroupCommit((jobs) => writeJobs(sharedTransaction() ?? sql, jobs));
  }

  /** Inserts jobs without parents, all or none; returns their rows in the given order. */
  write(jobs: NewJob[]): Promise<JobRow[]> {
    return this.#jobs.write(jobs);
  }
}
