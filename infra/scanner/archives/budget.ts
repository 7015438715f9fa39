/** How far an engine looks into archives. */
export interface ArchiveLimits {
  /** Archives inside each other. */
  depth: number;
  /** Entries of all archives of one file. */
  entries: number;
  /** Bytes that come out of all compressed entries of one file. */
  unpackedBytes: number;
  /** Unpacked bytes for each byte of the file. */
  ratio: number;
}

export const ARCHIVE_LIMITS: ArchiveLimits = {
  depth: 3,
  entries: 1_000,
  unpackedBytes: 200_000_000,
  ratio: 100,
};

/** So little may be packed at any ratio: a page of blanks is no attack. */
const ANY_RATIO_BYTES = 128 * 1024;

/** The content cannot be looked into up to its end. The message says why, for the file's owner. */
export class BeyondLimits extends Error {
  override readonly name = "BeyondLimits";
}

/** Counts what comes out of the archives of one file. */
export class Budget {
  #entries = 0;
  #unpacked = 0;

  constructor(private readonly limits: ArchiveLimits) {}

  /** @throws BeyondLimits for an archive that `outer` others are around. */
  countArchive(outer: number): void {
    const { depth } = this.limits;
    if (outer >= depth) throw new BeyondLimits(`More than ${depth} archives are inside each other.`);
  }

  /** @throws BeyondLimits */
  countEntry(): void {
    const { entries } = this.limits;
    if (++this.#entries > entries) throw new BeyondLimits(`Its archives have more than ${entries} entries.`);
  }

  /** @throws BeyondLimits */
  countUnpacked(bytes: number): void {
    this.#unpacked += bytes;
    const { unpackedBytes } = this.limits;
    if (this.#unpacked > unpackedBytes) {
      throw new BeyondLimits(`It unpacks to more than ${unpackedBytes} bytes.`);
    }
  }

  /** Asked at the end, since a file may begin with what packs well. @throws BeyondLimits */
  requireRatio(fileBytes: number): void {
    const { ratio } = this.limits;
    if (this.#unpacked > Math.max(ANY_RATIO_BYTES, ratio * fileBytes)) {
      throw new BeyondLimits(`It unpacks to more than ${ratio} times its size.`);
    }
  }
}
