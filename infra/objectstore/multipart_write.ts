import { abortUpload, completeUpload, createUpload, type UploadContext } from "./multipart.ts";
import type { StoredObject } from "./objectstore.ts";
import { fillParts } from "./parts.ts";
import type { BoundedS3Client } from "./s3_client.ts";
import { unquoteEtag } from "./xml.ts";

/** Bytes held in memory per running write. 10,000 parts of it, S3's limit, make 80 GiB. */
export const PART_BYTES = 8 * 1024 * 1024;

const PART_TIMEOUT_MS = 120_000;

/** One running write, and the type it is stored with. */
export interface WriteContext extends UploadContext {
  contentType: string;
}

/**
 * Writes a stream of unknown length with one part in memory: a single PUT when it fits one part, else a multipart
 * upload, which is aborted when anything fails, so nothing stays behind at the store.
 */
export async function writeStream(
  context: WriteContext,
  body: ReadableStream<Uint8Array>,
): Promise<StoredObject> {
  const parts = fillParts(body, PART_BYTES, context.signal);
  try {
    const first = await parts.next();
    const bytes = first.done ? new Uint8Array() : first.value;
    if (bytes.length < PART_BYTES) return await putWhole(context, bytes);
    return await putInParts(context, bytes, parts);
  } finally {
    await parts.return(undefined); // lets go of the source stream, read to its end or not
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
  try {
    const etags = [await putPart(context, uploadId, 1, first)];
    let sizeBytes = first.length;
    for await (const part of rest) {
      etags.push(await putPart(context, uploadId, etags.length + 1, part));
      sizeBytes += part.length;
    }
    context.signal?.throwIfAborted();
    return { sizeBytes, etag: await completeUpload(context, uploadId, etags) };
  } catch (error) {
    // Best effort: this error is the one to report, and a bucket's lifecycle rule clears what is left.
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

function client(context: WriteContext, action: string, timeoutMs: number): BoundedS3Client {
  return context.clientFor({ action, timeoutMs, signal: context.signal });
}
