import type { ArchiveLimits } from "./archives/budget.ts";
import type { WindowSizes } from "./scan_window.ts";
import type { ScanState, ScanThread } from "./scan_thread.ts";
import { ScanUnavailable } from "./scanner.ts";
import { withTimeout } from "../timeout.ts";

/** Options of scan threads. Times are in milliseconds, sizes in bytes. */
export interface ScanThreadOptions {
  /** Number of concurrent scans (2). Each may use about twice the window size of memory. */
  threads?: number;
  /** To read the next chunk of content (30 s). */
  idleTimeoutMs?: number;
  /** To compile the rules, and to match one window (60 s). */
  stepTimeoutMs?: number;
  /** Window 32 MiB, overlap 4 MiB, head 1 MiB. */
  windowSizes?: WindowSizes;
}

/**
 * Bytes per message to a thread. Small, so that a step ends soon, even if the batch holds many small archive entries.
 */
const BATCH_BYTES = 64 * 1024;

/** A pool of threads that each run one scan at a time. Further scans wait for their turn. */
export class ScanThreads {
  readonly #closing = new AbortController();
  readonly #threads = new Set<ScanThread>();
  readonly #idle: ScanThread[] = [];
  readonly #waiting: (() => void)[] = [];
  #places: number;

  /** @param start starts a thread. It is called when no thread is idle. */
  constructor(
    private readonly start: () => Promise<ScanThread>,
    private readonly o: Pick<ScanThreadOptions, "threads" | "idleTimeoutMs">,
  ) {
    this.#places = o.threads ?? 2;
  }

  /**
   * Scans content until the verdict is known.
   * @throws ScanUnavailable, errors of the stream and the signal's reason
   */
  async scan(
    content: ReadableStream<Uint8Array>,
    limits: ArchiveLimits,
    signal?: AbortSignal,
  ): Promise<ScanState> {
    const stop = AbortSignal.any([this.#closing.signal, ...(signal ? [signal] : [])]);
    const reader = content.getReader();
    try {
      return await this.#withThread(stop, async (thread) => {
        await thread.step({ do: "begin", limits }, stop);
        for await (const bytes of batches(reader, this.o.idleTimeoutMs ?? 30_000, stop)) {
          const known = await thread.step({ do: "feed", bytes }, stop);
          if (known.matched !== null || known.beyondLimits !== null) return known;
        }
        return await thread.step({ do: "finish" }, stop);
      });
    } catch (error) {
      reader.cancel(error).catch(() => {});
      throw error;
    } finally {
      reader.releaseLock();
    }
  }

  /** Starts a thread unless one runs. @throws ScanUnavailable */
  async requireStarted(): Promise<void> {
    this.#closing.signal.throwIfAborted();
    if (this.#threads.size === 0) await this.#withThread(this.#closing.signal, () => Promise.resolve());
  }

  /** Ends running scans. */
  close(): void {
    this.#closing.abort(new ScanUnavailable("the scanner was closed"));
    for (const thread of this.#threads) thread.terminate();
  }

  async #takePlace(signal: AbortSignal): Promise<void> {
    if (this.#places > 0) {
      this.#places--;
      return;
    }
    const turn = Promise.withResolvers<void>();
    this.#waiting.push(turn.resolve);
    const giveUp = () => {
      const index = this.#waiting.indexOf(turn.resolve);
      if (index === -1) return;
      this.#waiting.splice(index, 1);
      turn.reject(signal.reason);
    };
    signal.addEventListener("abort", giveUp, { once: true });
    await turn.promise.finally(() => signal.removeEventListener("abort", giveUp));
  }

  #leavePlace(): void {
    const next = this.#waiting.shift();
    if (next) next();
    else this.#places++;
  }

  /** Removes the threads that have died, and returns an idle one; undefined if all are busy. */
  #usableIdle(): ScanThread | undefined {
    const thread = this.#idle.pop();
    if (thread === undefined || thread.usable) return thread;
    this.#threads.delete(thread);
    return this.#usableIdle();
  }

  async #withThread<T>(signal: AbortSignal, use: (thread: ScanThread) => Promise<T>): Promise<T> {
    signal.throwIfAborted();
    await this.#takePlace(signal);
    let thread: ScanThread | undefined;
    try {
      thread = this.#usableIdle() ?? await this.start();
      this.#threads.add(thread);
      signal.throwIfAborted();
      return await use(thread);
    } finally {
      if (thread?.usable && !this.#closing.signal.aborted) this.#idle.push(thread);
      else if (thread) {
        thread.terminate();
        this.#threads.delete(thread);
      }
      this.#leavePlace();
    }
  }
}

/** Copies the content into buffers of at most `BATCH_BYTES`, which can be transferred to another thread. */
async function* batches(
  reader: ReadableStreamDefaultReader<Uint8Array>,
  idleTimeoutMs: number,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  const late = () =>
    new ScanUnavailable(
      `scan thread: reading the next chunk of content took longer than ${idleTimeoutMs} ms`,
    );
  let batch = new Uint8Array(BATCH_BYTES);
  let filled = 0;
  for (;;) {
    const { done, value } = await withTimeout(idleTimeoutMs, reader.read(), late, signal);
    if (done) break;
    for (let rest = value; rest.length > 0;) {
      const taken = rest.subarray(0, BATCH_BYTES - filled);
      batch.set(taken, filled);
      filled += taken.length;
      rest = rest.subarray(taken.length);
      if (filled < BATCH_BYTES) continue;
      yield batch;
      batch = new Uint8Array(BATCH_BYTES);
      filled = 0;
    }
  }
  if (filled > 0) yield batch.slice(0, filled);
}
