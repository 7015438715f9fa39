import yaraPackage from "@virustotal/yara-x/package.json" with { type: "json" };
import { ARCHIVE_LIMITS, type ArchiveLimits } from "./archives/budget.ts";
import { type Scanner, type ScannerStatus, ScanUnavailable, type ScanVerdict } from "./scanner.ts";
import type { WindowSizes } from "./window.ts";
import { within } from "./within.ts";
import { readRules, type RuleSet } from "./yara_rules.ts";
import { YaraThread } from "./yara_thread.ts";

/** How to run YARA-X; everything has a default. Times in milliseconds, sizes in bytes. */
export interface YaraOptions {
  /** Folder of `*.yar` files, with a trailing slash; any rule in it that matches means infected. Default: the shipped rules. */
  rulesFolder?: URL;
  /** Scans at the same time (2); each may hold about twice the window in memory. */
  threads?: number;
  /** For the next chunk of content to arrive (30 s). */
  idleTimeoutMs?: number;
  /** For compiling the rules, and for matching one window (60 s). */
  stepTimeoutMs?: number;
  /** Window 32 MiB, overlap 4 MiB, head 1 MiB. */
  windowSizes?: WindowSizes;
}

const mebibyte = 1024 * 1024;
/** So few that one step has an end soon, also where they are many small entries of an archive. */
const batchBytes = 64 * 1024;
/** A large report of the service unpacks to more than uploads may. */
const OWN_LIMITS: ArchiveLimits = { ...ARCHIVE_LIMITS, unpackedBytes: Infinity, ratio: Infinity };

/**
 * YARA-X in process, on worker threads, with flat memory. Content up to one window is matched exactly. Of longer content
 * every window is matched by itself (see `ScanWindow`): a rule whose strings lie further apart than the overlap,
 * or that counts, or that asks for `filesize` above the window, may miss there. Zip, gzip and tar are looked into within
 * `ARCHIVE_LIMITS`; what is beyond them is Rejected. */
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

  /** A thread at rest; those that died meanwhile are forgotten. */
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
      "The embedded scanner (YARA-X) is for trials: it ships a few rules only. Production uses clamd (SCANNER=clamd).",
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

/** Copies the content into buffers of at most `batchBytes` that may be given away to another thread. */
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
    const { done, value } = await within(idleTimeoutMs, reader.read(), late, signal);
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
