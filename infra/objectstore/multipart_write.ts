import { errorOfAnswer, type ObjectStoreError, ObjectStoreUnavailable } from "./errors.ts";
import type { StoredObject } from "./objectstore.ts";
import { fillParts } from "./parts.ts";
import type { BoundedS3Client, CallBounds } from "./s3_client.ts";
import { unquoteEtag, xmlText } from "./xml.ts";

/** Bytes held in memory per running write. 10,000 parts of it, S3's limit, make 80 GiB. */
export const PART_BYTES = 8 * 1024 * 1024;

const PART_TIMEOUT_MS = 120_000;
const COMPLETE_TIMEOUT_MS = 300_000;

/** One running write: its key, the type it is stored with, and how to make a client for each of its requests. */
export interface WriteContext {
  key: string;
  contentType: string;
  signal: AbortSignal | undefined;
  clientFor(bounds: CallBounds): BoundedS3Client;
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
  const uploadId = await createUpload(context);
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
    await abortUpload(context, uploadId);
    throw error;
  }
}

async function createUpload(context: WriteContext): Promise<string> {
  const action = "starting a multipart upload";
  const response = await client(context, action, PART_TIMEOUT_MS).makeRequest({
    method: "POST",
    objectName: context.key,
    query: { uploads: "" },
    headers: new Headers({ "content-type": context.contentType }),
    returnBody: true,
  });
  const uploadId = xmlText(await response.text(), "UploadId");
  if (!uploadId) throw new ObjectStoreUnavailable(`${action}: found no UploadId in the answer, expected one`);
  return uploadId;
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

async function completeUpload(context: WriteContext, uploadId: string, etags: string[]): Promise<string> {
  const parts = etags.map((etag, i) =>
    `<Part><PartNumber>${i + 1}</PartNumber><ETag>"${etag}"</ETag></Part>`
  );
  const action = "completing a multipart upload";
  const response = await client(context, action, COMPLETE_TIMEOUT_MS).makeRequest({
    method: "POST",
    objectName: context.key,
    query: { uploadId },
    payload: `<CompleteMultipartUpload xmlns="http://s3.amazonaws.com/doc/2006-03-01/">${
      parts.join("")
    }</CompleteMultipartUpload>`,
    returnBody: true,
  });
  return etagOfResult(action, await response.text());
}

/**
 * The ETag in the XML of a copy or completion. Those may fail after the 200 was sent: the body is then an Error
 * document, which becomes the error that its code stands for.
 */
export function etagOfResult(action: string, xml: string): string {
  const etag = xmlText(xml, "ETag");
  if (etag) return unquoteEtag(etag);
  throw failureInBody(action, xml);
}

function failureInBody(action: string, xml: string): ObjectStoreError {
  const code = xmlText(xml, "Code") ?? "InternalError";
  return errorOfAnswer(
    action,
    200,
    code === "PreconditionFailed" ? 412 : code === "NoSuchKey" ? 404 : 400,
    code,
  );
}

/** Best effort: the error that led here is the one to report, and a bucket's lifecycle rule clears what is left. */
async function abortUpload(context: WriteContext, uploadId: string): Promise<void> {
  const bounds = { action: "aborting a multipart upload", timeoutMs: PART_TIMEOUT_MS };
  await context.clientFor(bounds).makeRequest({
    method: "DELETE",
    objectName: context.key,
    query: { uploadId },
    statusCode: 204,
  }).catch(() => undefined);
}

function client(context: WriteContext, action: string, timeoutMs: number): BoundedS3Client {
  return context.clientFor({ action, timeoutMs, signal: context.signal });
}
