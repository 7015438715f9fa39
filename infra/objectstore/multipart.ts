import { decodeXML } from "entities/decode";
import { escapeUTF8 } from "entities/escape";
import { errorOfAnswer, ObjectStoreUnavailable } from "./errors.ts";
import type { BoundedS3Client, CallBounds } from "./s3_client.ts";

/** Timeout of calls that transfer no content. */
export const METADATA_TIMEOUT_MS = 10_000;

/** A stored object. The ETag has no quotes. It is opaque, and not always an MD5. */
export interface StoredObject {
  sizeBytes: number;
  etag: string;
}

/** The key of a multipart upload, and a function that makes a client for each request. */
interface UploadContext {
  key: string;
  signal?: AbortSignal | undefined;
  clientFor(bounds: CallBounds): BoundedS3Client;
}

/** A part as the store has received it. */
export interface StoredPart extends StoredObject {
  partNumber: number;
}

const COMPLETE_TIMEOUT_MS = 300_000; // the store may copy the parts together before it answers

/** Starts a multipart upload. @returns its id */
export async function createUpload(context: UploadContext, contentType: string): Promise<string> {
  const action = "starting a multipart upload";
  const response = await client(context, action, METADATA_TIMEOUT_MS).makeRequest({
    method: "POST",
    objectName: context.key,
    query: { uploads: "" },
    headers: new Headers({ "content-type": contentType }),
    returnBody: true,
  });
  const uploadId = xmlText(await response.text(), "UploadId");
  if (!uploadId) throw new ObjectStoreUnavailable(`${action}: found no UploadId in the answer, expected one`);
  return uploadId;
}

/** Completes an upload from parts 1 to n with these ETags. @returns the ETag of the object */
export async function completeUpload(
  context: UploadContext,
  uploadId: string,
  etags: readonly string[],
): Promise<string> {
  const parts = etags.map((etag, i) =>
    `<Part><PartNumber>${i + 1}</PartNumber><ETag>"${escapeUTF8(etag)}"</ETag></Part>`
  ).join("");
  const namespace = "http://s3.amazonaws.com/doc/2006-03-01/";
  const action = "completing a multipart upload";
  const response = await client(context, action, COMPLETE_TIMEOUT_MS).makeRequest({
    method: "POST",
    objectName: context.key,
    query: { uploadId },
    payload: `<CompleteMultipartUpload xmlns="${namespace}">${parts}</CompleteMultipartUpload>`,
    returnBody: true,
  });
  return etagOfResult(action, await response.text());
}

/** Lists the parts received so far: only the store's first page, at most 1,000. */
export async function listParts(context: UploadContext, uploadId: string): Promise<StoredPart[]> {
  const response = await client(context, "listing the parts of an upload", METADATA_TIMEOUT_MS).makeRequest({
    method: "GET",
    objectName: context.key,
    query: { uploadId },
    returnBody: true,
  });
  return xmlTexts(await response.text(), "Part").map((part) => ({
    partNumber: Number(xmlText(part, "PartNumber")),
    sizeBytes: Number(xmlText(part, "Size")),
    etag: unquoteEtag(xmlText(part, "ETag") ?? ""),
  }));
}

/** Aborts an upload and deletes its parts. Its id becomes invalid. */
export async function abortUpload(context: UploadContext, uploadId: string): Promise<void> {
  await client(context, "aborting a multipart upload", METADATA_TIMEOUT_MS).makeRequest({
    method: "DELETE",
    objectName: context.key,
    query: { uploadId },
    statusCode: 204,
  });
}

/**
 * Returns the ETag in the XML answer of a copy or completion. Both may fail after the status 200 was sent. Then the
 * body is an Error document, and its code decides which error is thrown.
 */
export function etagOfResult(action: string, xml: string): string {
  const etag = xmlText(xml, "ETag");
  if (etag) return unquoteEtag(etag);
  const code = xmlText(xml, "Code") ?? "InternalError";
  throw errorOfAnswer(
    action,
    200,
    code === "PreconditionFailed" ? 412 : code === "NoSuchKey" ? 404 : 400,
    code,
  );
}

function client(context: UploadContext, action: string, timeoutMs: number): BoundedS3Client {
  return context.clientFor({ action, timeoutMs, signal: context.signal });
}

/** Size of a part; a running write has two in memory. S3 allows 10,000 parts, so a write is limited to about 80 GiB. */
const PART_BYTES = 8 * 1024 * 1024;

const PART_TIMEOUT_MS = 120_000;

/** One running write, with the content type of the object. */
interface WriteContext extends UploadContext {
  contentType: string;
}

/**
 * Writes a stream of unknown length. Uses a single PUT if it fits into one part, else a multipart upload, which reads the
 * next part while one is sent. If anything fails, the upload is aborted, so nothing is left in the store.
 */
export async function writeStream(
  context: WriteContext,
  body: ReadableStream<Uint8Array>,
): Promise<StoredObject> {
  const buffers = new PartBuffers(PART_BYTES);
  const parts = splitIntoParts(body, buffers, context.signal);
  try {
    const first = await parts.next();
    const bytes = first.done ? new Uint8Array() : first.value;
    if (bytes.length < PART_BYTES) return await putWhole(context, bytes);
    return await putInParts(context, bytes, parts);
  } finally {
    await parts.return(undefined); // releases the source stream
    buffers.free(); // every part has been sent or has failed
  }
}

