/**
 * A definite answer about content; anything less than definite is `ScanUnavailable`. Rejected: the engine looks into
 * archives up to a limit, and this content is beyond it, now and at every further attempt.
 */
export type ScanVerdict =
  | { verdict: "Clean" }
  | { verdict: "Infected"; signatureName: string }
  | { verdict: "Rejected"; reason: string };

/** Which engine answers and how old its knowledge is; `null` where the engine does not say. */
export interface ScannerStatus {
  /** Name and version, such as `ClamAV 1.4.6` or `YARA-X 1.20.0`. */
  engine: string;
  databaseVersion: string | null;
  databaseDate: Date | null;
}

export interface ScanOptions {
  signal?: AbortSignal;
  /** The service wrote the content itself, so that it may unpack to any size. */
  isOwn?: boolean;
}

/**
 * An engine that examines content for known signatures.
 * The verdict is only ever `Clean` when the engine has seen the whole content and said so.
 */
export interface Scanner {
  readonly name: string;
  /** What whoever runs the service must know of this engine: told at start and by `/readyz`. */
  readonly notice?: string;
  /**
   * Reads the whole stream and gives the engine's verdict.
   * Throws `ScanUnavailable` when the engine gave no definite answer; an error of the stream itself and the
   * signal's reason are thrown unchanged, so that a caller can tell an unreadable object from an absent engine.
   */
  scan(content: ReadableStream<Uint8Array>, o?: ScanOptions): Promise<ScanVerdict>;
  /** Asks the engine who it is. Throws `ScanUnavailable` when it cannot answer. */
  status(): Promise<ScannerStatus>;
  /** Ends scans under way (they throw `ScanUnavailable`) and frees what the engine holds. */
  close(): Promise<void>;
}

/** The engine gave no definite answer: absent, silent, half an answer, an error, a limit. Try again later. */
export class ScanUnavailable extends Error {
  override readonly name = "ScanUnavailable";
}
