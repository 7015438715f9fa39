import yaraPackage from "@virustotal/yara-x/package.json" with { type: "json" };
import { ARCHIVE_LIMITS, type ArchiveLimits } from "./archives/budget.ts";
import { type Scanner, type ScannerStatus, ScanUnavailable, type ScanVerdict } from "./scanner.ts";
import type { WindowSizes } from "./scan_window.ts";
import { withTimeout } from "../timeout.ts";
import { readRules, type RuleSet } from "./yara_rules.ts";
import { YaraThread } from "./yara_thread.ts";

/** Options of YARA-X. Times are in milliseconds, sizes in bytes. */
export interface YaraOptions {
  /**
   * Folder of `*.yar` files, with a trailing slash. Content that matches any rule is infected. Default: the built-in
   * rules.
   */
  rulesFolder?: URL;
  /** Number of concurrent scans (2). Each may use about twice the window size of memory. */
  threads?: number;
  /** To read the next chunk of content (30 s). */
  idleTimeoutMs?: number;
  /** To compile the rules, and to match one window (60 s). */
  stepTimeoutMs?: number;
  /** Window 32 MiB, overlap 4 MiB, head 1 MiB. */
  windowSizes?: WindowSizes;
}

const mebibyte = 1024 * 1024;
/**
 * Bytes per message to a thread. Small, so that a step ends soon, even if the batch holds many small archive entries.
 */
const batchBytes = 64 * 1024;
/** Limits for files that the service wrote: a large report may unpack to more than an upload may. */
const OWN_LIMITS: ArchiveLimits = { ...ARCHIVE_LIMITS, unpackedBytes: Infinity, ratio: Infinity };

/**
 * YARA-X on worker threads of this process, with constant memory. Content up to one window is matched exactly. In longer
 * content every window is matched by itself (see `ScanWindow`). There, a rule may miss if its strings are further apart
 * than the overlap, if it counts matches, or if it compares `filesize` with more than the window. Zip, gzip and tar
 * archives are unpacked within `ARCHIVE_LIMITS`. Content beyond these limits is Rejected.
 */
export function yaraScanner(options: YaraOptions = {}): Scanner {
  const folder = options.rulesFolder ?? new URL("./rules/", import.meta.url);
  const sizes = options.windowSizes ?? { window: 32 * mebibyte, overlap: 4 * mebibyte, head: mebibyte };
  const idleTimeoutMs = options.idleTimeoutMs ?? 30_000;
  const closing = new AbortController();
  const threads = new Set<YaraThread>();
  const idle: YaraThread[] = [];
  const waiting: (() => void)[] = [];
  let places = options.threads ?? 2;
  let rules: Promise<RuleSet> | undefined;

  function loadedRules(): Promise<RuleSet> {
    rules ??= readRules(folder);
    rules.catch(() => rules = undefined);
    return rules;
  }

  async function takePlace(signal: AbortSignal): Promise<void> {
    if (places > 0) {
      places--;
      return;
    }
    const turn = Promise.withResolvers<void>();
    waiting.push(turn.resolve);
    const giveUp = () => {
      const index = waiting.indexOf(turn.resolve);
      if (index === -1) return;
      waiting.splice(index, 1);
      turn.reject(signal.reason);
    };
    signal.addEventListener("abort", giveUp, { once: true });
    await turn.promise.finally(() => signal.removeEventListener("abort", giveUp));
  }

  function leavePlace(): void {
    const next = waiting.shift();
    if (next) next();
    else places++;
  }

  /** Returns an idle thread; undefined if there is none. Removes threads that have died. */
  function usableIdle(): YaraThread | undefined {
    const thread = idle.pop();
    if (thread === undefined || thread.usable) return thread;
    threads.delete(thread);
    return usableIdle();
  }

  async function withThread<T>(signal: AbortSignal, use: (thread: YaraThread) => Promise<T>): Promise<T> {
    signal.throwIfAborted();
    await takePlace(signal);
    let thread: YaraThread | undefined;
    try {
      thread = usableIdle() ??
        await YaraThread.start(await loadedRules(), sizes, options.stepTimeoutMs ?? 60_000);
      threads.add(thread);
      signal.throwIfAborted();
      return await use(thread);
    } finally {
      if (thread?.usable && !closing.signal.aborted) idle.push(thread);
      else if (thread) {
        thread.terminate();
        threads.delete(thread);
      }
      leavePlace();
    }
  }

  return {
    name: "yara",
    notice:
      "The embedded scanner (YARA-X) is for trials: it has only a few rules. Use clamd in production (SCANNER=clamd).",
    async scan(content, o): Promise<ScanVerdict> {
      const signal = AbortSignal.any([closing.signal, ...(o?.signal ? [o.signal] : [])]);
      const reader = content.getReader();
      try {
        const limits = o?.isOwn ? OWN_LIMITS : ARCHIVE_LIMITS;
        const { matched, beyondLimits } = await withThread(signal, async (thread) => {
          await thread.step({ do: "begin", limits }, signal);
          for await (const bytes of batches(reader, idleTimeoutMs, signal)) {
            const known = await thread.step({ do: "feed", bytes }, signal);
            if (known.matched !== null || known.beyondLimits !== null) return known;
          }
          return await thread.step({ do: "finish" }, signal);
        });
        if (matched !== null) return { verdict: "Infected", signatureName: matched };
        return beyondLimits === null ? { verdict: "Clean" } : { verdict: "Rejected", reason: beyondLimits };
      } catch (error) {
        reader.cancel(error).catch(() => {});
        throw error;
      } finally {
        reader.releaseLock();
      }
    },
    async status(): Promise<ScannerStatus> {
      closing.signal.throwIfAborted();
      const { version, date } = await loadedRules();
      if (threads.size === 0) await withThread(closing.signal, () => Promise.resolve());
      return { engine: `YARA-X ${yaraPackage.version}`, databaseVersion: version, databaseDate: date };
    },
    close(): Promise<void> {
      closing.abort(new ScanUnavailable("YARA-X: the scanner was closed"));
      for (const thread of threads) thread.terminate();
      return Promise.resolve();
    },
  };
}

/** Copies the content into buffers of at most `batchBytes`, which can be transferred to another thread. */
async function* batches(
  reader: ReadableStreamDefaultReader<Uint8Array>,
  idleTimeoutMs: number,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  const late = () =>
    new ScanUnavailable(`YARA-X: reading the next chunk of content took longer than ${idleTimeoutMs} ms`);
  let batch = new Uint8Array(batchBytes);
  let filled = 0;
  for (;;) {
    const { done, value } = await withTimeout(idleTimeoutMs, reader.read(), late, signal);
    if (done) break;
    for (let rest = value; rest.length > 0;) {
      const taken = rest.subarray(0, batchBytes - filled);
      batch.set(taken, filled);
      filled += taken.length;
      rest = rest.subarray(taken.length);
      if (filled < batchBytes) continue;
      yield batch;
      batch = new Uint8Array(batchBytes);
      filled = 0;
    }
  }
  if (filled > 0) yield batch.slice(0, filled);
}
