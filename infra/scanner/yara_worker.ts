// The worker thread that matches content. It does no input or output: the WebAssembly module, the rules and the content
// arrive as messages. Each message is answered by exactly one message.
import { Compiler, initSync, type Scanner } from "@virustotal/yara-x";
import { type ArchiveLimits, BeyondLimits, Budget } from "./archives/budget.ts";
import { ContentScan } from "./content_scan.ts";
import type { WindowSizes } from "./scan_window.ts";

/**
 * Messages to the worker. `begin`, any number of `feed`, and `finish` make one scan. `begin` discards an unfinished
 * scan.
 */
export type ToWorker =
  | {
    do: "load";
    module: WebAssembly.Module;
    sources: { namespace: string; text: string }[];
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

let scanner: Scanner | undefined;
let sizes: WindowSizes;
let scan: ContentScan | undefined;
let budget: Budget;
let fedBytes = 0;
let matched: string | null = null;
let beyondLimits: string | null = null;

function load(message: Extract<ToWorker, { do: "load" }>): void {
  initSync({ module: message.module });
  sizes = message.sizes;
  using compiler = new Compiler();
  for (const { namespace, text } of message.sources) {
    compiler.newNamespace(namespace);
    try {
      compiler.addSource(text);
    } catch (error) {
      throw new Error(
        `rule file ${namespace} does not compile: ${error instanceof Error ? error.message : error}`,
      );
    }
  }
  scanner = compiler.build().scanner();
}

function matchPiece(piece: Uint8Array): void {
  if (matched !== null) return;
  if (scanner === undefined) throw new Error("content arrived before the rules");
  const result: YaraResult = scanner.scan(piece);
  if (!result.valid) throw new Error(`YARA-X reported ${result.errors.join("; ")}`);
  matched = result.matches.find((match) => !match.isPrivate)?.identifier ?? null;
}

function handle(message: ToWorker): void {
  switch (message.do) {
    case "load":
      return load(message);
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
