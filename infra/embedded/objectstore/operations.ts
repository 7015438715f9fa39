import { createHash } from "node:crypto";
import { answeredHeaders, storedHeaders } from "./object_headers.ts";
import { listObjects } from "./list_objects.ts";
import { multipartEtag, totalBytes, type Uploads, withJoined } from "./multipart.ts";
import { streamFile, writeAll } from "./object_file.ts";
import { type Payload, readPayloadHeaders, receive, receiveText } from "./payload.ts";
import { decode, param, S3Problem, type S3Request } from "./request.ts";
import type { PayloadDigest } from "./signature.ts";
import type { Storage } from "./storage.ts";
import { element, parseCompletion, xmlResponse } from "./xml.ts";

/** The state that operations use. */
interface Store {
  uploads: Uploads;
  region: string;
}

const MAX_BUCKET_BODY_BYTES = 64 * 1024;

const QUERY_NAMES = new Set([
  ...["list-type", "prefix", "delimiter", "max-keys", "continuation-token"],
  ...["uploads", "uploadId", "partNumber", "x-id"],
]);
const QUERY_FAMILIES = new RegExp(
  "^(X-Amz-(Algorithm|Credential|Date|Expires|SignedHeaders|Signature)" +
    "|response-(cache-control|content-(disposition|encoding|language|type)|expires))$",
);
const AMZ_HEADERS = /^x-amz-(date|content-sha256|metadata-directive|copy-source(-if-match)?)$/;
/** Conditions and checksums, which are not checked. */
const CONDITIONS = /^(content-md5|if-match|if-unmodified-since|if-none-match|if-modified-since)$/;
/** Conditions of caches. A read that has one is answered in full, which is always correct. */
const CACHE_CONDITIONS = /^if-(none-match|modified-since)$/;

/** Runs a verified request. Throws S3Problem. */
export async function runOperation(
  store: Store,
  request: S3Request,
  sha256: PayloadDigest,
): Promise<Response> {
  refuseUnknown(request);
  if (request.bucket === "") {
    throw new S3Problem("NotImplemented", "Requests about the service are not implemented");
  }
  const payload = () => readPayloadHeaders(request, sha256);
  const { method } = request;
  if (request.key === "") return await runBucketOperation(store, request, payload);
  if (has(request, "uploadId") || has(request, "uploads")) {
    return await runUploadOperation(store, request, payload);
  }
  const { storage } = store.uploads;
  if (method === "GET" || method === "HEAD") return readObject(storage, request);
  if (method === "DELETE") {
    storage.delete(request.bucket, request.key);
    return new Response(null, { status: 204 });
  }
  if (method !== "PUT") throw new S3Problem("MethodNotAllowed");
  if (!request.headers.has("x-amz-copy-source")) return await putObject(storage, request, payload());
  await receiveText(payload(), 0);
  return await copyObject(storage, request);
}

async function runBucketOperation(
  store: Store,
  request: S3Request,
  payload: () => Payload,
): Promise<Response> {
  const { storage } = store.uploads;
  switch (request.method) {
    case "GET":
      return listObjects(storage, request);
    case "HEAD":
      storage.bucket(request.bucket);
      return new Response(null, { headers: { "x-amz-bucket-region": store.region } });
    case "PUT":
      await receiveText(payload(), MAX_BUCKET_BODY_BYTES);
      storage.createBucket(request.bucket);
      return new Response(null, { headers: { location: `/${request.bucket}` } });
    default:
      throw new S3Problem("MethodNotAllowed");
  }
}

async function runUploadOperation(
  { uploads }: Store,
  request: S3Request,
  payload: () => Payload,
): Promise<Response> {
  const { method } = request;
  if (method === "POST" && has(request, "uploads")) return await createUpload(uploads, request, payload());
  if (!has(request, "uploadId")) throw new S3Problem("MethodNotAllowed");
  if (method === "POST") return await completeUpload(uploads, request, payload());
  if (method === "GET") return listParts(uploads, request);
  if (method === "DELETE") {
    uploads.abort(readUploadId(request), request.bucket, request.key);
    return new Response(null, { status: 204 });
  }
  if (method !== "PUT") throw new S3Problem("MethodNotAllowed");
  if (request.headers.has("x-amz-copy-source")) {
    throw new S3Problem("NotImplemented", "UploadPartCopy is not implemented");
  }
  return await putPart(uploads, request, payload());
}

