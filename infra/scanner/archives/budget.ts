/** Limits for unpacking archives. */
export interface ArchiveLimits {
  /** Maximum nesting depth of archives. */
  depth: number;
  /** Maximum number of entries in all archives of one file. */
  entries: number;
  /** Maximum unpacked bytes of all compressed entries of one file. */
  unpackedBytes: number;
  /** Maximum unpacked bytes per byte of the file, without those of dense formats. */
  ratio: number;
}

export const ARCHIVE_LIMITS: ArchiveLimits = {
  depth: 3,
  entries: 1_000,
  unpackedBytes: 200_000_000,
  ratio: 100,
};

/** Up to this size, any ratio is allowed: a page of blanks is no attack. */
const ANY_RATIO_BYTES = 128 * 1024;

/** The archive exceeds the limits, so it cannot be scanned completely. The message tells the file's owner why. */
export class BeyondLimits extends Error {
  override readonly name = "BeyondLimits";
}

/** Counts archives, entries and unpacked bytes of one file against the limits. */
export class Budget {
  #entries = 0;
  #unpacked = 0;
  #dense = 0;

  constructor(private readonly limits: ArchiveLimits) {}

  /** True if content inside of this number of archives may be read as an archive. */
  allowsArchive(outer: number): boolean {
    return outer < this.limits.depth;
  }

  /** Counts an archive that is inside of `outer` others. @throws BeyondLimits */
  countArchive(outer: number): void {
    const { depth } = this.limits;
    if (!this.allowsArchive(outer)) {
      throw new BeyondLimits(`Archives are nested more than ${depth} levels deep.`);
    }
  }

  /** @throws BeyondLimits */
  countEntry(): void {
    const { entries } = this.limits;
    if (++this.#entries > entries) throw new BeyondLimits(`The archives have more than ${entries} entries.`);
  }

  /** @throws BeyondLimits */
  countUnpacked(bytes: number): void {
    this.#unpacked += bytes;
    this.#requireUnpacked("unpacks");
  }

  /**
   * Counts unpacked bytes of a format that honestly reaches any ratio.
   * @param isWorstCase true: the format is not read, so this is the most that its content may unpack to
   * @throws BeyondLimits
   */
  countDense(bytes: number, isWorstCase = false): void {
    this.#dense += bytes;
    this.#requireUnpacked(
      isWorstCase
        ? "has entries of a compression method that is not read (use Deflate), and may unpack"
        : "unpacks",
    );
  }

  #requireUnpacked(does: string): void {
    const { unpackedBytes } = this.limits;
    if (this.#unpacked + this.#dense > unpackedBytes) {
      throw new BeyondLimits(`The file ${does} to more than ${unpackedBytes} bytes.`);
    }
  }

  /** Checks the ratio. Call it at the end, because the beginning of a file may compress well. @throws BeyondLimits */
  requireRatio(fileBytes: number): void {
    const { ratio } = this.limits;
    if (this.#unpacked > Math.max(ANY_RATIO_BYTES, ratio * fileBytes)) {
      throw new BeyondLimits(`The file unpacks to more than ${ratio} times its size.`);
    }
  }
}
