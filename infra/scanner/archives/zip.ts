import { BeyondLimits } from "./budget.ts";
import type { Entries, Sink } from "./entries.ts";
import { inflate } from "./inflate.ts";
import type { Input, Steps } from "./input.ts";
import { type ReadEntry, ZipDirectories } from "./zip_directories.ts";
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

const discard: Sink = { push() {}, end() {} };

/**
 * Reads a zip from its beginning, entry by entry. Then compares the entries with the central directory, which most
 * programs use to open a zip. Skips entries that are encrypted or compressed with another method than deflate; what the
 * directory says of their size counts as unpacked, because an engine may know the method.
 * @throws BeyondLimits if the directory lists an entry that was not read: another program would unpack other content.
 */
export function* readZip(input: Input, entries: Entries): Steps {
  const directories = new ZipDirectories();
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
      entries.unpacked(directories.addLine(at, input.position, header, variable, lengths));
    } else if (record === END_64) {
      const end = yield* input.take(56);
      if (!end) return;
      directories.requireEnd64(at, end);
    } else if (record === END) {
      const end = yield* input.take(22);
      if (!end) return;
      directories.requireEnd(at, end);
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
  const isReadable = (flags & ENCRYPTED) === 0 && (method === STORED || method === DEFLATED);
  const content = entries.open();
  const sink = isReadable ? content : discard;
  const packed = isReadable && method === DEFLATED
    ? yield* readDeflated(input, known, entries, sink)
    : known === null
    ? yield* readUpToDescriptor(input, sink)
    : yield* readStored(input, known, sink);
  content.end();
  return { packed, isReadable };
}

function* readStored(input: Input, size: number, sink: Sink): Steps<number> {
  yield* input.pass(size, (bytes) => sink.push(bytes));
  return size;
}

function* readDeflated(input: Input, known: number | null, entries: Entries, sink: Sink): Steps<number> {
  const packed = yield* inflate(input, known ?? Infinity, (bytes) => {
    entries.unpacked(bytes.length);
    sink.push(bytes);
  });
  if (known === null) return packed;
  yield* input.pass(known - packed, () => {});
  return known;
}

/**
 * Reads an entry whose size follows in a descriptor. The first descriptor whose size equals the bytes so far ends it.
 */
function* readUpToDescriptor(input: Input, sink: Sink): Steps<number> {
  const begin = input.position;
  for (;;) {
    const bytes = yield* input.peek(LONGEST_DESCRIPTOR);
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
    const last = bytes.length - LONGEST_DESCRIPTOR; // in a zip, at least the end record follows
    if (last < 0) throw new BeyondLimits("The end of an entry cannot be determined.");
    for (let at = bytes.indexOf(0x50); at !== -1 && at <= last; at = bytes.indexOf(0x50, at + 1)) {
      const size = input.position + at - begin;
      const isDescriptor = view.getUint32(at, true) === DESCRIPTOR &&
        (view.getUint32(at + 8, true) === size || view.getBigUint64(at + 8, true) === BigInt(size));
      if (!isDescriptor) continue;
      yield* input.pass(at, (piece) => sink.push(piece));
      return size;
    }
    yield* input.pass(last + 1, (piece) => sink.push(piece));
  }
}
