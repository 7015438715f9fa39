import { TemplateInvalid, TemplateVariablesMissing } from "./errors.ts";
import type { FromRenderWorker, RenderFailure, RenderResult, RenderTask } from "./render_worker.ts";
import { RENDER_MILLISECONDS, TemplateLimitExceeded } from "./values/budget.ts";

/** A thread that has not answered after this time hangs and is terminated. Renders also check their own time limit. */
const THREAD_TIMEOUT_MS = 10_000;

/** Maximum waiting tasks of one tenant for requests. Renders of messages and queued documents have no limit. */
export const MAX_WAITING = 50;

interface Waiting {
  task: RenderTask;
  resolve(result: RenderResult<RenderTask>): void;
  reject(error: Error): void;
}

/** Thrown if too many tasks of the tenant already wait. */
export class RenderQueueFull extends Error {
  override readonly name = "RenderQueueFull";
}

/**
 * A pool of worker threads that render templates. Threads are started on demand. Tenants take turns (round robin), so
 * that slow templates of one tenant do not delay the others.
 */
export class RenderThreads {
  /** Queues by tenant, in the order of their turns. */
  readonly #waiting = new Map<string, Waiting[]>();
  readonly #idle: RenderThread[] = [];
  #running = 0;
  #isClosed = false;

  constructor(
    private readonly maxThreads = Math.min(4, Math.max(1, navigator.hardwareConcurrency - 1)),
    private readonly timeoutMs = THREAD_TIMEOUT_MS,
  ) {}

  /**
   * Runs a task on a thread.
   * @param o.maxWaiting maximum waiting tasks of the tenant; absent: no limit.
   * @throws TemplateInvalid, TemplateVariablesMissing, TemplateLimitExceeded, RenderQueueFull
   */
  run<T extends RenderTask>(
    task: T,
    o: { tenantId: string | null; maxWaiting?: number | undefined },
  ): Promise<RenderResult<T>> {
    const tenant = o.tenantId ?? "";
    const queue = this.#waiting.get(tenant) ?? [];
    if (queue.length >= (o.maxWaiting ?? Infinity)) {
      return Promise.reject(new RenderQueueFull(`${queue.length} renders are waiting`));
    }
    return new Promise((resolve, reject) => {
      // The cast is safe, because the thread answers with the result of the task's kind.
      queue.push({ task, resolve: resolve as Waiting["resolve"], reject });
      this.#waiting.set(tenant, queue);
      this.#startNext();
    });
  }

  /** Terminates the threads and rejects the waiting tasks. */
  close(): void {
    this.#isClosed = true;
    for (const thread of this.#idle.splice(0)) thread.terminate();
    for (const queue of this.#waiting.values()) {
      for (const { reject } of queue) reject(new Error("the service is stopping"));
    }
    this.#waiting.clear();
  }

  #startNext(): void {
    if (this.#running === this.maxThreads) return;
    const next = this.#takeTurn();
    if (!next) return;
    this.#running++;
    this.#runOnThread(next.task).then(next.resolve, next.reject).finally(() => {
      this.#running--;
      this.#startNext();
    });
  }

  /** Runs the task on an idle thread or a new one. Fails if no thread can be started. */
  async #runOnThread(task: RenderTask): Promise<RenderResult<RenderTask>> {
    const thread = this.#idle.pop() ?? new RenderThread();
    try {
      return await thread.execute(task, this.timeoutMs);
    } finally {
      if (this.#isClosed) thread.terminate();
      else if (thread.usable) this.#idle.push(thread);
    }
  }

  /** Takes the first task of the tenant whose turn it is, and moves that tenant to the end. */
  #takeTurn(): Waiting | undefined {
    for (const [tenant, queue] of this.#waiting) {
      this.#waiting.delete(tenant);
      const next = queue.shift();
      if (queue.length > 0) this.#waiting.set(tenant, queue);
      return next;
    }
  }
}

/** One worker thread, for one task at a time. `usable` becomes false when it hangs or fails. */
class RenderThread {
  #worker = new Worker(import.meta.resolve("./render_worker.ts"), { type: "module", name: "render" });
  usable = true;

  async execute(task: RenderTask, timeoutMs: number): Promise<RenderResult<RenderTask>> {
    const { promise, resolve, reject } = Promise.withResolvers<FromRenderWorker>();
    this.#worker.onmessage = ({ data }: MessageEvent<FromRenderWorker>) => resolve(data);
    this.#worker.onerror = (event) => {
      event.preventDefault();
      reject(new Error(`the render thread failed: ${event.message}`));
    };
    const timer = setTimeout(() => reject(new TemplateLimitExceeded("time", RENDER_MILLISECONDS)), timeoutMs);
    let answer: FromRenderWorker;
    try {
      this.#worker.postMessage(task);
      answer = await promise;
    } catch (error) {
      this.terminate();
      throw error;
    } finally {
      clearTimeout(timer);
    }
    if ("failed" in answer) throw errorOf(answer.failed);
    return answer.done;
  }

  terminate(): void {
    this.usable = false;
    this.#worker.terminate();
  }
}

function errorOf(failure: RenderFailure): Error {
  switch (failure.kind) {
    case "invalid":
      return new TemplateInvalid(failure.part, failure.line, failure.column, failure.reason);
    case "missing":
      return new TemplateVariablesMissing(failure.names);
    case "limit":
      return new TemplateLimitExceeded(failure.limit, failure.allowed);
    case "other":
      return Object.assign(new Error(failure.message), failure.stack ? { stack: failure.stack } : {});
  }
}
