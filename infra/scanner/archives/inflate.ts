import { Z_BUF_ERROR, Z_NO_FLUSH, Z_OK, zlibInflate, zlibInflateInit2, ZStream } from "pako";
import type { Input, Steps } from "./input.ts";

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
