import { escapeUTF8 } from "entities/escape";
import { errorOfAnswer, type ObjectStoreError, ObjectStoreUnavailable } from "./errors.ts";
import { METADATA_TIMEOUT_MS } from "./timeouts.ts";
import type { BoundedS3Client, CallBounds } from "./s3_client.ts";
import { unquoteEtag, xmlText, xmlTexts } from "./xml.ts";

/** The key of a multipart upload, and a function that makes a client for each request. */
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
