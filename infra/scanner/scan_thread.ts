import { ScanUnavailable } from "./scanner.ts";
import type { WindowSizes } from "./scan_window.ts";
import { withTimeout } from "../timeout.ts";
import type { RuleSet } from "./yara_rules.ts";
import type { FromWorker, ToWorker } from "./scan_worker.ts";

/** State of a scan: the first rule that matched, and why the content is beyond the archive limits; null if neither. */
export type ScanState = Exclude<FromWorker, { failed: string }>;

let compiledModule: Promise<WebAssembly.Module> | undefined;

/** The WebAssembly module of YARA-X, compiled once per process and shared by all threads. @throws ScanUnavailable */
function loadedModule(): Promise<WebAssembly.Module> {
  const file = new URL("yara_x_js_bg.wasm", import.meta.resolve("@virustotal/yara-x"));
  compiledModule ??= Deno.readFile(file).then((bytes) => WebAssembly.compile(bytes));
  return compiledModule.catch((cause) => {
    compiledModule = undefined;
    throw new ScanUnavailable(`YARA-X: cannot load the engine: ${cause}`, { cause });
  });
}

/**
 * A worker thread, with compiled rules or none. It runs one scan at a time. After any failure (a crash, a timeout, an abort
 * during a step) the thread is terminated and `usable` is false.
 */
export class ScanThread {
  #worker: Worker;
  #pending: PromiseWithResolvers<FromWorker> | undefined;
  #usable = true;
  readonly #stepTimeoutMs: number;

  private constructor(stepTimeoutMs: number) {
    this.#stepTimeoutMs = stepTimeoutMs;
    this.#worker = new Worker(import.meta.resolve("./scan_worker.ts"), { type: "module", name: "scan" });
    this.#worker.onmessage = ({ data }: MessageEvent<FromWorker>) => this.#pending?.resolve(data);
    this.#worker.onerror = (event) => {
      event.preventDefault();
      this.#pending?.resolve({ failed: event.message });
      this.terminate();
    };
  }

  /**
   * Starts a thread and compiles the rules in it.
   * @param rules null: the thread only checks archive limits
   * @throws ScanUnavailable
   */
  static async start(rules: RuleSet | null, sizes: WindowSizes, stepTimeoutMs: number): Promise<ScanThread> {
    const compiled = rules && { module: await loadedModule(), sources: rules.sources };
    const thread = new ScanThread(stepTimeoutMs);
    await thread.step({ do: "load", rules: compiled, sizes });
    return thread;
  }

  get usable(): boolean {
    return this.#usable;
  }

  /** Makes the worker run one step; returns the state of the scan. @throws ScanUnavailable, the signal's reason */
  async step(message: ToWorker, signal?: AbortSignal): Promise<ScanState> {
    this.#pending = Promise.withResolvers<FromWorker>();
    try {
      this.#worker.postMessage(message, message.do === "feed" ? [message.bytes.buffer] : []);
      const late = () =>
        new ScanUnavailable(
          `scan thread: the step "${message.do}" took longer than ${this.#stepTimeoutMs} ms`,
        );
      const answer = await withTimeout(this.#stepTimeoutMs, this.#pending.promise, late, signal);
      if ("failed" in answer) throw new ScanUnavailable(`scan thread: ${answer.failed}`);
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
