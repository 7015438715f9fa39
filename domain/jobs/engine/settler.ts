import { setImmediate as nextTurn, setTimeout as pause } from "node:timers/promises";
import type { Log } from "../../../infra/log.ts";
import { PostgresError } from "../../../infra/postgres/failures.ts";
import { type Sql } from "../../../infra/postgres/postgres.ts";
import type { SettledJob } from "../job_row.ts";
import type { JobTypes } from "../job_type.ts";
import { failed, settleJobs, type Settlement } from "./settle.ts";

const LARGEST_BATCH = 500;
const RETRY_DATABASE_MS = 1_000;
const RETRY_UNSTORABLE_MS = 5_000;

export interface SettlerOptions {
  sql: Sql;
  log: Log;
  types: JobTypes;
  /** Id of the current lease; results of an earlier lease are refused. */
  workerId: () => string;
  /** Called with every job whose status changed: settled jobs and released continuations. */
  onChanged: (jobs: SettledJob[]) => void;
}

/**
 * Writes how attempts ended, one batch at a time. Attempts that end during a write form the next batch. So a busy
 * worker writes large batches, and an idle one writes without delay.
 */
export class Settler {
  #waiting: Settlement[] = [];
  #batch: Settlement[] = [];
  /** Settlements that the database refuses, with the timers of their next tries. */
  readonly #unstorable = new Map<Settlement, ReturnType<typeof setTimeout>>();
  #writing: Promise<void> | null = null;
  #giveUpAt = Infinity;

  constructor(private readonly o: SettlerOptions) {}

  add(settlement: Settlement): void {
    this.#waiting.push(settlement);
    this.#next();
  }

  /** Number of settlements that wait for the next batch. */
  get backlog(): number {
    return this.#waiting.length;
  }

  /** Ids of jobs whose settlement is not written yet. */
  unwritten(): string[] {
    return [...this.#batch, ...this.#waiting, ...this.#unstorable.keys()].map((settlement) =>
      settlement.job.id
    );
  }

  /**
   * Resolves when everything added is written, or after about `ms` if the database is not reachable. What the database
   * refuses is given up: the jobs run again when the worker's lease has ended.
   */
  async flush(ms: number): Promise<void> {
    this.#giveUpAt = performance.now() + ms;
    while (this.#writing) await this.#writing;
    for (const timer of this.#unstorable.values()) clearTimeout(timer);
  }

  #next(): void {
    if (this.#writing || this.#waiting.length === 0) return;
    this.#writing = this.#writeBatch().finally(() => {
      this.#batch = [];
      this.#writing = null;
      this.#next();
    });
  }

  /** Writes the next batch, with all attempts that end in the same turn of the event loop. */
  async #writeBatch(): Promise<void> {
    await nextTurn();
    this.#batch = this.#waiting.splice(0, LARGEST_BATCH);
    await this.#write(this.#batch);
  }

  async #write(batch: Settlement[]): Promise<void> {
    const { sql, log, types, onChanged } = this.o;
    const workerId = this.o.workerId();
    while (performance.now() < this.#giveUpAt) {
      try {
        const { settled, released } = await settleJobs(sql, workerId, batch, types);
        const refused = batch.length - settled.length;
        if (refused > 0) log.warn("late results were refused: the lease had been lost", { refused });
        onChanged([...settled, ...released]);
        return;
      } catch (error) {
        if (isAboutContent(error)) return await this.#writeOneByOne(batch, error);
        log.error("ended jobs could not be settled; retrying", { error, jobs: batch.length });
        await pause(RETRY_DATABASE_MS);
      }
    }
  }

  /**
   * Writes each settlement alone, so that a result the database cannot store does not block the others of its batch.
   */
  async #writeOneByOne(batch: Settlement[], error: unknown): Promise<void> {
    if (batch.length > 1) {
      for (const settlement of batch) await this.#write([settlement]);
      return;
    }
    const [only] = batch;
    if (!only) return;
    const { job, startedAt, endedAt } = only;
    if (only.error?.startsWith(UNSTORABLE)) return this.#retryLater(only, error);
    const reason = `${UNSTORABLE}: ${(error as Error).message}`;
    await this.#write([failed(job, reason, { startedAt, endedAt })]);
  }

  /** Not even the failure could be stored, such as with an event that the database refuses. Others must not wait for it. */
  #retryLater(settlement: Settlement, error: unknown): void {
    this.o.log.error("an ended job could not be settled; retrying later", {
      error,
      jobId: settlement.job.id,
    });
    const timer = setTimeout(() => {
      this.#unstorable.delete(settlement);
      this.add(settlement);
    }, RETRY_UNSTORABLE_MS);
    this.#unstorable.set(settlement, timer);
  }
}

const UNSTORABLE = "the result could not be stored";

/** True if the database refused the values: SQLSTATE class 22 (data exception) or 23 (constraint violation). */
const isAboutContent = (error: unknown) =>
  error instanceof PostgresError && (error.code.startsWith("22") || error.code.startsWith("23"));
