// The worker thread that matches content. It does no input or output: the WebAssembly module, the rules and the content
// arrive as messages. Each message is answered by exactly one message.
import { Compiler, initSync, type Scanner } from "@virustotal/yara-x";
import { type ArchiveLimits, BeyondLimits, Budget } from "./archives/budget.ts";
import { ContentScan } from "./content_scan.ts";
import type { WindowSizes } from "./scan_window.ts";

interface Rules {
  module: WebAssembly.Module;
  sources: { namespace: string; text: string }[];
}

/**
 * Messages to the worker. `begin`, any number of `feed`, and `finish` make one scan. `begin` discards an unfinished
 * scan.
 */
export type ToWorker =
  | {
    do: "load";
    /** Null: only archive limits are checked. */
    rules: Rules | null;
    sizes: WindowSizes;
  }
  | { do: "begin"; limits: ArchiveLimits }
  | { do: "feed"; bytes: Uint8Array<ArrayBuffer> }
  | { do: "finish" };

/**
 * Answer of the worker: the first rule that has matched in this scan, and why the content is beyond the archive limits
 * (null if neither); or why the worker failed.
 */
export type FromWorker = { matched: string | null; beyondLimits: string | null } | { failed: string };

interface YaraResult {
  valid: boolean;
  errors: string[];
  matches: { identifier: string; isPrivate: boolean }[];
}

/** Null without rules. */
let scanner: Scanner | null = null;
let sizes: WindowSizes;
let scan: ContentScan | undefined;
let budget: Budget;
let fedBytes = 0;
let matched: string | null = null;
let beyondLimits: string | null = null;

function compile({ module, sources }: Rules): Scanner {
  initSync({ module });
  using compiler = new Compiler();
  for (const { namespace, text } of sources) {
    compiler.newNamespace(namespace);
    try {
      compiler.addSource(text);
    } catch (error) {
      throw new Error(
        `rule file ${namespace} does not compile: ${error instanceof Error ? error.message : error}`,
      );
    }
  }
  return compiler.build().scanner();
}

function matchPiece(piece: Uint8Array): void {
  if (matched !== null || scanner === null) return;
  const result: YaraResult = scanner.scan(piece);
  if (!result.valid) throw new Error(`YARA-X reported ${result.errors.join("; ")}`);
  matched = result.matches.find((match) => !match.isPrivate)?.identifier ?? null;
}

function handle(message: ToWorker): void {
  switch (message.do) {
    case "load":
      sizes = message.sizes;
      scanner = message.rules && compile(message.rules);
      return;
    case "begin":
      matched = beyondLimits = null;
      fedBytes = 0;
      budget = new Budget(message.limits);
      scan = new ContentScan({ sizes, matchPiece, budget });
      return;
    case "feed":
      fedBytes += message.bytes.length;
      return unlessDecided(() => scan?.push(message.bytes));
    case "finish":
      unlessDecided(() => {
        scan?.end();
        budget.requireRatio(fedBytes);
      });
      scan = undefined;
  }
}

/** Runs `step` unless the verdict is already known. */
function unlessDecided(step: () => void): void {
  if (matched !== null || beyondLimits !== null) return;
  try {
    step();
  } catch (error) {
    if (!(error instanceof BeyondLimits)) throw error;
    beyondLimits = error.message;
  }
}

const scope = globalThis as unknown as {
  onmessage: (event: MessageEvent<ToWorker>) => void;
  postMessage: (message: FromWorker) => void;
};
scope.onmessage = ({ data }) => {
  try {
    handle(data);
    scope.postMessage({ matched, beyondLimits });
  } catch (error) {
    scope.postMessage({ failed: error instanceof Error ? error.message : String(error) });
  }
};
