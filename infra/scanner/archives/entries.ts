/** Receives one content in pieces. */
export interface Sink {
  push(bytes: Uint8Array): void;
  end(): void;
}

/** Receives the entries of an archive from its reader, one after the other. */
export interface Entries {
  /** Starts an entry. @throws BeyondLimits */
  open(): Sink;
  /** Counts unpacked bytes. @throws BeyondLimits */
  unpacked(bytes: number): void;
  /** Counts bytes as `Budget.countDense`. @throws BeyondLimits */
  dense(bytes: number, isWorstCase?: boolean): void;
}
