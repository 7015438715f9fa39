// Calls of a remote worker, for tests.
import assert from "node:assert/strict";
import type { WorkItem as ClaimedWork } from "../../domain/jobs/remote/claim_work.ts";
import type { HttpClient } from "./http.ts";

/** A claimed job as JSON. */
export type WorkItem = Omit<ClaimedWork, "leaseUntil" | "deadline"> & {
  leaseUntil: string;
  deadline: string;
};

/** A worker that calls the service over HTTP by its name. */
export class RemoteWorker {
  constructor(readonly by: HttpClient, readonly name: string) {}

  async claim(types: string[], more: Record<string, unknown> = {}): Promise<WorkItem[]> {
    const { status, body } = await this.by.post("/api/v1/work/claim", {
      types,
      max: 100,
      worker: this.name,
      ...more,
    });
    assert.equal(status, 200, JSON.stringify(body));
    return body.jobs;
  }

  /** The states of the jobs. */
  async beat(jobs: Attempt[], more: Record<string, unknown> = {}): Promise<string[]> {
    const { status, body } = await this.by.post("/api/v1/work/heartbeat", { jobs: jobs.map(named(more)) });
    assert.equal(status, 200, JSON.stringify(body));
    assert.deepEqual(body.jobs.map(attemptOf), jobs.map(attemptOf));
    return body.jobs.map(({ state }: { state: string }) => state);
  }

  /** The verdicts on the results. */
  async settle(jobs: Attempt[], outcome: string, more: Record<string, unknown> = {}): Promise<string[]> {
    const { status, body } = await this.by.post("/api/v1/work/settle", {
      jobs: jobs.map(named({ outcome, ...more })),
    });
    assert.equal(status, 200, JSON.stringify(body));
    assert.deepEqual(body.jobs.map(attemptOf), jobs.map(attemptOf));
    return body.jobs.map(({ result }: { result: string }) => result);
  }
}

type Attempt = Pick<WorkItem, "jobId" | "attempt">;
const attemptOf = ({ jobId, attempt }: Attempt) => ({ jobId, attempt });
const named = (more: Record<string, unknown>) => (job: Attempt) => ({ ...attemptOf(job), ...more });
