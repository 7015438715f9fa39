import type { DocumentOrder } from "./document.ts";
import { DocumentThread } from "./document_thread.ts";
import type { DocumentSources } from "./document_worker.ts";

const IDLE_MS = 30_000;

/**
 * Threads that documents are made on: started when one is needed and none is idle, ended after some time without work.
 * There are never more than documents at once, which is what the slots bound.
 */
export class DocumentThreads {
  #idle = new Map<DocumentThread, ReturnType<typeof setTimeout>>();
  #watched: AbortSignal | null = null;

  constructor(private readonly sources: DocumentSources, private readonly idleMs = IDLE_MS) {}

  /** How many wait for work. */
  get idle(): number {
    return this.#idle.size;
  }

  /**
   * As `DocumentThread.make`, on a thread that is free.
   * @param stopping once aborted, no thread is kept.
   */
  async *make(
    order: DocumentOrder,
    { signal, stopping }: { signal: AbortSignal; stopping: AbortSignal },
  ): AsyncGenerator<Uint8Array<ArrayBuffer>, number> {
    const thread = this.#take(stopping);
    try {
      return yield* thread.make(order, signal);
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
