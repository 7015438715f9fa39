import { compareUtf8, type KeyIndex } from "./key_index.ts";
import type { ObjectMeta } from "./object_file.ts";
import { param, S3Problem, type S3Request } from "./request.ts";
import type { Storage } from "./storage.ts";
import { element, type Xml, xmlResponse } from "./xml.ts";

const MAX_KEYS = 1000;

/** ListObjectsV2 without groups. Throws NoSuchBucket, InvalidArgument, NotImplemented. */
export function listObjects(storage: Storage, request: S3Request): Response {
  const text = (name: string) => param(request, name) ?? "";
  if (text("list-type") !== "2" || text("delimiter") !== "") {
    throw new S3Problem(
      "NotImplemented",
      "Only ListObjectsV2 (list-type=2) without a delimiter is implemented",
    );
  }
  const maxKeys = text("max-keys") === "" ? MAX_KEYS : Number(text("max-keys"));
  if (!Number.isInteger(maxKeys) || maxKeys < 0) {
    throw new S3Problem("InvalidArgument", "max-keys must be a number");
  }
  const token = param(request, "continuation-token");
  const prefix = text("prefix");
  const after = token === null ? "" : readToken(token);
  const { page, isTruncated } = readPage(storage.bucket(request.bucket), {
    prefix,
    after,
    maxKeys: Math.min(maxKeys, MAX_KEYS),
  });
  const last = page.at(-1);
  return xmlResponse("ListBucketResult", [
    element("Name", request.bucket),
    element("Prefix", prefix),
    element("KeyCount", page.length),
    element("IsTruncated", String(isTruncated)),
    ...(isTruncated && last ? [element("NextContinuationToken", makeToken(last.key))] : []),
    ...page.map(objectXml),
  ]);
}

/** Reads the objects of a page: those after the key `after`. */
function readPage(
  index: KeyIndex,
  { prefix, after, maxKeys }: { prefix: string; after: string; maxKeys: number },
): { page: ObjectMeta[]; isTruncated: boolean } {
  const page: ObjectMeta[] = [];
  for (const object of index.from(compareUtf8(after, prefix) > 0 ? after : prefix)) {
    if (!object.key.startsWith(prefix)) break;
    if (object.key === after) continue;
    if (page.length === maxKeys) return { page, isTruncated: maxKeys > 0 };
    page.push(object);
  }
  return { page, isTruncated: false };
}

const objectXml = (object: ObjectMeta): Xml =>
  element(
    "Contents",
    element("Key", object.key),
    element("LastModified", new Date(object.lastModified).toISOString()),
    element("ETag", `"${object.etag}"`),
    element("Size", object.sizeBytes),
  );

function makeToken(after: string): string {
  return Buffer.from(after).toString("base64url");
}

function readToken(token: string): string {
  const after = Buffer.from(token, "base64url").toString();
  if (token === "" || makeToken(after) !== token) {
    throw new S3Problem("InvalidArgument", "continuation-token was not issued by this store");
  }
  return after;
}
