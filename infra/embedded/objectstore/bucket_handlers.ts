import type { S3Request } from "./request.ts";
import type { Storage } from "./storage.ts";

export function createBucket(storage: Storage, request: S3Request): Response {
  storage.createBucket(request.bucket);
  return new Response(null, { headers: { location: `/${request.bucket}` } });
}

export function headBucket(storage: Storage, request: S3Request, region: string): Response {
  storage.bucket(request.bucket);
  return new Response(null, { headers: { "x-amz-bucket-region": region } });
}

export function deleteBucket(storage: Storage, request: S3Request): Response {
  storage.deleteBucket(request.bucket);
  return new Response(null, { status: 204 });
}
