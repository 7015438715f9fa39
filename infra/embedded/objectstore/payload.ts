import { createHash } from "node:crypto";
import { S3Problem } from "./problem.ts";
import type { S3Request } from "./request.ts";
import type { PayloadDigest } from "./signature.ts";

/** The body of a verified request, with its expected length and digests. */
export interface Payload {
  body: ReadableStream<Uint8Array> | null;
  length: number;
  sha256: PayloadDigest;
  /** Content-MD5 as hex, or null when not sent. */
  md5: string | null;
}

const MAX_PUT_BYTES = 5 * 1024 ** 3;

/**
 * Reads the expected length and digests from the headers. Throws MissingContentLength, EntityTooLarge, InvalidDigest.
 */
export function readPayloadHeaders(request: S3Request, sha256: PayloadDigest): Payload {
  const length = request.headers.get("content-length");
  if (length === null || !/^\d{1,15}$/.test(length)) throw new S3Problem("MissingContentLength");
  if (Number(length) > MAX_PUT_BYTES) throw new S3Problem("EntityTooLarge");
  const md5 = request.headers.get("content-md5");
  if (md5 !== null && !/^[A-Za-z0-9+/]{22}==$/.test(md5)) throw new S3Problem("InvalidDigest");
  const md5Hex = md5 === null ? null : Buffer.from(md5, "base64").toString("hex");
  return { body: request.body, length: Number(length), sha256, md5: md5Hex };
}

/**
 * Passes the body to `write` chunk by chunk, checks length and digests, and returns the MD5 in hex.
 * Throws IncompleteBody, XAmzContentSHA256Mismatch, BadDigest; then the caller must discard what it wrote.
 */
export async function receive(
  payload: Payload,
  write: (chunk: Uint8Array) => Promise<void>,
): Promise<string> {
  const md5 = createHash("md5");
  const sha256 = payload.sha256 === null ? null : createHash("sha256");
  let received = 0;
  try {
    for await (const chunk of payload.body ?? []) {
      received += chunk.length;
      md5.update(chunk);
      sha256?.update(chunk);
      await write(chunk);
    }
  } catch (error) {
    // A broken stream means that the client closed the connection. A disk error is a server error.
    if (received < payload.length && !isDiskError(error)) throw new S3Problem("IncompleteBody");
    throw error;
  }
  if (received !== payload.length) throw new S3Problem("IncompleteBody");
  if (sha256 && sha256.digest("hex") !== payload.sha256) throw new S3Problem("XAmzContentSHA256Mismatch");
  const digest = md5.digest("hex");
  if (payload.md5 !== null && payload.md5 !== digest) throw new S3Problem("BadDigest");
  return digest;
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

function isDiskError(error: unknown): boolean {
  return error instanceof Error && "code" in error && typeof error.code === "string" &&
    ["ENOSPC", "EDQUOT", "EIO", "EACCES", "EROFS"].includes(error.code);
}
