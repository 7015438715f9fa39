import { checkWriteConditions } from "./conditions.ts";
import { multipartEtag, totalBytes, type Uploads, withJoined } from "./multipart.ts";
import { writeAll } from "./object_file.ts";
import { storedHeaders } from "./object_headers.ts";
import { type Payload, receive, receiveText } from "./payload.ts";
import { S3Problem } from "./problem.ts";
import { param, type S3Request } from "./request.ts";
import { element, parseCompletion, xmlResponse } from "./xml.ts";

const MAX_COMPLETION_BYTES = 2 * 1024 * 1024; // 10,000 parts take about 1 MiB

export async function createUpload(
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

export async function putPart(uploads: Uploads, request: S3Request, payload: Payload): Promise<Response> {
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
export function listParts(uploads: Uploads, request: S3Request): Response {
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

export async function completeUpload(
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
        await uploads.storage.commit(
          bucket,
          incoming,
          meta,
          (replaced) => checkWriteConditions(request.headers, replaced),
        );
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

export function abortUpload(uploads: Uploads, request: S3Request): Response {
  uploads.abort(readUploadId(request), request.bucket, request.key);
  return new Response(null, { status: 204 });
}

function readUploadId(request: S3Request): string {
  return param(request, "uploadId") ?? "";
}
