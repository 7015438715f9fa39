import { Budget } from "./archives/budget.ts";
import { type Entries, Input, type Sink, type Steps } from "./archives/input.ts";
import { isXz, readGzip, readXz } from "./archives/compressed.ts";
import { BLOCK_BYTES, isTarHeader, readTar } from "./archives/tar.ts";
import { readZip } from "./archives/zip.ts";
import { ScanWindow, type WindowSizes } from "./scan_window.ts";

type Reader = (input: Input, entries: Entries) => Steps;

/**
 * Matches a stream of content against the rules. If it is an archive, or a zip is behind other content, matches every
 * entry too. Each nesting level has one window.
 * @throws BeyondLimits if an archive is larger or deeper than the budget allows
 */
export class ContentScan implements Sink {
  #opening: Uint8Array | null = new Uint8Array(0);
  #isEmpty = true;
  #input: Input | null = null;
  #reading: Steps | null = null;

  /**
   * @param windows one per nesting level, created when needed and reused: a level reads only one entry at a time.
   * @param outer number of archives that contain this content.
   */
  constructor(
    private readonly o: { sizes: WindowSizes; matchPiece: (piece: Uint8Array) => void; budget: Budget },
    private readonly windows: ScanWindow[] = [],
    private readonly outer = 0,
  ) {
    this.#window.begin();
  }

  get #window(): ScanWindow {
    return this.windows[this.outer] ??= new ScanWindow(this.o.sizes, this.o.matchPiece);
  }

  push(bytes: Uint8Array): void {
    this.#isEmpty = false;
    this.#window.push(bytes);
    if (this.#opening) this.#recognise(bytes);
    else if (this.#input) this.#read(bytes);
  }

  /** Call it after the last byte. */
  end(): void {
    if (this.#opening) this.#begin(this.#opening);
    if (this.#input) {
      this.#input.end();
      this.#reading?.next();
    }
    if (!this.#isEmpty || this.outer === 0) this.#window.end(); // skips empty entries: a match run costs some milliseconds
  }

  /** Collects the first bytes until they show whether the content is an archive. */
  #recognise(bytes: Uint8Array): void {
    const opening = new Uint8Array((this.#opening?.length ?? 0) + bytes.length);
    opening.set(this.#opening ?? []);
    opening.set(bytes, this.#opening?.length);
    this.#opening = opening;
    if (opening.length >= OPENING_BYTES) this.#begin(opening);
  }

  #begin(opening: Uint8Array): void {
    this.#opening = null;
    const reader = readerOf(opening);
    if (reader) this.o.budget.countArchive(this.outer);
    else if (this.#isEmpty || !this.o.budget.allowsArchive(this.outer)) return;
    this.#input = new Input();
    this.#reading = (reader ?? readBehind)(this.#input, {
      open: () => {
        this.o.budget.countEntry();
        return new ContentScan(this.o, this.windows, this.outer + 1);
      },
      unpacked: (bytes) => this.o.budget.countUnpacked(bytes),
      dense: (bytes, isWorstCase) => this.o.budget.countDense(bytes, isWorstCase),
    });
    this.#read(opening);
  }

  #read(bytes: Uint8Array): void {
    if (!this.#input || !this.#reading) return;
    this.#input.add(bytes);
    if (this.#reading.next().done) this.#input = null;
  }
}

/** Number of first bytes of content that show whether it is an archive. */
const OPENING_BYTES = BLOCK_BYTES;

/** Returns the archive reader for content with these first bytes; null if it is not an archive. */
function readerOf(opening: Uint8Array): Reader | null {
  const [first, second, third] = opening;
  if (first === 0x50 && second === 0x4b && [3, 5, 7, 0x30].includes(third ?? 0)) return readZip;
  if (first === 0x1f && second === 0x8b) return andBehind(readGzip);
  if (isXz(opening)) return andBehind(readXz);
  return isTarHeader(opening) ? readTar : null;
}

/** Reads zips behind other content. */
const readBehind: Reader = (input, entries) => readZip(input, entries, false);

const andBehind = (reader: Reader): Reader =>
  function* (input, entries) {
    yield* reader(input, entries);
    yield* readBehind(input, entries);
  };
