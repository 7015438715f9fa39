import type { Entries, Input, Sink, Steps } from "./input.ts";
import { inflate } from "./compressed.ts";
import { mismatch, type ReadEntry, ZipDirectories } from "./zip_directories.ts";
import { LARGE, sizeIn64 } from "./zip64.ts";

const LOCAL = 0x04034b50;
const DIRECTORY = 0x02014b50;
const END = 0x06054b50;
const END_64 = 0x06064b50;
const DESCRIPTOR = 0x08074b50;
const records = new Set([LOCAL, DIRECTORY, END, END_64]);
const ENCRYPTED = 1;
const SIZE_FOLLOWS = 8;
const STORED = 0;
const SLASH = 0x2f;
const DEFLATED = 8;
/** Signature, checksum and two sizes of eight bytes each. */
const LONGEST_DESCRIPTOR = 24;

/**
 * Maximum ratio of unpacked to packed size, rounded up, by compression method. It has the methods that are not read: Shrink,
 * Reduce, Implode, Deflate64, bzip2, LZMA, Zstandard and PPMd. Common programs support no further methods.
 */
const WORST_RATIOS = new Map([
  [1, 8_000],
  ...[2, 3, 4, 5].map((method): [number, number] => [method, 1_000]),
  [6, 200],
  [9, 30_000],
  [12, 1_100_000],
  [14, 8_000],
  [20, 35_000],
  [93, 35_000],
  [98, 1_000],
]);
const discard: Sink = { push() {}, end() {} };

/**
 * Reads a zip entry by entry, also behind other content. Then compares the entries with the central directory, which most
 * programs use to open a zip. Entries of the method xz are read as files of this format. Encrypted entries are skipped, and
 * their declared size counts as unpacked. Entries of other methods are skipped, and count with their worst ratio.
 * @param startsZip true: the content must be a zip from its first byte
 * @throws BeyondLimits if a directory that programs find does not list the entries that were read, each once: another
 * program would unpack other content.
 */
export function* readZip(input: Input, entries: Entries, startsZip = true): Steps {
  const from = input.position;
  const directories = new ZipDirectories(input.signatures, startsZip);
  yield* readRecords(input, entries, directories);
  yield* input.pass(Infinity, () => {});
  const isGood = (at: number) => at < from || directories.hasEnd(at);
  if (!input.signatures.ends().every(isGood)) throw mismatch();
}

function* readRecords(input: Input, entries: Entries, directories: ZipDirectories): Steps {
  for (;;) {
    const record = yield* findRecord(input);
    const at = input.position;
    if (record === LOCAL) {
      const entry = yield* readEntry(input, entries);
      if (entry === null) return;
      directories.addEntry(at, entry);
    } else if (record === DIRECTORY) {
      const header = yield* input.take(46);
      const lengths = header && [28, 30, 32].map((field) => header.getUint16(field, true));
      const variable = lengths && (yield* input.take(lengths.reduce((sum, length) => sum + length)));
      if (!variable) return;
      directories.addLine(at, input.position, header, variable, lengths);
    } else if (record === END_64 || record === END) {
      const end = yield* input.take(record === END ? 22 : 56);
      if (!end) return;
      entries.unpacked(record === END ? directories.addEnd(at, end) : directories.addEnd64(at, end));
    } else {
      return;
    }
  }
}

/** Moves to the next record and returns its signature; null at the end. Ignores data between records. */
function* findRecord(input: Input): Steps<number | null> {
  for (;;) {
    const bytes = yield* input.peek(4);
    if (bytes.length < 4) return null;
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
    let at = bytes.indexOf(0x50);
    while (at !== -1 && at + 4 <= bytes.length && !records.has(view.getUint32(at, true))) {
      at = bytes.indexOf(0x50, at + 1);
    }
    const isFound = at !== -1 && at + 4 <= bytes.length;
    input.drop(isFound ? at : bytes.length - 3);
    if (isFound) return view.getUint32(at, true);
  }
}

/** Reads the entry at the current position. @returns null if the content ends inside its header */
function* readEntry(input: Input, entries: Entries): Steps<ReadEntry | null> {
  const header = yield* input.take(30);
  const nameBytes = header?.getUint16(26, true) ?? 0;
  const variable = header && (yield* input.take(nameBytes + header.getUint16(28, true)));
  if (!variable) return null;
  const flags = header.getUint16(6, true);
  const method = header.getUint16(8, true);
  const short = header.getUint32(18, true);
  const size = short === LARGE ? sizeIn64(header, variable, nameBytes) : short;
  const isFolder = method === STORED && nameBytes > 0 && variable.getUint8(nameBytes - 1) === SLASH;
  const known = (flags & SIZE_FOLLOWS) !== 0 && size === 0 && !isFolder ? null : size; // some programs write no descriptor for folders
  const isEncrypted = (flags & ENCRYPTED) !== 0;
  const content = entries.open();
  const begin = input.position;
  const sink = isEncrypted || WORST_RATIOS.has(method) ? discard : content;
  if (method === DEFLATED && !isEncrypted) yield* readDeflated(input, known, entries, sink);
  else if (known === null) yield* readUpToDescriptor(input, sink);
  else yield* input.pass(known, (bytes) => sink.push(bytes));
  content.end();
  const packed = input.position - begin;
  if (!isEncrypted) entries.dense(packed * (WORST_RATIOS.get(method) ?? 0), true);
  return { packed, isEncrypted, method };
}

function* readDeflated(input: Input, known: number | null, entries: Entries, sink: Sink): Steps {
  const packed = yield* inflate(input, known ?? Infinity, (bytes) => {
    entries.unpacked(bytes.length);
    sink.push(bytes);
  });
  if (known !== null) yield* input.pass(known - packed, () => {});
}

/**
 * Reads an entry whose size follows in a descriptor. The first descriptor whose size equals the bytes so far ends it. Without
 * one, all content belongs to the entry.
 */
function* readUpToDescriptor(input: Input, sink: Sink): Steps {
  const begin = input.position;
  for (;;) {
    const bytes = yield* input.peek(LONGEST_DESCRIPTOR);
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
    const last = bytes.length - LONGEST_DESCRIPTOR; // in a zip, at least the end record follows
    if (last < 0) return;
    for (let at = bytes.indexOf(0x50); at !== -1 && at <= last; at = bytes.indexOf(0x50, at + 1)) {
      const size = input.position + at - begin;
      const isDescriptor = view.getUint32(at, true) === DESCRIPTOR &&
        (view.getUint32(at + 8, true) === size || view.getBigUint64(at + 8, true) === BigInt(size));
      if (!isDescriptor) continue;
      return yield* input.pass(at, (piece) => sink.push(piece));
    }
    yield* input.pass(last + 1, (piece) => sink.push(piece));
  }
}