/**
 * Refuses unknown parameters and headers, and conditions. If they were ignored, a client could rely on an ACL, an
 * encryption or a condition that is not applied.
 */
function refuseUnknown(request: S3Request): void {
  const parameter = request.query.find(([name]) => !QUERY_NAMES.has(name) && !QUERY_FAMILIES.test(name));
  if (parameter) {
    throw new S3Problem("NotImplemented", "A query parameter implies functionality that is not implemented");
  }
  const isRead = request.method === "GET" || request.method === "HEAD";
  for (const name of request.headers.keys()) {
    const isCondition = CONDITIONS.test(name) && !(isRead && CACHE_CONDITIONS.test(name));
    if (isCondition || name.startsWith("x-amz-") && !AMZ_HEADERS.test(name)) {
      throw new S3Problem("NotImplemented", "A header implies functionality that is not implemented");
    }
  }
}

function has(request: S3Request, name: string): boolean {
  return param(request, name) !== null;
}

/** GetObject and HeadObject: checks the range, then streams the bytes. With If-Range, the whole object is answered. */
function readObject(storage: Storage, request: S3Request): Response {
  const meta = storage.find(request.bucket, request.key);
  const headers = answeredHeaders(request, meta);
  const header = request.headers.has("if-range") ? null : request.headers.get("range");
  const range = readRange(header, meta.sizeBytes);
  const { start, end } = range ?? { start: 0, end: meta.sizeBytes - 1 };
  headers.set("content-length", String(end - start + 1));
  if (range) headers.set("content-range", `bytes ${start}-${end}/${meta.sizeBytes}`);
  const status = range ? 206 : 200;
  if (request.method === "HEAD") return new Response(null, { status, headers });
  // No await since `find`, so the file matches the metadata.
  const file = storage.openSync(request.bucket, request.key);
  return new Response(streamFile(file, start, end - start + 1), { status, headers });
}

/** PutObject: the object becomes visible only after the whole body was verified. If that fails, nothing is stored. */
async function putObject(storage: Storage, request: S3Request, payload: Payload): Promise<Response> {
  storage.bucket(request.bucket); // fails early, before the transfer
  const headers = storedHeaders(request);
  return await storage.withIncoming(async (incoming) => {
    const etag = await receive(payload, (chunk) => writeAll(incoming.file, chunk));
    const meta = { key: request.key, sizeBytes: payload.length, etag, lastModified: Date.now(), headers };
    await storage.commit(request.bucket, incoming, meta);
    return new Response(null, { headers: { etag: `"${etag}"` } });
  });
}

/**
 * Parses a Range header for an object of `size` bytes: `start` and `end` are inclusive. Returns null for the whole object,
 * also for multiple ranges and for forms that RFC 9110 says to ignore. Throws InvalidRange if no byte is in the range.
 */
function readRange(header: string | null, size: number): { start: number; end: number } | null {
  const [, from, to] = /^bytes=(\d{0,15})-(\d{0,15})$/.exec(header ?? "") ?? [];
  if (from === undefined || to === undefined || (from === "" && to === "")) return null;
  if (from !== "" && to !== "" && Number(to) < Number(from)) return null;
  const start = from === "" ? Math.max(0, size - Number(to)) : Number(from);
  const end = from === "" || to === "" ? size - 1 : Math.min(Number(to), size - 1);
  if (start > end) throw new S3Problem("InvalidRange", undefined, { "content-range": `bytes */${size}` });
  return { start, end };
}

const MAX_COMPLETION_BYTES = 2 * 1024 * 1024; // 10,000 parts take about 1 MiB

async function createUpload(
  uploads: Uploads,
  request: S3Request,
  payload: Payload,
): Promise<Response> {
  await receiveText(payload, 0);
  const uploadId = uploads.create(request.bucket, request.key, storedHeaders(request));
  return xmlResponse("InitiateMultipartUploadResult", [
    element("Bucket", request.bucket),
    element("Key", request.key),
    element("UploadId", uploadId),
  ]);
}

async function putPart(uploads: Uploads, request: S3Request, payload: Payload): Promise<Response> {
  const uploadId = readUploadId(request);
  const partNumber = Number(param(request, "partNumber"));
  if (!Number.isInteger(partNumber) || partNumber < 1 || partNumber > 10_000) {
    throw new S3Problem("InvalidArgument", "Part number must be an integer between 1 and 10000, inclusive");
  }
  const upload = uploads.find(uploadId, request.bucket, request.key);
  const etag = await uploads.addPart(
    uploadId,
    upload,
    { partNumber, sizeBytes: payload.length },
    (file) => receive(payload, (chunk) => writeAll(file, chunk)),
  );
  return new Response(null, { headers: { etag: `"${etag}"` } });
}

