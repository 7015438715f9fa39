import { errorOfAnswer, type ObjectStoreError, ObjectStoreUnavailable } from "./errors.ts";
import { METADATA_TIMEOUT_MS } from "./timeouts.ts";
import type { BoundedS3Client, CallBounds } from "./s3_client.ts";
import { unquoteEtag, xmlEscape, xmlText, xmlTexts } from "./xml.ts";

/** What one multipart upload is about, and how to make a client for each of its requests. */
export interface UploadContext {
  key: string;
  signal?: AbortSignal | undefined;
  clientFor(bounds: CallBounds): BoundedS3Client;
}

/** A part as the store has received it. */
export interface StoredPart {
  partNumber: number;
  sizeBytes: number;
  etag: string;
}

const COMPLETE_TIMEOUT_MS = 300_000; // the store may copy the parts together before it answers

/** @returns the id the parts are sent under. */
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

/** Joins parts 1 to n, whose ETags these are, to the object. @returns its ETag. */
export async function completeUpload(
  context: UploadContext,
  uploadId: string,
  etags: readonly string[],
): Promise<string> {
  const parts = etags.map((etag, i) =>
    `<Part><PartNumber>${i + 1}</PartNumber><ETag>"${xmlEscape(etag)}"</ETag></Part>`
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

/** The parts received so far, at most 1,000 of them: the store's first page. */
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

/** Throws away the parts; the id is of no use from then on. */
export async function abortUpload(context: UploadContext, uploadId: string): Promise<void> {
  await client(context, "aborting a multipart upload", METADATA_TIMEOUT_MS).makeRequest({
    method: "DELETE",
    objectName: context.key,
    query: { uploadId },
    statusCode: 204,
  });
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

function client(context: UploadContext, action: string, timeoutMs: number): BoundedS3Client {
  return context.clientFor({ action, timeoutMs, signal: context.signal });
}
