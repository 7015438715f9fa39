import type { Entries } from "./entries.ts";
import { inflate } from "./inflate.ts";
import type { Input, Steps } from "./input.ts";

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
