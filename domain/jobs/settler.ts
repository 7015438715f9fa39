import type { Log } from "../../infra/log.ts";
import { PostgresError, type Sql } from "../../infra/postgres/postgres.ts";
import { failed, type SettledJob, settleJobs, type Settlement } from "./settle.ts";

const LARGEST_BATCH = 500;
const RETRY_DATABASE_MS = 1_000;

export interface SettlerOptions {
  sql: Sql;
  log: Log;
  /** The lease under which results are written; those of an earlier one are refused. */
  workerId: () => string;
  /** Hears of every job that moved: settled ones and the continuations they let go. */
  moved: (jobs: SettledJob[]) => void;
}

/**
 * Writes how attempts ended, one batch at a time: what ends while a write is under way goes with the next one, so the
 * busier the worker, the larger the batches, and an idle one waits for nothing.
 */
export class Settler {
  #waiting: Settlement[] = [];
  #batch: Settlement[] = [];
  #writing: Promise<void> | null = null;
  #giveUpAt = Infinity;

  constructor(private readonly o: SettlerOptions) {}

  add(settlement: Settlement): void {
    this.#waiting.push(settlement);
    this.#next();
  }

  /** Ids of jobs whose end is not written yet. */
  unwritten(): string[] {
    return [...this.#batch, ...this.#waiting].map((settlement) => settlement.job.id);
  }

  /** Resolves when everything added is written, or after `ms` when the database cannot be reached. */
  async flush(ms: number): Promise<void> {
    this.#giveUpAt = performance.now() + ms;
    while (this.#writing) await this.#writing;
  }

  #next(): void {
    if (this.#writing || this.#waiting.length === 0) return;
    const batch = this.#waiting.splice(0, LARGEST_BATCH);
    this.#batch = batch;
    this.#writing = this.#write(batch).finally(() => {
      this.#batch = [];
      this.#writing = null;
      this.#next();
    });
  }

  async #write(batch: Settlement[]): Promise<void> {
    const { sql, log, moved } = this.o;
    const workerId = this.o.workerId();
    while (performance.now() < this.#giveUpAt) {
      try {
        const { settled, released } = await settleJobs(sql, workerId, batch);
        const refused = batch.length - settled.length;
        if (refused > 0) log.warn("late results were refused: their lease had been lost", { refused });
        moved([...settled, ...released]);
        return;
      } catch (error) {
        if (isAboutContent(error)) return await this.#writeOneByOne(batch, error);
        log.error("ended jobs could not be settled; trying again", { error, jobs: batch.length });
        await new Promise((resolve) => setTimeout(resolve, RETRY_DATABASE_MS));
      }
    }
  }

  /** One result the database cannot hold must not keep the others of its batch: it becomes a failure that says so. */
  async #writeOneByOne(batch: Settlement[], error: unknown): Promise<void> {
    if (batch.length > 1) {
      for (const settlement of batch) await this.#write([settlement]);
      return;
    }
    const [only] = batch;
    if (!only || only.error?.startsWith(UNSTORABLE)) throw error;
    await this.#write([failed(only.job, `${UNSTORABLE}: ${(error as Error).message}`, only)]);
  }
}

const UNSTORABLE = "the result could not be stored";

/** Did the database refuse the values themselves (class 22, data exception, or a broken constraint)? */
const isAboutContent = (error: unknown) =>
  error instanceof PostgresError && (error.code.startsWith("22") || error.code.startsWith("23"));
