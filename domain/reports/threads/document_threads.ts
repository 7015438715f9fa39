import { DocumentThread } from "./document_thread.ts";
import type { DocumentInput, DocumentSources } from "./document_worker.ts";

const IDLE_MS = 30_000;

/**
 * A pool of document threads. A thread is started when none is idle and terminated after IDLE_MS without work. The
 * slots limit the number of concurrent documents, and so the number of threads.
 */
export class DocumentThreads {
  #idle = new Map<DocumentThread, ReturnType<typeof setTimeout>>();
  #watched: AbortSignal | null = null;

  constructor(private readonly sources: DocumentSources, private readonly idleMs = IDLE_MS) {}

  /** Number of idle threads. */
  get idle(): number {
    return this.#idle.size;
  }

  /**
   * Runs `DocumentThread.make` on an idle or new thread.
   * @param o.stopping when aborted, all idle threads are terminated and no thread is kept
   */
  async *make(
    input: DocumentInput,
    { signal, stopping }: { signal: AbortSignal; stopping: AbortSignal },
  ): AsyncGenerator<Uint8Array<ArrayBuffer>, number> {
    const thread = this.#take(stopping);
    try {
      return yield* thread.make(input, signal);
    } finally {
      if (thread.usable && !stopping.aborted) this.#keep(thread);
      else thread.terminate();
    }
  }

  #take(stopping: AbortSignal): DocumentThread {
    for (const [thread, timer] of this.#idle) {
      clearTimeout(timer);
      this.#idle.delete(thread);
      if (thread.usable) return thread;
    }
    this.#watch(stopping);
    return new DocumentThread(this.sources);
  }

  #keep(thread: DocumentThread): void {
    const timer = setTimeout(() => this.#end(thread), this.idleMs);
    this.#idle.set(thread, timer);
  }

  #end(thread: DocumentThread): void {
    clearTimeout(this.#idle.get(thread));
    this.#idle.delete(thread);
    thread.terminate();
  }

  #watch(stopping: AbortSignal): void {
    if (this.#watched === stopping) return;
    this.#watched = stopping;
    stopping.addEventListener("abort", () => {
      for (const thread of this.#idle.keys()) this.#end(thread);
    }, { once: true });
  }
}
