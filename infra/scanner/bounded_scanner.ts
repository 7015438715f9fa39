import { ARCHIVE_LIMITS, type ArchiveLimits } from "./archives/budget.ts";
import { ScanThread } from "./scan_thread.ts";
import { ScanThreads } from "./scan_threads.ts";
import type { Scanner, ScanOptions, ScanVerdict } from "./scanner.ts";

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
export function withArchiveLimits(engine: Scanner): Scanner {
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
