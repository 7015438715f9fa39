// Splits long work on the main thread, so that other requests do not wait for all of it.

/** Lets waiting requests run first. `setImmediate` would not, because immediates run before new requests are read. */
export const nextTurn = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 0));

/**
 * Yields slices of a list, each in its own turn of the event loop.
 * @param size number of elements of a slice
 */
export async function* inTurns<L extends { length: number; slice(from: number, to: number): L }>(
  list: L,
  size: number,
): AsyncGenerator<L> {
  for (let at = 0; at < list.length; at += size) {
    if (at > 0) await nextTurn();
    yield list.slice(at, at + size);
  }
}

const DECODED_AT_ONCE = 1024 * 1024;

/** Decodes UTF-8 bytes, a mebibyte in each turn of the event loop. @throws TypeError if they are not UTF-8 */
export async function decodeInTurns(bytes: Uint8Array<ArrayBuffer>): Promise<string> {
  const decoder = new TextDecoder("utf-8", { fatal: true });
  let text = "";
  for await (const part of inTurns(bytes, DECODED_AT_ONCE)) text += decoder.decode(part, { stream: true });
  return text + decoder.decode();
}
