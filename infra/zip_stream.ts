import { Buffer } from "node:buffer";
import { once } from "node:events";
import { crc32, createDeflateRaw } from "node:zlib";

/** A file in an archive: its path and its content in chunks. A chunk is used before the next one is requested. */
export interface ZipPart {
  path: string;
  content: AsyncIterable<Uint8Array> | Iterable<Uint8Array>;
}

/** Sheets compress to a tenth at any level; higher levels only take longer. */
const LEVEL = 3;
const OUTPUT_BYTES = 64 * 1024;
const MAX_BYTES = 0xffff_ffff;
const MAX_PARTS = 0xffff;
/** Version 2.0: files are deflated. */
const VERSION = 20;
/** Sizes follow the content (bit 3), and paths are UTF-8 (bit 11). */
const FLAGS = 1 << 3 | 1 << 11;
const DEFLATED = 8;
/** 1 January 1980, a constant, so that the same rows give the same bytes. */
const DATE = 1 << 5 | 1;

interface Entry {
  path: Buffer;
  /** Offset of its header. */
  from: number;
  checksum: number;
  packedBytes: number;
  bytes: number;
}

/**
 * Writes a zip archive as a stream. Memory holds the chunk being compressed and the list of parts. The
 * library yazl is not used: it copies every chunk through several streams and computes checksums in JavaScript, which
 * takes longer than the compression.
 * @throws RangeError for more than 4 GiB: Excel repairs workbooks in the zip64 format with a warning
 */
export async function* zipStream(parts: AsyncIterable<ZipPart>): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  const entries: Entry[] = [];
  let written = 0;
  const counted = (bytes: Uint8Array<ArrayBuffer>) => {
    written += requireSize("the archive", bytes.length, written);
    return bytes;
  };
  for await (const { path, content } of parts) {
    const entry = { path: Buffer.from(path), from: written, checksum: 0, packedBytes: 0, bytes: 0 };
    yield counted(localHeader(entry));
    for await (const packed of compressed(content, entry)) {
      entry.packedBytes += packed.length;
      yield counted(packed);
    }
    yield counted(descriptor(entry));
    entries.push(entry);
  }
  if (entries.length > MAX_PARTS) throw new RangeError(`the archive has more than ${MAX_PARTS} files`);
  const from = written;
  for (const entry of entries) yield counted(directoryEntry(entry));
  yield counted(directoryEnd(entries.length, from, written - from));
}

/** Compresses the content of a part; counts its bytes and computes its checksum. */
async function* compressed(
  content: ZipPart["content"],
  entry: Entry,
): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  const deflate = createDeflateRaw({ level: LEVEL, chunkSize: OUTPUT_BYTES });
  const ready: Uint8Array<ArrayBuffer>[] = [];
  deflate.on("data", (bytes) => ready.push(bytes));
  try {
    for await (const bytes of content) {
      entry.bytes += requireSize(entry.path.toString(), bytes.length, entry.bytes);
      entry.checksum = crc32(bytes, entry.checksum);
      await new Promise<void>((resolve, reject) => deflate.write(bytes, (e) => e ? reject(e) : resolve()));
      yield* ready.splice(0);
    }
    deflate.end();
    await once(deflate, "end");
    yield* ready;
  } finally {
    deflate.destroy();
  }
}

function requireSize(name: string, more: number, written: number): number {
  if (written + more > MAX_BYTES) throw new RangeError(`${name} is larger than 4 GiB`);
  return more;
}

// The records of a zip archive, by PKWARE's APPNOTE.TXT. All numbers are little-endian, of 2 or 4 bytes.

type Field = { two: number } | { four: number };
const two = (value: number): Field => ({ two: value });
const four = (value: number): Field => ({ four: value });

function record(fields: Field[], path: Buffer = Buffer.alloc(0)): Uint8Array<ArrayBuffer> {
  const length = fields.reduce((sum, field) => sum + ("two" in field ? 2 : 4), 0);
  const bytes = Buffer.alloc(length + path.length);
  let at = 0;
  for (const field of fields) {
    at = "two" in field ? bytes.writeUInt16LE(field.two, at) : bytes.writeUInt32LE(field.four, at);
  }
  bytes.set(path, at);
  return bytes;
}

const localHeader = ({ path }: Entry) =>
  record([
    ...[four(0x04034b50), two(VERSION), two(FLAGS), two(DEFLATED), two(0), two(DATE)],
    ...[four(0), four(0), four(0), two(path.length), two(0)],
  ], path);

const descriptor = ({ checksum, packedBytes, bytes }: Entry) =>
  record([four(0x08074b50), four(checksum), four(packedBytes), four(bytes)]);

const directoryEntry = ({ path, from, checksum, packedBytes, bytes }: Entry) =>
  record([
    ...[four(0x02014b50), two(VERSION), two(VERSION), two(FLAGS), two(DEFLATED), two(0), two(DATE)],
    ...[four(checksum), four(packedBytes), four(bytes), two(path.length), two(0), two(0), two(0), two(0)],
    ...[four(0), four(from)],
  ], path);

const directoryEnd = (count: number, from: number, length: number) =>
  record([four(0x06054b50), two(0), two(0), two(count), two(count), four(length), four(from), two(0)]);
