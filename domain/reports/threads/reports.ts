import type { Config } from "../../../infra/config.ts";
import { loadReportTemplates, type ReportTemplates } from "./registry.ts";
import { DocumentThread } from "./document_thread.ts";
import type { DocumentInput, DocumentSources } from "./document_worker.ts";

const SLOT_WAIT_MS = 20_000;
/** Maximum requests that wait for each slot. If a document takes two seconds, the last one gets a slot after 20 s. */
const MAX_WAITING_PER_SLOT = 10;

/** The in-process state of the reports area. */
export interface Reports {
  templates: ReportTemplates;
  /** Limits how many documents this instance generates at once; each needs a database connection and a CPU core. */
  slots: Slots;
  /**
   * Milliseconds that a synchronous request waits for a slot. Together with the run's limit they are below the request timeout.
   */
  slotWaitMs: number;
  /** Maximum synchronous requests that wait for a slot. Further ones are refused at once. */
  maxWaiting: number;
  /** The threads that generate documents. */
  threads: DocumentThreads;
}

/** The parts of reports that extensions add: the URLs of their modules, and the URLs of their databases by name. */
export interface ReportExtensions {
  modules: readonly string[];
  databases: Readonly<Record<string, string>>;
}

/** Loads the templates and creates slots and threads. @throws Error as `loadReportTemplates`, or for an undeclared database */
export async function openReports(
  config: Pick<Config, "REPORT_TEMPLATES_DIR" | "REPORT_CONCURRENCY" | "DATABASE_URL">,
  extensions: ReportExtensions,
): Promise<Reports> {
  const sources = { folder: config.REPORT_TEMPLATES_DIR, extensions: extensions.modules };
  const templates = await loadReportTemplates(sources);
  for (const { id, database } of templates.values()) {
    if (database === undefined || Object.hasOwn(extensions.databases, database)) continue;
    throw new Error(`report "${id}" reads the database "${database}", which no extension declares`);
  }
  return {
    templates,
    threads: new DocumentThreads({
      templates: sources,
      databaseUrl: config.DATABASE_URL ?? "",
      databases: extensions.databases,
    }),
    slots: new Slots(config.REPORT_CONCURRENCY),
    slotWaitMs: SLOT_WAIT_MS,
    maxWaiting: MAX_WAITING_PER_SLOT * config.REPORT_CONCURRENCY,
  };
}

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

/**
 * A semaphore with up to `count` holders at once. A free slot goes to the waiting tenant that holds the fewest slots. If
 * several tenants hold equally few, they take turns. Within a tenant, the oldest request gets the slot.
 */
export class Slots {
  #free: number;
  readonly #held = new Map<string | null, number>();
  /** In the order of the tenants' turns. */
  readonly #waiting = new Map<string | null, (() => void)[]>();

  constructor(count: number) {
    this.#free = count;
  }

  /** Number of waiting requests. */
  get waiting(): number {
    return this.#waiting.values().reduce((sum, { length }) => sum + length, 0);
  }

  /** Number of waiting requests of the tenant. */
  waitingOf(tenantId: string | null): number {
    return this.#waiting.get(tenantId)?.length ?? 0;
  }

  /**
   * Waits for a slot.
   * @returns a function that gives the slot back; calling it again does nothing
   * @throws the signal's reason if it is aborted while waiting; then no slot is taken
   */
  async take(tenantId: string | null, signal: AbortSignal): Promise<() => void> {
    signal.throwIfAborted();
    if (this.#free > 0) this.#hold(tenantId, 1);
    else await this.#wait(tenantId, signal);
    let released = false;
    return () => {
      if (released) return;
      released = true;
      this.#hold(tenantId, -1);
      this.#next()?.();
    };
  }

  /** Waits for a slot for at most `ms`. @returns as `take`; null if no slot became free */
  async takeWithin(
    tenantId: string | null,
    ms: number,
    signal?: AbortSignal,
  ): Promise<(() => void) | null> {
    const limit = AbortSignal.timeout(ms);
    return await this.take(tenantId, signal ? AbortSignal.any([signal, limit]) : limit).catch((reason) => {
      if (reason === limit.reason) return null;
      throw reason;
    });
  }

  #hold(tenantId: string | null, slots: 1 | -1): void {
    const held = (this.#held.get(tenantId) ?? 0) + slots;
    this.#free -= slots;
    if (held > 0) this.#held.set(tenantId, held);
    else this.#held.delete(tenantId);
  }

  #next(): (() => void) | undefined {
    const heldBy = (tenantId: string | null) => this.#held.get(tenantId) ?? 0;
    const [next] = [...this.#waiting.keys()].toSorted((a, b) => heldBy(a) - heldBy(b));
    return next === undefined ? undefined : this.#waiting.get(next)?.[0];
  }

  #wait(tenantId: string | null, signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const start = () => {
        leave();
        this.#hold(tenantId, 1);
        resolve();
      };
      const leave = () => {
        signal.removeEventListener("abort", abort);
        const others = this.#waiting.get(tenantId)?.filter((each) => each !== start) ?? [];
        this.#waiting.delete(tenantId); // added again at the end, because the other tenants have the next turns
        if (others.length > 0) this.#waiting.set(tenantId, others);
      };
      const abort = () => {
        leave();
        reject(signal.reason);
      };
      this.#waiting.set(tenantId, [...this.#waiting.get(tenantId) ?? [], start]);
      signal.addEventListener("abort", abort, { once: true });
    });
  }
}
