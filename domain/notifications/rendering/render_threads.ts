import { RENDER_MILLISECONDS } from "./budget.ts";
import { TemplateInvalid, TemplateLimitExceeded, TemplateVariablesMissing } from "./errors.ts";
import type { FromRenderWorker, RenderFailure, RenderTask } from "./render_worker.ts";
import type { RenderedTemplate } from "./template.ts";

/** A render watches its own time; a thread that has not answered after so long hangs and is ended. */
const HANGS_MS = 10_000;

interface Waiting {
  order: RenderTask;
  resolve(rendered: RenderedTemplate): void;
  reject(error: Error): void;
}

/** Too much waits already; it was not taken on. */
export class RenderQueueFull extends Error {
  override readonly name = "RenderQueueFull";
}

/**
 * Threads that templates are filled in on, started when they are needed. Tenants take turns, so that one whose templates
 * take long holds up none but itself.
 */
export class RenderThreads {
  /** By tenant, in the order of their turns. */
  readonly #waiting = new Map<string, Waiting[]>();
  readonly #idle: RenderThread[] = [];
  #running = 0;
  #isClosed = false;

  constructor(
    private readonly most = Math.min(4, Math.max(1, navigator.hardwareConcurrency - 1)),
    private readonly hangsMs = HANGS_MS,
  ) {}

  /**
   * Carries out an order.
   * @param o.maxWaiting no more than so many orders of the tenant may wait already; absent: any number.
   * @throws TemplateInvalid, TemplateVariablesMissing, TemplateLimitExceeded, RenderQueueFull
   */
  run(
    order: RenderTask,
    o: { tenantId: string | null; maxWaiting?: number | undefined },
  ): Promise<RenderedTemplate> {
    const tenant = o.tenantId ?? "";
    const queue = this.#waiting.get(tenant) ?? [];
    if (queue.length >= (o.maxWaiting ?? Infinity)) {
      return Promise.reject(new RenderQueueFull(`${queue.length} templates wait to be filled in`));
    }
    return new Promise((resolve, reject) => {
      queue.push({ order, resolve, reject });
      this.#waiting.set(tenant, queue);
      this.#startNext();
    });
  }

  /** Ends the threads; what still waits is refused. */
  close(): void {
    this.#isClosed = true;
    for (const thread of this.#idle.splice(0)) thread.terminate();
    for (const queue of this.#waiting.values()) {
      for (const { reject } of queue) reject(new Error("the service stops"));
    }
    this.#waiting.clear();
  }

  #startNext(): void {
    if (this.#running === this.most) return;
    const next = this.#takeTurn();
    if (!next) return;
    this.#running++;
    const thread = this.#idle.pop() ?? new RenderThread();
    thread.carryOut(next.order, this.hangsMs).then(next.resolve, next.reject).finally(() => {
      this.#running--;
      if (this.#isClosed) thread.terminate();
      else if (thread.usable) this.#idle.push(thread);
      this.#startNext();
    });
  }

  /** The first order of the tenant whose turn it is, who then stands last. */
  #takeTurn(): Waiting | undefined {
    for (const [tenant, queue] of this.#waiting) {
      this.#waiting.delete(tenant);
      const next = queue.shift();
      if (queue.length > 0) this.#waiting.set(tenant, queue);
      return next;
    }
  }
}

/** One worker thread, for one order at a time. Not `usable` any more once it hung or broke. */
class RenderThread {
  #worker = new Worker(import.meta.resolve("./render_worker.ts"), { type: "module", name: "render" });
  usable = true;

  async carryOut(order: RenderTask, hangsMs: number): Promise<RenderedTemplate> {
    const { promise, resolve, reject } = Promise.withResolvers<FromRenderWorker>();
    this.#worker.onmessage = ({ data }: MessageEvent<FromRenderWorker>) => resolve(data);
    this.#worker.onerror = (event) => {
      event.preventDefault();
      reject(new Error(`the thread that filled in a template ended: ${event.message}`));
    };
    const timer = setTimeout(() => reject(new TemplateLimitExceeded("time", RENDER_MILLISECONDS)), hangsMs);
    let answer: FromRenderWorker;
    try {
      this.#worker.postMessage(order);
      answer = await promise;
    } catch (error) {
      this.terminate();
      throw error;
    } finally {
      clearTimeout(timer);
    }
    if ("failed" in answer) throw errorOf(answer.failed);
    return answer.rendered;
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
