/**
 * The result of a scan. Without a definite result, `ScanUnavailable` is thrown instead. Rejected: the content is an
 * archive beyond the limits, so scanning it again will not help.
 */
export type ScanVerdict =
  | { verdict: "Clean" }
  | { verdict: "Infected"; signatureName: string }
  | { verdict: "Rejected"; reason: string };

/** Version of the engine and of its signatures; `null` if the engine does not report it. */
export interface ScannerStatus {
  /** Name and version, such as `ClamAV 1.4.6` or `YARA-X 1.20.0`. */
  engine: string;
  databaseVersion: string | null;
  databaseDate: Date | null;
}

export interface ScanOptions {
  signal?: AbortSignal;
  /** True for content that the service itself wrote: it may unpack to any size. */
  isOwn?: boolean;
}

/**
 * An engine that scans content for known signatures. The verdict is `Clean` only if the engine has read the whole
 * content and reported it as clean.
 */
export interface Scanner {
  readonly name: string;
  /** A warning for operators about this engine. It is logged at start and shown by `/readyz`. */
  readonly notice?: string;
  /**
   * Reads the whole stream and returns the engine's verdict.
   * @throws ScanUnavailable if the engine gave no definite answer. Errors of the stream and the signal's reason are
   * thrown unchanged, so the caller can tell an unreadable object from an unavailable engine.
   */
  scan(content: ReadableStream<Uint8Array>, o?: ScanOptions): Promise<ScanVerdict>;
  /** Returns the engine's version. @throws ScanUnavailable */
  status(): Promise<ScannerStatus>;
  /** Ends running scans (they throw `ScanUnavailable`) and releases the engine's resources. */
  close(): Promise<void>;
}

/**
 * The engine gave no definite answer: not reachable, a timeout, an incomplete answer, an error or a limit. Retry later.
 */
export class ScanUnavailable extends Error {
  override readonly name = "ScanUnavailable";
}

/** The content is beyond a limit of the engine. Retry later too: who operates the engine may raise the limit. */
export class ScanBeyondLimits extends ScanUnavailable {}
