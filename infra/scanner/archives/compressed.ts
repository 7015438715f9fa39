import { Z_BUF_ERROR, Z_NO_FLUSH, Z_OK, zlibInflate, zlibInflateInit2, ZStream } from "pako";
import type { Entries, Input, Steps } from "./input.ts";

const HAS_HEADER_SUM = 2;
const HAS_EXTRA = 4;
const HAS_NAME = 8;
const HAS_COMMENT = 16;
const TRAILER_BYTES = 8;

/** Reads a gzip file (RFC 1952). Concatenated streams are one content. Other data behind them is ignored. */
export function* readGzip(input: Input, entries: Entries): Steps {
  const content = entries.open();
  while (yield* skipHeader(input)) {
    yield* inflate(input, Infinity, (bytes) => {
      entries.unpacked(bytes.length);
      content.push(bytes);
    });
    if (!(yield* input.take(TRAILER_BYTES))) break;
  }
  content.end();
}

/**
 * @returns false if no further stream follows. Checksums are not verified, because some programs do not verify them.
 */
function* skipHeader(input: Input): Steps<boolean> {
  const header = yield* input.take(10);
  if (!header || header.getUint16(0) !== 0x1f8b) return false;
  const flags = header.getUint8(3);
  if (flags & HAS_EXTRA) {
    const length = yield* input.take(2);
    if (!length) return false;
    yield* input.pass(length.getUint16(0, true), () => {});
  }
  if (flags & HAS_NAME) yield* skipText(input);
  if (flags & HAS_COMMENT) yield* skipText(input);
  if (flags & HAS_HEADER_SUM) yield* input.take(2);
  return true;
}

/** Skips a text that ends with NUL. */
function* skipText(input: Input): Steps {
  for (;;) {
    const bytes = yield* input.peek(1);
    const end = bytes.indexOf(0);
    input.drop(end === -1 ? bytes.length : end + 1);
    if (end !== -1 || bytes.length === 0) return;
  }
}

const MAGIC = 0xfd377a58;
/** Bytes of the checksum, by its number. */
const CHECK_BYTES = [0, 4, 4, 4, 8, 8, 8, 16, 16, 16, 32, 32, 32, 64, 64, 64];
const skip = () => {};

/** Counts what an xz file unpacks to, without unpacking it: every chunk says its unpacked size, and cannot exceed it. */
export function* readXz(input: Input, entries: Entries): Steps {
  while (isXz(yield* input.peek(4))) {
    const header = yield* input.take(12);
    const checkBytes = CHECK_BYTES[(header?.getUint8(7) ?? 0) & 15] ?? 0;
    for (;;) {
      const from = input.position;
      const size = (yield* input.take(1))?.getUint8(0) ?? 0;
      if (size === 0) break;
      yield* input.pass(size * 4 + 3, skip);
      if (!(yield* readChunks(input, entries))) return;
      yield* input.pass(padding(input.position - from) + checkBytes, skip);
    }
    const from = input.position - 1;
    for (let left = 2 * (yield* readNumber(input)); left > 0 && (yield* input.peek(1)).length > 0; left--) {
      yield* readNumber(input);
    }
    yield* input.pass(padding(input.position - from) + 4 + 12, skip);
    while ((yield* input.peek(1))[0] === 0) input.drop(1); // padding between streams
  }
}

export const isXz = ([a = 0, b = 0, c = 0, d = 0]: Uint8Array): boolean =>
  ((a << 24 | b << 16 | c << 8 | d) >>> 0) === MAGIC;

const padding = (length: number) => (4 - length % 4) % 4;

/** Reads the chunks (LZMA2) of a block. @returns false if they are corrupt */
function* readChunks(input: Input, entries: Entries): Steps<boolean> {
  for (;;) {
    const control = (yield* input.take(1))?.getUint8(0);
    if (control === 0) return true;
    if (control === undefined || (control > 2 && control < 0x80)) return false;
    const isPacked = control >= 0x80;
    const sizes = yield* input.take(isPacked ? 4 : 2);
    if (!sizes) return false;
    if (isPacked) entries.dense(((control & 31) << 16) + sizes.getUint16(0) + 1);
    const properties = control >= 0xc0 ? 1 : 0;
    yield* input.pass(sizes.getUint16(isPacked ? 2 : 0) + 1 + properties, skip);
  }
}

/** Seven bits per byte, the lowest first. */
function* readNumber(input: Input): Steps<number> {
  for (let value = 0, factor = 1;; factor *= 128) {
    const byte = (yield* input.take(1))?.getUint8(0) ?? 0;
    value += (byte & 127) * factor;
    if (byte < 128) return value;
  }
}

/** Negative: a raw deflate stream, without a zlib or gzip header. */
const RAW_WINDOW_BITS = -15;
const STEP_BYTES = 64 * 1024;

/**
 * Unpacks one deflate stream in steps of at most 64 KiB, and reads no byte behind its end. node:zlib cannot do this
 * synchronously. Corrupt data ends the stream.
 * @param maxBytes maximum number of packed bytes to read.
 * @returns the number of packed bytes read.
 */
export function* inflate(input: Input, maxBytes: number, sink: (bytes: Uint8Array) => void): Steps<number> {
  const stream = new ZStream();
  zlibInflateInit2(stream, RAW_WINDOW_BITS);
  const output = new Uint8Array(STEP_BYTES);
  stream.output = output;
  for (let packed = 0;;) {
    const bytes = packed < maxBytes
      ? (yield* input.peek(1)).subarray(0, maxBytes - packed)
      : new Uint8Array(0);
    if (bytes.length === 0) return packed;
    stream.input = bytes;
    stream.next_in = 0;
    stream.avail_in = bytes.length;
    const status = inflateStep(stream, sink);
    input.drop(stream.next_in);
    packed += stream.next_in;
    const goesOn = status === Z_OK || (status === Z_BUF_ERROR && stream.next_in > 0);
    if (!goesOn) return packed;
  }
}

/** Unpacks until the input is consumed or the stream ends. */
function inflateStep(stream: ZStream, sink: (bytes: Uint8Array) => void): number {
  for (;;) {
    stream.next_out = 0;
    stream.avail_out = stream.output.length;
    const status = zlibInflate(stream, Z_NO_FLUSH);
    if (stream.next_out > 0) sink(stream.output.subarray(0, stream.next_out));
    if (status !== Z_OK || (stream.avail_in === 0 && stream.avail_out > 0)) return status;
  }
}