async function putWhole(context: WriteContext, bytes: Uint8Array<ArrayBuffer>): Promise<StoredObject> {
  const response = await client(context, "writing an object", PART_TIMEOUT_MS).makeRequest({
    method: "PUT",
    objectName: context.key,
    headers: new Headers({ "content-type": context.contentType }),
    payload: bytes,
  });
  return { sizeBytes: bytes.length, etag: unquoteEtag(response.headers.get("etag") ?? "") };
}

async function putInParts(
  context: WriteContext,
  first: Uint8Array<ArrayBuffer>,
  rest: AsyncIterable<Uint8Array<ArrayBuffer>>,
): Promise<StoredObject> {
  const uploadId = await createUpload(context, context.contentType);
  const etags: string[] = [];
  let sending = Promise.resolve();
  const send = (part: Uint8Array<ArrayBuffer>) => {
    sending = putPart(context, uploadId, etags.length + 1, part).then((etag) => void etags.push(etag));
    sending.catch(() => undefined); // it is awaited later, after the next part was read
  };
  try {
    let sizeBytes = first.length;
    send(first);
    for await (const part of rest) {
      await sending;
      send(part);
      sizeBytes += part.length;
    }
    await sending;
    context.signal?.throwIfAborted();
    return { sizeBytes, etag: await completeUpload(context, uploadId, etags) };
  } catch (error) {
    await sending.catch(() => undefined); // a part that arrives after the abort would stay in the store
    // Best effort: the original error is thrown. A lifecycle rule of the bucket removes parts that are left.
    await abortUpload({ ...context, signal: undefined }, uploadId).catch(() => undefined);
    throw error;
  }
}

async function putPart(
  context: WriteContext,
  uploadId: string,
  partNumber: number,
  bytes: Uint8Array<ArrayBuffer>,
): Promise<string> {
  const response = await client(context, "writing a part of an object", PART_TIMEOUT_MS).makeRequest({
    method: "PUT",
    objectName: context.key,
    query: { partNumber: String(partNumber), uploadId },
    payload: bytes,
  });
  return unquoteEtag(response.headers.get("etag") ?? "");
}

type Bytes = Uint8Array<ArrayBuffer>;

/** Two buffers that are filled in turn. `free` returns their memory without waiting for the garbage collection. */
class PartBuffers {
  #current: Bytes = new Uint8Array(64 * 1024);
  #other: Bytes | null = null;

  constructor(readonly size: number) {}

  /** The buffer that is being filled, with room for `needed` bytes. It keeps its content and has `size` bytes at most. */
  withRoomFor(needed: number): Bytes {
    if (needed > this.#current.length) {
      this.#current = new Uint8Array(this.#current.buffer.transfer(Math.min(this.size, needed * 2)));
    }
    return this.#current;
  }

  /** The buffer is full: the other one is filled next. */
  swap(): void {
    [this.#current, this.#other] = [this.#other ?? new Uint8Array(this.size), this.#current];
  }

  free(): void {
    this.#current.buffer.transfer(0);
    this.#other?.buffer.transfer(0);
  }
}

/**
 * Splits a stream into parts of exactly the size of `buffers`; the last one may be shorter. Parts are views of these
 * buffers: a part is valid until the one after the next is requested. An abort throws the signal's reason. Leaving the
 * loop cancels the source.
 */
async function* splitIntoParts(
  source: ReadableStream<Uint8Array>,
  buffers: PartBuffers,
  signal?: AbortSignal,
): AsyncGenerator<Bytes, void, undefined> {
  const reader = source.getReader();
  const onAbort = () => void reader.cancel(signal?.reason).catch(() => undefined);
  signal?.addEventListener("abort", onAbort, { once: true });
  const { size } = buffers;
  let filled = 0;
  let ended = false;
  try {
    while (true) {
      signal?.throwIfAborted();
      const { done, value } = await reader.read();
      signal?.throwIfAborted(); // a cancelled stream ends without an error
      if (done) break;
      for (let taken = 0; taken < value.length;) {
        const take = Math.min(size - filled, value.length - taken);
        const buffer = buffers.withRoomFor(filled + take);
        buffer.set(value.subarray(taken, taken + take), filled);
        taken += take;
        filled += take;
        if (filled === size) {
          yield buffer;
          buffers.swap();
          filled = 0;
        }
      }
    }
    ended = true;
    if (filled > 0) yield buffers.withRoomFor(filled).subarray(0, filled);
  } finally {
    signal?.removeEventListener("abort", onAbort);
    if (!ended) void reader.cancel().catch(() => undefined); // not awaited: the source may hang
    reader.releaseLock();
  }
}

/** The text of the first element `name` of a simple answer of S3, with entities decoded; null without such an element. */
export function xmlText(xml: string, name: string): string | null {
  const found = new RegExp(`<${name}(?:\\s[^>]*)?>([^<]*)</${name}>`).exec(xml)?.[1];
  return found === undefined ? null : decodeXML(found);
}

/** The inner XML of every element named `name`. */
export function xmlTexts(xml: string, name: string): string[] {
  return [...xml.matchAll(new RegExp(`<${name}>(.*?)</${name}>`, "gs"))].map(([, inner = ""]) => inner);
}

/** An ETag without its quotes. */
export function unquoteEtag(etag: string): string {
  return etag.trim().replaceAll(/^"|"$/g, "");
}
