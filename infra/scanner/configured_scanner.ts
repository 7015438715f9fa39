import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import type { Config } from "../config.ts";
import type { Log } from "../log.ts";
import { clamdScanner } from "./clamd.ts";
import type { Scanner, ScanOptions, ScanVerdict } from "./scanner.ts";
import { yaraScanner } from "./yara.ts";
import { ARCHIVE_LIMITS, type ArchiveLimits } from "./archives/budget.ts";
import { ScanThread } from "./scan_thread.ts";
import { ScanThreads } from "./scan_threads.ts";

/**
 * Opens the configured scanner. Logs its notice, if it has one.
 * @param o.onVerdict called with every verdict, and with `Unavailable` if a scan fails
 */
export function openScanner(config: Config, o: { log: Log; onVerdict: (verdict: string) => void }): Scanner {
  const scanner = countVerdicts(newScanner(config), o.onVerdict);
  if (scanner.notice !== undefined) o.log.warn(scanner.notice);
  return scanner;
}

/** The configured scanner: clamd, or YARA-X inside this process. */
function newScanner(config: Config): Scanner {
  if (config.SCANNER === "clamd") {
    return withArchiveLimits(clamdScanner({ host: config.CLAMD_HOST ?? "", port: config.CLAMD_PORT }));
  }
  const folder = config.YARA_RULES_DIR ? pathToFileURL(join(resolve(config.YARA_RULES_DIR), "/")) : undefined;
  return yaraScanner(folder ? { rulesFolder: folder } : {});
}

/** Limits of archives. They are within clamd's defaults and `scripts/deploy/clamd.conf`, so that clamd scans all content. */
const LIMITS: ArchiveLimits = { ...ARCHIVE_LIMITS, entries: 10_000, unpackedBytes: 300_000_000 };
const STEP_TIMEOUT_MS = 60_000;
/** Without rules nothing is matched, so the content needs no window. */
const SIZES = { window: 64 * 1024, overlap: 0, head: 0 };

/**
 * Rejects archives beyond `LIMITS`, for an engine that scans only a part of large archives and reports them as clean. The
 * content is read once: threads of this process unpack it while the engine receives it. The engine gets the end of the
 * content, which starts its scan, only after the archive has been found within the limits. Files of the service may unpack
 * to any size.
 */
function withArchiveLimits(engine: Scanner): Scanner {
  // The number of threads is not limited: a scan that waits for a thread would lose its connection, because storage closes
  // idle ones. The concurrency of the scan jobs bounds the number.
  const o = { threads: Infinity };
  const threads = new ScanThreads(() => ScanThread.start(null, SIZES, STEP_TIMEOUT_MS), o);
  return {
    ...engine,
    async scan(content, o = {}): Promise<ScanVerdict> {
      if (o.isOwn) return await engine.scan(content, o);
      return await scanBounded(content, o);
    },
    async close(): Promise<void> {
      threads.close();
      await engine.close();
    },
  };

  async function scanBounded(content: ReadableStream<Uint8Array>, o: ScanOptions): Promise<ScanVerdict> {
    const reader = content.getReader();
    const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
    const writer = writable.getWriter();
    const scanned = engine.scan(readable, o);
    scanned.catch(() => {});
    /** Waits until the engine has taken what was written, or has ended. */
    const taken = async (written: Promise<void>) => {
      written.catch(() => {});
      await Promise.race([written, scanned]);
    };
    const unpacked = new ReadableStream<Uint8Array>({
      async pull(controller) {
        const { done, value } = await reader.read();
        if (done) return controller.close();
        await taken(writer.write(value));
        controller.enqueue(value);
      },
    }, { highWaterMark: 0 });
    try {
      const { beyondLimits } = await threads.scan(unpacked, LIMITS, o.signal);
      if (beyondLimits !== null) return { verdict: "Rejected", reason: beyondLimits };
      await taken(writer.close());
      return await scanned;
    } finally {
      writer.abort(new Error("the scan has ended")).catch(() => {});
      reader.cancel().catch(() => {});
    }
  }
}

/** Wraps the scanner: calls `count` with every verdict, and with `Unavailable` if a scan fails. */
function countVerdicts(scanner: Scanner, count: (verdict: string) => void): Scanner {
  return {
    name: scanner.name,
    ...(scanner.notice === undefined ? {} : { notice: scanner.notice }),
    async scan(content, o) {
      try {
        const result = await scanner.scan(content, o);
        count(result.verdict);
        return result;
      } catch (error) {
        count("Unavailable");
        throw error;
      }
    },
    status: () => scanner.status(),
    close: () => scanner.close(),
  };
}