/** ListParts. Always returns the whole list of at most 10,000 parts. */
function listParts(uploads: Uploads, request: S3Request): Response {
  const uploadId = readUploadId(request);
  const { parts } = uploads.find(uploadId, request.bucket, request.key);
  return xmlResponse("ListPartsResult", [
    element("Bucket", request.bucket),
    element("Key", request.key),
    element("UploadId", uploadId),
    element("IsTruncated", "false"),
    ...[...parts].sort(([a], [b]) => a - b).map(([partNumber, part]) =>
      element(
        "Part",
        element("PartNumber", partNumber),
        element("LastModified", new Date(part.lastModified).toISOString()),
        element("ETag", `"${part.etag}"`),
        element("Size", part.sizeBytes),
      )
    ),
  ]);
}

async function completeUpload(
  uploads: Uploads,
  request: S3Request,
  payload: Payload,
): Promise<Response> {
  const { bucket, key } = request;
  const uploadId = readUploadId(request);
  const listed = parseCompletion(await receiveText(payload, MAX_COMPLETION_BYTES));
  const etag = await uploads.complete(
    uploadId,
    request,
    listed,
    (parts, upload) =>
      withJoined(uploads.storage, upload, parts, async (incoming) => {
        const meta = {
          key,
          sizeBytes: totalBytes(parts),
          etag: multipartEtag(parts),
          lastModified: Date.now(),
          headers: upload.headers,
        };
        await uploads.storage.commit(bucket, incoming, meta);
        return meta.etag;
      }),
  );
  return xmlResponse("CompleteMultipartUploadResult", [
    element("Location", `/${bucket}/${key}`),
    element("Bucket", bucket),
    element("Key", key),
    element("ETag", `"${etag}"`),
  ]);
}

function readUploadId(request: S3Request): string {
  return param(request, "uploadId") ?? "";
}

/**
 * CopyObject inside the store. The copy's ETag is the MD5 of its bytes, also if the source was a multipart upload.
 * Throws NoSuchKey, PreconditionFailed, InvalidArgument.
 */
async function copyObject(storage: Storage, request: S3Request): Promise<Response> {
  const source = readSource(request.headers.get("x-amz-copy-source") ?? "");
  if (request.headers.get("x-amz-metadata-directive") !== "REPLACE") {
    throw new S3Problem("NotImplemented", "A copy that keeps the headers of its source is not implemented");
  }
  storage.bucket(request.bucket);
  const original = storage.find(source.bucket, source.key);
  const expected = request.headers.get("x-amz-copy-source-if-match")?.replaceAll('"', "");
  if (expected !== undefined && expected !== original.etag) throw new S3Problem("PreconditionFailed");
  const from = storage.openSync(source.bucket, source.key); // no await since `find`, so it is the same object
  const bytes = streamFile(from, 0, original.sizeBytes);
  return await storage.withIncoming(async (incoming) => {
    const md5 = createHash("md5");
    for await (const chunk of bytes) {
      md5.update(chunk);
      await writeAll(incoming.file, chunk);
    }
    const meta = {
      key: request.key,
      sizeBytes: original.sizeBytes,
      etag: md5.digest("hex"),
      lastModified: Date.now(),
      headers: storedHeaders(request),
    };
    await storage.commit(request.bucket, incoming, meta);
    return xmlResponse("CopyObjectResult", [
      element("ETag", `"${meta.etag}"`),
      element("LastModified", new Date(meta.lastModified).toISOString()),
    ]);
  });
}

function readSource(header: string): { bucket: string; key: string } {
  const [path = "", query] = header.replace(/^\//, "").split("?");
  if (query !== undefined) throw new S3Problem("NotImplemented", "Versions are not implemented");
  const slash = path.indexOf("/");
  const source = { bucket: decode(path.slice(0, Math.max(slash, 0))), key: decode(path.slice(slash + 1)) };
  if (slash < 1 || source.key === "") {
    throw new S3Problem("InvalidArgument", "x-amz-copy-source must be bucket/key");
  }
  return source;
}
