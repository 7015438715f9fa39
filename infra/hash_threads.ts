import { Worker } from "node:worker_threads";
import type { FromHashWorker, HashResult, HashTask } from "./hash_worker.ts";

/** Maximum number of tasks that a thread holds: one that runs, and the next one. */
const MAX_HELD = 2;
/** A task whose thread crashed runs again. After more crashes than this it fails. */
const MAX_CRASHES = 1;

interface Queued {
  task: HashTask;
  isLong: boolean;
  crashes: number;
  resolve(result: HashResult<HashTask>): void;
  reject(error: unknown): void;
}

/**
 * Worker threads that hash and verify passwords in the order of the calls. A thread is started when all others are busy.
 * It adds 14 MB to the process. It stays, because the memory of an ended thread is not returned. A thread without a task
 * does not keep the process alive.
 */
export class HashThreads {
  readonly #waiting: Queued[] = [];
  readonly #threads = new Set<HashThread>();

  constructor(
    private readonly maxThreads: number,
    private readonly script = new URL(import.meta.resolve("./hash_worker.ts")),
  ) {}

  /** Number of tasks that were not started. */
  get waiting(): number {
    return [...this.#threads].reduce((sum, { ahead }) => sum + ahead, this.#waiting.length);
  }

  /**
   * Runs a task on a thread. Fails if the task fails, or its threads crash.
   * @param o.isLong it may take much longer than others, so its thread holds no next task
   */
  run<T extends HashTask>(task: T, { isLong = false } = {}): Promise<HashResult<T>> {
    return new Promise((resolve, reject) => {
      // the thread answers with the result of the task's kind
      this.#waiting.push({ task, isLong, crashes: 0, resolve: resolve as Queued["resolve"], reject });
      this.#startNext();
    });
  }

  #startNext(): void {
    for (let next = this.#waiting.shift(); next; next = this.#waiting.shift()) {
      try {
        const thread = this.#freeThread();
        if (!thread) return void this.#waiting.unshift(next);
        thread.take(next);
      } catch (error) {
        next.reject(error); // no thread can be started
      }
    }
  }

  /** Finds a thread for the next task: an idle one, else a new one, else one that can hold another task. */
  #freeThread(): HashThread | undefined {
    const threads = [...this.#threads];
    const idle = threads.find(({ isIdle }) => isIdle);
    if (idle) return idle;
    if (threads.length < this.maxThreads) return this.#startThread();
    return threads.find(({ hasRoom }) => hasRoom);
  }

  #startThread(): HashThread {
    const thread = new HashThread(this.script, {
      answered: () => this.#startNext(),
      lost: (unanswered) => {
        this.#threads.delete(thread);
        this.#waiting.unshift(...unanswered);
        this.#startNext();
      },
    });
    this.#threads.add(thread);
    return thread;
  }
}

/** One thread with the tasks that it has not answered, in their order. */
class HashThread {
  readonly #held: Queued[] = [];
  readonly #worker: Worker;

  /** @param on.lost called when the thread has crashed */
  constructor(
    script: URL,
    private readonly on: { answered(): void; lost(unanswered: Queued[]): void },
  ) {
    this.#worker = new Worker(script, { name: "password" });
    this.#worker.on("message", (answer: FromHashWorker) => this.#settle(answer));
    this.#worker.on("error", (error) => this.#lose(error.message));
    this.#worker.on("exit", () => this.#lose("it ended"));
  }

  get isIdle(): boolean {
    return this.#held.length === 0;
  }

  get hasRoom(): boolean {
    return this.#held.length < MAX_HELD && !this.#held.some(({ isLong }) => isLong);
  }

  /** Number of held tasks that do not run yet. */
  get ahead(): number {
    return Math.max(0, this.#held.length - 1);
  }

  take(queued: Queued): void {
    if (this.isIdle) this.#worker.ref();
    this.#worker.postMessage(queued.task);
    this.#held.push(queued);
  }

  #settle(answer: FromHashWorker): void {
    const queued = this.#held.shift();
    if (!queued) return;
    if (this.isIdle) this.#worker.unref();
    if ("failed" in answer) queued.reject(new Error(answer.failed));
    else queued.resolve(answer.done);
    this.on.answered();
  }

  /** Only the task that ran can be the cause of a crash. */
  #lose(reason: string): void {
    const unanswered = this.#held.splice(0);
    const [running] = unanswered;
    if (running && ++running.crashes > MAX_CRASHES) {
      unanswered.shift();
      running.reject(new Error(`the password thread crashed: ${reason}`));
    }
    this.on.lost(unanswered);
  }
}
