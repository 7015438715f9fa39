import { PostgresError } from "../../infra/postgres/postgres.ts";
import type { DocumentOrder } from "./document.ts";
import type { DocumentSources, Failure, FromWorker, ToWorker } from "./document_worker.ts";

/** Pieces that stay good while further ones are asked for: far more than any stream on their way holds. */
const KEPT = 16;
/** How long a document that is not wanted any more may take to end; then its thread is ended. */
const STOP_MS = 5_000;

/** The thread ended in the middle of a document. */
export class DocumentThreadLost extends Error {
  override name = "DocumentThreadLost";
}

/** One worker thread, for one document at a time. Not `usable` any more once it was lost or terminated. */
export class DocumentThread {
  #worker = new Worker(import.meta.resolve("./document_worker.ts"), { type: "module", name: "report" });
  #answers: FromWorker[] = [];
  #lost: DocumentThreadLost | null = null;
  #wake = () => {};

  constructor(private readonly sources: DocumentSources) {
    this.#worker.onmessage = ({ data }: MessageEvent<FromWorker>) => {
      this.#answers.push(data);
      this.#wake();
    };
    this.#worker.onerror = (event) => {
      event.preventDefault();
      this.terminate(`the thread that made the document ended: ${event.message}`);
    };
  }

  get usable(): boolean {
    return this.#lost === null;
  }

  /**
   * Makes a document piece by piece and returns how many rows it has. Aborting, or leaving early, cancels its query at
   * the server. A piece is good until sixteen further ones were asked for; then its memory is given back, which waits
   * for no collection of garbage, so that the longest document takes no more of it than a short one.
   * @throws the signal's reason, DocumentThreadLost, PostgresError, Error of the template
   */
  async *make(order: DocumentOrder, signal: AbortSignal): AsyncGenerator<Uint8Array<ArrayBuffer>, number> {
    signal.throwIfAborted();
    const wake = () => this.#wake();
    signal.addEventListener("abort", wake, { once: true });
    const kept: ArrayBuffer[] = [];
    let isRunning = true;
    this.#tell({ do: "make", order, sources: this.sources });
    try {
      for (;;) {
        const answer = await this.#answer(signal);
        if ("bytes" in answer) {
          this.#tell({ do: "more" });
          yield answer.bytes;
          if (kept.push(answer.bytes.buffer) > KEPT) kept.shift()?.transfer(0);
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

  terminate(reason = "the thread was ended"): void {
    this.#lost ??= new DocumentThreadLost(reason);
    this.#worker.terminate();
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

  /** Ends the document under way, and the thread when it does not listen. */
  async #stop(): Promise<void> {
    if (this.#lost) return;
    const patience = AbortSignal.timeout(STOP_MS);
    patience.addEventListener("abort", () => this.#wake(), { once: true });
    this.#tell({ do: "stop" });
    try {
      while ("bytes" in await this.#answer(patience)); // what was still under way
    } catch {
      this.terminate();
    }
  }

  #tell(message: ToWorker): void {
    this.#worker.postMessage(message);
  }
}

function errorOf({ message, stack, code, isPostgres, isOfQuery }: Failure): Error {
  const error = isPostgres ? new PostgresError(message) : new Error(message);
  return Object.assign(error, {
    ...(code ? { code } : {}),
    ...(stack ? { stack } : {}),
    ...(isOfQuery ? { query: "" } : {}),
  });
}
