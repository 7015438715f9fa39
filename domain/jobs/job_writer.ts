import type { Sql } from "../../infra/postgres/postgres.ts";
import { type NewJob, writeJobs } from "./enqueue.ts";
import type { JobRow } from "./job_row.ts";

/** Writes under way at once: while one waits for the disk, the next is being prepared. */
const AT_ONCE = 2;
const LARGEST_WRITE = 500;

interface Request {
  jobs: NewJob[];
  resolve: (rows: JobRow[]) => void;
  reject: (error: unknown) => void;
}

/**
 * Writes jobs that are enqueued one by one. What comes in while writes are under way goes together in the next one, so
 * many callers share a commit and a single one waits for nobody. A job is answered only once it is committed.
 */
export class JobWriter {
  #waiting: Request[] = [];
  #writing = 0;

  constructor(private readonly sql: Sql) {}

  /** Writes jobs without parents, all or none; returns their rows in the given order. */
  write(jobs: NewJob[]): Promise<JobRow[]> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ jobs, resolve, reject });
      this.#next();
    });
  }

  #next(): void {
    while (this.#writing < AT_ONCE && this.#waiting.length > 0) {
      const batch = this.#takeBatch();
      this.#writing++;
      this.#writeBatch(batch).finally(() => {
        this.#writing--;
        this.#next();
      });
    }
  }

  #takeBatch(): Request[] {
    let size = 0;
    const end = this.#waiting.findIndex(({ jobs }, index) =>
      (size += jobs.length) > LARGEST_WRITE && index > 0
    );
    return this.#waiting.splice(0, end < 0 ? this.#waiting.length : end);
  }

  async #writeBatch(batch: Request[]): Promise<void> {
    try {
      const rows = await writeJobs(this.sql, batch.flatMap(({ jobs }) => jobs));
      for (const { jobs, resolve } of batch) resolve(rows.splice(0, jobs.length));
    } catch (error) {
      // One request's values may have spoilt the statement for all: alone, each succeeds or fails on its own.
      if (batch.length > 1) await Promise.all(batch.map((request) => this.#writeBatch([request])));
      else batch[0]?.reject(error);
    }
  }
}
