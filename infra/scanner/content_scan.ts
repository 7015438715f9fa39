import { Budget } from "./archives/budget.ts";
import type { Entries, Sink } from "./archives/entries.ts";
import { readGzip } from "./archives/gzip.ts";
import { Input, type Steps } from "./archives/input.ts";
import { BLOCK_BYTES, isTarHeader, readTar } from "./archives/tar.ts";
import { readZip } from "./archives/zip.ts";
import { ScanWindow, type WindowSizes } from "./window.ts";

type Reader = (input: Input, entries: Entries) => Steps;

/**
 * Matches one content and, where it is an archive, every entry in it: as they go by, with one window for each level.
 * @throws BeyondLimits where an archive is larger or deeper than the budget allows
 */
export class ContentScan implements Sink {
  #opening: Uint8Array | null = new Uint8Array(0);
  #isEmpty = true;
  #input: Input | null = null;
  #reading: Steps | null = null;

  /**
   * @param windows of each level, made when needed and used again: only one content of a level is read at a time.
   * @param outer how many archives are around this content.
   */
  constructor(
    private readonly o: { sizes: WindowSizes; examine: (piece: Uint8Array) => void; budget: Budget },
    private readonly windows: ScanWindow[] = [],
    private readonly outer = 0,
  ) {
    this.#window.begin();
  }

  get #window(): ScanWindow {
    return this.windows[this.outer] ??= new ScanWindow(this.o.sizes, this.o.examine);
  }

  push(bytes: Uint8Array): void {
    this.#isEmpty = false;
    this.#window.push(bytes);
    if (this.#opening) this.#recognise(bytes);
    else if (this.#input) this.#read(bytes);
  }

  end(): void {
    if (this.#opening) this.#begin(this.#opening);
    if (this.#input) {
      this.#input.end();
      this.#reading?.next();
    }
    if (!this.#isEmpty || this.outer === 0) this.#window.end(); // each matching costs some milliseconds
  }

  /** Collects the beginning until it tells what the content is. */
  #recognise(bytes: Uint8Array): void {
    const opening = new Uint8Array((this.#opening?.length ?? 0) + bytes.length);
    opening.set(this.#opening ?? []);
    opening.set(bytes, this.#opening?.length);
    this.#opening = opening;
    if (opening.length >= BLOCK_BYTES) this.#begin(opening);
  }

  #begin(opening: Uint8Array): void {
    this.#opening = null;
    const reader = readerOf(opening);
    if (!reader) return;
    this.o.budget.countArchive(this.outer);
    this.#input = new Input();
    this.#reading = reader(this.#input, {
      open: () => {
        this.o.budget.countEntry();
        return new ContentScan(this.o, this.windows, this.outer + 1);
      },
      unpacked: (bytes) => this.o.budget.countUnpacked(bytes),
    });
    this.#read(opening);
  }

  #read(bytes: Uint8Array): void {
    if (!this.#input || !this.#reading) return;
    this.#input.add(bytes);
    if (this.#reading.next().done) this.#input = null;
  }
}

/** What reads content that begins so; null for what is no archive. */
function readerOf(opening: Uint8Array): Reader | null {
  const [first, second, third] = opening;
  if (first === 0x50 && second === 0x4b && [3, 5, 7, 0x30].includes(third ?? 0)) return readZip;
  if (first === 0x1f && second === 0x8b) return readGzip;
  return isTarHeader(opening) ? readTar : null;
}
