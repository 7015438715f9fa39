/** Takes one content, piece by piece. */
export interface Sink {
  push(bytes: Uint8Array): void;
  end(): void;
}

/** What a reader of an archive does with its entries, which it reads one after the other. */
export interface Entries {
  /** Begins an entry. @throws BeyondLimits */
  open(): Sink;
  /** Tells of bytes that were unpacked. @throws BeyondLimits */
  unpacked(bytes: number): void;
}
