import { createHash } from "node:crypto";
import { checkCopyConditions, checkWriteConditions } from "./conditions.ts";
import { streamFile, writeAll } from "./object_file.ts";
import { storedHeaders } from "./object_headers.ts";
import { decode, S3Problem, type S3Request } from "./request.ts";
import type { Storage } from "./storage.ts";
import { element, xmlResponse } from "./xml.ts";

/**
 * CopyObject inside the store. The copy's ETag is the MD5 of its bytes, also if the source was a multipart upload.
 * Throws NoSuchKey, PreconditionFailed, InvalidArgument, InvalidRequest.
 */
export async function copyObject(storage: Storage, request: S3Request): Promise<Response> {
  const source = readSource(request.headers.get("x-amz-copy-source") ?? "");
  const directive = request.headers.get("x-amz-metadata-directive") ?? "COPY";
  if (directive !== "COPY" && directive !== "REPLACE") {
    throw new S3Problem("InvalidArgument", "x-amz-metadata-directive must be COPY or REPLACE");
  }
  if (source.bucket === request.bucket && source.key === request.key && directive === "COPY") {
    throw new S3Problem(
      "InvalidRequest",
      "This copy request is illegal: it copies an object to itself unchanged",
    );
  }
  storage.bucket(request.bucket);
  const original = storage.find(source.bucket, source.key);
  checkCopyConditions(request.headers, original);
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
      headers: directive === "COPY" ? original.headers : storedHeaders(request),
    };
    await storage.commit(
      request.bucket,
      incoming,
      meta,
      (replaced) => checkWriteConditions(request.headers, replaced),
    );
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
