import { ScanUnavailable } from "./scanner.ts";
import type { WindowSizes } from "./window.ts";
import { within } from "./within.ts";
import type { RuleSet } from "./yara_rules.ts";
import type { FromWorker, ToWorker } from "./yara_worker.ts";

/** The first rule that has matched, and why the content cannot be looked into up to its end. */
export type Knowledge = Exclude<FromWorker, { failed: string }>;

let compiledModule: Promise<WebAssembly.Module> | undefined;

/** The engine's WebAssembly, compiled once per process and shared by all its threads. */
function wasmModule(): Promise<WebAssembly.Module> {
  const file = new URL("yara_x_js_bg.wasm", import.meta.resolve("@virustotal/yara-x"));
  compiledModule ??= Deno.readFile(file).then((bytes) => WebAssembly.compile(bytes));
  compiledModule.catch(() => compiledModule = undefined);
  return compiledModule;
}

/**
 * One worker thread with compiled rules, for one scan at a time.
 * After any failure (a trap, a step over its time, a stop in the middle of a step) it is terminated and `usable` is false.
 */
export class YaraThread {
  #worker: Worker;
  #pending: PromiseWithResolvers<FromWorker> | undefined;
  #usable = true;
  readonly #stepTimeoutMs: number;

  private constructor(stepTimeoutMs: number) {
    this.#stepTimeoutMs = stepTimeoutMs;
    this.#worker = new Worker(import.meta.resolve("./yara_worker.ts"), { type: "module", name: "yara" });
    this.#worker.onmessage = ({ data }: MessageEvent<FromWorker>) => this.#pending?.resolve(data);
    this.#worker.onerror = (event) => {
      event.preventDefault();
      this.#pending?.resolve({ failed: event.message });
      this.terminate();
    };
  }

  /** Starts a thread and compiles the rules in it. Throws `ScanUnavailable` when either fails. */
  static async start(rules: RuleSet, sizes: WindowSizes, stepTimeoutMs: number): Promise<YaraThread> {
    const module = await wasmModule().catch((cause) => {
      throw new ScanUnavailable(`YARA-X: cannot load the engine: ${cause}`, { cause });
    });
    const thread = new YaraThread(stepTimeoutMs);
    await thread.step({ do: "load", module, sources: rules.sources, sizes });
    return thread;
  }

  get usable(): boolean {
    return this.#usable;
  }

  /** Has the worker do one thing; answers what it knows of this scan so far. Throws `ScanUnavailable`, or the signal's reason. */
  async step(message: ToWorker, signal?: AbortSignal): Promise<Knowledge> {
    this.#pending = Promise.withResolvers<FromWorker>();
    try {
      this.#worker.postMessage(message, message.do === "feed" ? [message.bytes.buffer] : []);
      const late = () =>
        new ScanUnavailable(`YARA-X: the step "${message.do}" took longer than ${this.#stepTimeoutMs} ms`);
      const answer = await within(this.#stepTimeoutMs, this.#pending.promise, late, signal);
      if ("failed" in answer) throw new ScanUnavailable(`YARA-X: ${answer.failed}`);
      return answer;
    } catch (error) {
      this.terminate();
      throw error;
    }
  }

  terminate(): void {
    this.#usable = false;
    this.#worker.terminate();
    this.#pending?.resolve({ failed: "the scanner was closed" });
  }
}
