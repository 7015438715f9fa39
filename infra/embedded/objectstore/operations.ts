import { createBucket, deleteBucket, headBucket } from "./bucket_handlers.ts";
import { copyObject } from "./copy_object.ts";
import { listObjects } from "./list_objects.ts";
import type { Uploads } from "./multipart.ts";
import { abortUpload, completeUpload, createUpload, listParts, putPart } from "./multipart_handlers.ts";
import { deleteObject, putObject, readObject } from "./object_handlers.ts";
import { type Payload, readPayloadHeaders, receiveText } from "./payload.ts";
import { S3Problem } from "./problem.ts";
import { param, type S3Request } from "./request.ts";
import type { PayloadDigest } from "./signature.ts";

/** The state that operations use. */
export interface Store {
  uploads: Uploads;
  region: string;
}

const MAX_BUCKET_BODY_BYTES = 64 * 1024;

const QUERY_NAMES = new Set([
  ...["list-type", "prefix", "delimiter", "max-keys", "continuation-token", "start-after", "encoding-type"],
  ...["fetch-owner", "uploads", "uploadId", "partNumber", "x-id"],
]);
const QUERY_FAMILIES = new RegExp(
  "^(X-Amz-(Algorithm|Credential|Date|Expires|SignedHeaders|Signature)" +
    "|response-(cache-control|content-(disposition|encoding|language|type)|expires))$",
);
const AMZ_HEADERS = new RegExp(
  "^x-amz-(date|content-sha256|meta-.+|metadata-directive|copy-source(-if-(none-)?match|-if-(un)?modified-since)?)$",
);

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
  if (method === "DELETE") return deleteObject(storage, request);
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
      return headBucket(storage, request, store.region);
    case "PUT":
      await receiveText(payload(), MAX_BUCKET_BODY_BYTES);
      return createBucket(storage, request);
    case "DELETE":
      return deleteBucket(storage, request);
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
  if (method === "DELETE") return abortUpload(uploads, request);
  if (method !== "PUT") throw new S3Problem("MethodNotAllowed");
  if (request.headers.has("x-amz-copy-source")) {
    throw new S3Problem("NotImplemented", "UploadPartCopy is not implemented");
  }
  return await putPart(uploads, request, payload());
}

/**
 * Refuses unknown parameters and headers. If they were ignored, a client could rely on an ACL or encryption that is not
 * applied.
 */
function refuseUnknown(request: S3Request): void {
  const parameter = request.query.find(([name]) => !QUERY_NAMES.has(name) && !QUERY_FAMILIES.test(name));
  if (parameter) {
    throw new S3Problem("NotImplemented", "A query parameter implies functionality that is not implemented");
  }
  for (const name of request.headers.keys()) {
    if (name.startsWith("x-amz-") && !AMZ_HEADERS.test(name)) {
      throw new S3Problem("NotImplemented", "A header implies functionality that is not implemented");
    }
  }
}

function has(request: S3Request, name: string): boolean {
  return param(request, name) !== null;
}
