import type { Entries, Input, Steps } from "./input.ts";
import { mismatch } from "./zip_directories.ts";

export const BLOCK_BYTES = 512;
/** Types of pax headers: `x` for the next entry, `g` for all. */
const PAX = new Set(["x", "g"]);
const MAX_PAX_BYTES = 1024 * 1024;

/**
 * Reads a tar file (POSIX ustar and pax, GNU, v7). Skips blocks that are not a header, as some programs do.
 * @throws BeyondLimits if another program would take the file for a zip: its directory is not inside of an entry.
 */
export function* readTar(input: Input, entries: Entries): Steps {
  const read: { from: number; to: number }[] = [];
  yield* readHeaders(input, entries, read);
  const isInside = (at: number) => read.some(({ from, to }) => at >= from && at < to);
  if (!input.signatures.ends().every(isInside)) throw mismatch();
}

function* readHeaders(input: Input, entries: Entries, read: { from: number; to: number }[]): Steps {
  let paxSize: number | null = null;
  for (;;) {
    const block = yield* input.peek(BLOCK_BYTES);
    if (block.length < BLOCK_BYTES) return;
    const header = block.slice(0, BLOCK_BYTES);
    input.drop(BLOCK_BYTES);
    if (!isTarHeader(header)) continue;
    const isPax = PAX.has(String.fromCharCode(header[156] ?? 0));
    const size = isPax ? ownSize(header) : paxSize ?? ownSize(header);
    const padding = (BLOCK_BYTES - size % BLOCK_BYTES) % BLOCK_BYTES;
    const content = entries.open();
    const from = input.position;
    let pax = "";
    const decoder = new TextDecoder();
    yield* input.pass(size, (bytes) => {
      content.push(bytes);
      if (isPax && pax.length < MAX_PAX_BYTES) pax += decoder.decode(bytes, { stream: true });
    });
    content.end();
    read.push({ from, to: input.position });
    yield* input.pass(padding, () => {});
    const given = /(?:^|\n)\d+ size=(\d+)\n/.exec(pax)?.[1];
    if (!isPax) paxSize = null;
    else if (given !== undefined) paxSize = Number(given);
  }
}

/** True if the block is the header of an entry: its checksum is right. */
export function isTarHeader(block: Uint8Array): boolean {
  if (block.length < BLOCK_BYTES || block[0] === 0) return false;
  const sum = block.subarray(0, BLOCK_BYTES).reduce(
    (total, byte, at) => total + (at >= 148 && at < 156 ? 32 : byte),
    0,
  );
  return octal(block.subarray(148, 156)) === sum;
}

/** Size of the content in the header: octal, or binary if the first bit is set. */
function ownSize(header: Uint8Array): number {
  const field = header.subarray(124, 136);
  if (((field[0] ?? 0) & 0x80) === 0) return octal(field) ?? 0;
  return field.subarray(4).reduce((total, byte) => total * 256 + byte, 0);
}

function octal(field: Uint8Array): number | null {
  const digits = /^[ \0]*([0-7]+)[ \0]*$/.exec(String.fromCharCode(...field))?.[1];
  return digits === undefined ? null : parseInt(digits, 8);
}
