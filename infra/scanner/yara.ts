import yaraPackage from "@virustotal/yara-x/package.json" with { type: "json" };
import { ARCHIVE_LIMITS, type ArchiveLimits } from "./archives/budget.ts";
import { ScanThread } from "./scan_thread.ts";
import { type ScanThreadOptions, ScanThreads } from "./scan_threads.ts";
import type { Scanner, ScannerStatus, ScanVerdict } from "./scanner.ts";
import { readRules, type RuleSet } from "./yara_rules.ts";

/** Options of YARA-X. */
export interface YaraOptions extends ScanThreadOptions {
  /**
   * Folder of `*.yar` files, with a trailing slash. Content that matches any rule is infected. Default: the built-in
   * rules.
   */
  rulesFolder?: URL;
}

const MEBIBYTE = 1024 * 1024;
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
  const sizes = options.windowSizes ?? { window: 32 * MEBIBYTE, overlap: 4 * MEBIBYTE, head: MEBIBYTE };
  let rules: Promise<RuleSet> | undefined;

  function loadedRules(): Promise<RuleSet> {
    rules ??= readRules(folder);
    rules.catch(() => rules = undefined);
    return rules;
  }

  const threads = new ScanThreads(
    async () => await ScanThread.start(await loadedRules(), sizes, options.stepTimeoutMs ?? 60_000),
    options,
  );
  return {
    name: "yara",
    notice:
      "The embedded scanner (YARA-X) is for trials: it has only a few rules. Use clamd in production (SCANNER=clamd).",
    async scan(content, o): Promise<ScanVerdict> {
      const limits = o?.isOwn ? OWN_LIMITS : ARCHIVE_LIMITS;
      const { matched, beyondLimits } = await threads.scan(content, limits, o?.signal);
      if (matched !== null) return { verdict: "Infected", signatureName: matched };
      return beyondLimits === null ? { verdict: "Clean" } : { verdict: "Rejected", reason: beyondLimits };
    },
    async status(): Promise<ScannerStatus> {
      const { version, date } = await loadedRules();
      await threads.requireStarted();
      return { engine: `YARA-X ${yaraPackage.version}`, databaseVersion: version, databaseDate: date };
    },
    close(): Promise<void> {
      threads.close();
      return Promise.resolve();
    },
  };
}
