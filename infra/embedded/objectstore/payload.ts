import { createHash } from "node:crypto";
import { S3Problem, type S3Request } from "./request.ts";
import type { PayloadDigest } from "./signature.ts";

/** The body of a verified request, with its expected length and digest. */
export interface Payload {
  body: ReadableStream<Uint8Array> | null;
  length: number;
  sha256: PayloadDigest;
}

const MAX_PUT_BYTES = 5 * 1024 ** 3;

/** Reads the expected length from the headers. Throws MissingContentLength, EntityTooLarge. */
export function readPayloadHeaders(request: S3Request, sha256: PayloadDigest): Payload {
  const length = request.headers.get("content-length");
  if (length === null || !/^\d{1,15}$/.test(length)) throw new S3Problem("MissingContentLength");
  if (Number(length) > MAX_PUT_BYTES) throw new S3Problem("EntityTooLarge");
  return { body: request.body, length: Number(length), sha256 };
}

/** Read together, because each read and each write has a cost of its own. Larger pieces make the process grow. */
const READ_BYTES = 64 * 1024;
/** Deno passes a body that has arrived completely as a stream that cannot be read into a buffer. It buffers 408 KiB at most. */
const MAX_BUFFERED_BYTES = 1024 * 1024;

/**
 * Passes the body to `write` in pieces, checks length and digest, and returns the MD5 in hex. A piece is valid until its
 * `write` ends. Throws IncompleteBody, XAmzContentSHA256Mismatch; then the caller must discard what it wrote.
 */
export async function receive(
  payload: Payload,
  write: (piece: Uint8Array) => Promise<void>,
): Promise<string> {
  const md5 = createHash("md5");
  const sha256 = payload.sha256 === null ? null : createHash("sha256");
  let received = 0;
  for await (const piece of piecesOf(payload)) {
    received += piece.length;
    const writing = write(piece);
    md5.update(piece);
    sha256?.update(piece);
    await writing;
  }
  if (received !== payload.length) throw new S3Problem("IncompleteBody");
  if (sha256 && sha256.digest("hex") !== payload.sha256) throw new S3Problem("XAmzContentSHA256Mismatch");
  return md5.digest("hex");
}

/** Throws IncompleteBody if the client closes the connection. */
async function* piecesOf({ body, length }: Payload): AsyncGenerator<Uint8Array> {
  if (body === null) return;
  const read = length > MAX_BUFFERED_BYTES ? intoOneBuffer(body) : body.values();
  try {
    for (;;) {
      const { done, value } = await read.next().catch(() => {
        throw new S3Problem("IncompleteBody");
      });
      if (done) return;
      yield value;
    }
  } finally {
    await read.return?.();
  }
}

/** Reads a stream into one buffer again and again: a piece is valid until the next one is requested. */
async function* intoOneBuffer(body: ReadableStream<Uint8Array>): AsyncGenerator<Uint8Array, undefined> {
  const reader = body.getReader({ mode: "byob" });
  let buffer = new ArrayBuffer(READ_BYTES);
  try {
    for (;;) {
      const { done, value } = await reader.read(new Uint8Array(buffer));
      if (done) return;
      yield value;
      buffer = value.buffer;
    }
  } finally {
    void reader.cancel().catch(() => undefined); // rejects if the stream has failed
  }
}

/** Receives a small body as text. Throws the errors of `receive`, and EntityTooLarge above `maxBytes`. */
export async function receiveText(payload: Payload, maxBytes: number): Promise<string> {
  if (payload.length > maxBytes) throw new S3Problem("EntityTooLarge");
  const bytes = new Uint8Array(payload.length);
  let filled = 0;
  await receive(payload, (chunk) => {
    bytes.set(chunk, filled);
    filled += chunk.length;
    return Promise.resolve();
  });
  return new TextDecoder().decode(bytes);
}

/**
 * Reads and discards the rest of a refused body, up to a limit. Otherwise a client that is still sending would see a
 * connection reset instead of the error.
 */
export async function drain(
  body: ReadableStream<Uint8Array>,
  maxBytes: number,
  maxMs: number,
): Promise<void> {
  const reader = body.getReader();
  const timer = setTimeout(() => void reader.cancel().catch(() => undefined), maxMs);
  let seen = 0;
  try {
    while (seen <= maxBytes) {
      const { done, value } = await reader.read();
      if (done) return;
      seen += value.length;
    }
    await reader.cancel();
  } catch {
    // The client has closed the connection.
  } finally {
    clearTimeout(timer);
  }
}
