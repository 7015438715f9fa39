import { checkReadConditions, checkWriteConditions, rangeStillHolds } from "./conditions.ts";
import { type ObjectMeta, streamFile, writeAll } from "./object_file.ts";
import { answeredHeaders, storedHeaders } from "./object_headers.ts";
import { type Payload, receive } from "./payload.ts";
import { readRange } from "./range.ts";
import type { S3Request } from "./request.ts";
import type { Storage } from "./storage.ts";

/** GetObject and HeadObject: checks conditions and range, then streams the bytes. */
export function readObject(storage: Storage, request: S3Request): Response {
  const meta = storage.find(request.bucket, request.key);
  const headers = answeredHeaders(request, meta);
  if (checkReadConditions(request.headers, meta) === "not-modified") {
    return new Response(null, { status: 304, headers });
  }
  const header = rangeStillHolds(request.headers, meta) ? request.headers.get("range") : null;
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
export async function putObject(storage: Storage, request: S3Request, payload: Payload): Promise<Response> {
  const check = (replaced: ObjectMeta | undefined) => checkWriteConditions(request.headers, replaced);
  check(storage.bucket(request.bucket).get(request.key)); // fails early, before the transfer; the commit checks again
  const headers = storedHeaders(request);
  return await storage.withIncoming(async (incoming) => {
    const etag = await receive(payload, (chunk) => writeAll(incoming.file, chunk));
    const meta = { key: request.key, sizeBytes: payload.length, etag, lastModified: Date.now(), headers };
    await storage.commit(request.bucket, incoming, meta, check);
    return new Response(null, { headers: { etag: `"${etag}"` } });
  });
}

export function deleteObject(storage: Storage, request: S3Request): Response {
  storage.delete(request.bucket, request.key);
  return new Response(null, { status: 204 });
}
