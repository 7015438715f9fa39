import { Worker } from "node:worker_threads";
import { ObjectStoreUnavailable } from "../../../infra/objectstore/errors.ts";
import { PostgresError } from "../../../infra/postgres/failures.ts";
import type { DocumentInput, DocumentSources, Failure, FromWorker, ToWorker } from "./document_worker.ts";

/** Number of chunks that stay valid after they were yielded. It is more than the streams that consume them can buffer. */
const KEPT_CHUNKS = 8;
/** Time that a cancelled document has to stop. After that its thread is terminated. */
const STOP_MS = 5_000;
/** Heap for short-lived values. By default V8 lets it grow to over 50 MB before it collects their garbage. */
const YOUNG_MEGABYTES = 12;
/**
 * Limit of the heap for long-lived values, far above the need of any document. V8 lets a heap grow to four times its live
 * values before it collects garbage. With a limit of at most 1 GB (here 1,024 MB) it lets it grow to twice its live values.
 */
const OLD_MEGABYTES = 1_024;

/** The thread ended before its document was finished. */
export class DocumentThreadLost extends Error {
  override name = "DocumentThreadLost";
}

/** A worker thread that generates one document at a time. It is not `usable` after it crashed or was terminated. */
export class DocumentThread {
  #worker = new Worker(new URL(import.meta.resolve("./document_worker.ts")), {
    name: "report",
    resourceLimits: { maxYoungGenerationSizeMb: YOUNG_MEGABYTES, maxOldGenerationSizeMb: OLD_MEGABYTES },
  });
  #answers: FromWorker[] = [];
  #lost: DocumentThreadLost | null = null;
  #wake = () => {};

  constructor(private readonly sources: DocumentSources) {
    this.#worker.on("message", (answer: FromWorker) => {
      this.#answers.push(answer);
      this.#wake();
    });
    this.#worker.on("error", (error) => this.terminate(`the document thread crashed: ${error.message}`));
  }

  get usable(): boolean {
    return this.#lost === null;
  }

  /**
   * Generates a document as a stream of byte chunks; the generator's return value is the number of rows. Aborting
   * `signal` or ending the iteration early cancels the query at the server. A chunk is valid until KEPT_CHUNKS more
   * were yielded. Its memory is then freed without waiting for garbage collection, so memory use does not grow with the
   * document.
   * @throws the signal's reason, DocumentThreadLost, PostgresError, or an error of the template
   */
  async *make(input: DocumentInput, signal: AbortSignal): AsyncGenerator<Uint8Array<ArrayBuffer>, number> {
    signal.throwIfAborted();
    const wake = () => this.#wake();
    signal.addEventListener("abort", wake, { once: true });
    const kept: ArrayBuffer[] = [];
    let isRunning = true;
    this.#post({ do: "make", input, sources: this.sources });
    try {
      for (;;) {
        const answer = await this.#answer(signal);
        if ("bytes" in answer) {
          this.#post({ do: "more" });
          yield answer.bytes;
          if (kept.push(answer.bytes.buffer) > KEPT_CHUNKS) kept.shift()?.transfer(0);
          continue;
        }
        isRunning = false;
        if ("failed" in answer) throw errorOf(answer.failed);
        return answer.rowCount;
      }
    } finally {
      signal.removeEventListener("abort", wake);
      if (isRunning) await this.#stop();
    }
  }

  terminate(reason = "the document thread was terminated"): void {
    this.#lost ??= new DocumentThreadLost(reason);
    void this.#worker.terminate();
    this.#wake();
  }

  async #answer(signal: AbortSignal): Promise<FromWorker> {
    for (;;) {
      signal.throwIfAborted();
      const answer = this.#answers.shift();
      if (answer) return answer;
      if (this.#lost) throw this.#lost;
      await new Promise<void>((resolve) => this.#wake = resolve);
    }
  }

  /** Cancels the current document; terminates the thread if it does not react within STOP_MS. */
  async #stop(): Promise<void> {
    if (this.#lost) return;
    const limit = AbortSignal.timeout(STOP_MS);
    limit.addEventListener("abort", () => this.#wake(), { once: true });
    this.#post({ do: "stop" });
    try {
      while ("bytes" in await this.#answer(limit)); // discard chunks that were already sent
    } catch {
      this.terminate();
    }
  }

  #post(message: ToWorker): void {
    this.#worker.postMessage(message);
  }
}

function errorOf({ message, stack, code, isPostgres, isStoreAway, hasQuery }: Failure): Error {
  const Kind = isPostgres ? PostgresError : isStoreAway ? ObjectStoreUnavailable : Error;
  const error = new Kind(message);
  return Object.assign(error, {
    ...(code ? { code } : {}),
    ...(stack ? { stack } : {}),
    ...(hasQuery ? { query: "" } : {}),
  });
}
