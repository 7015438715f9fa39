import { compareUtf8, type KeyIndex } from "./key_index.ts";
import type { ObjectMeta } from "./object_file.ts";
import { param, S3Problem, type S3Request } from "./request.ts";
import type { Storage } from "./storage.ts";
import { element, type Xml, xmlResponse } from "./xml.ts";

const MAX_KEYS = 1000;

type Entry = { object: ObjectMeta } | { commonPrefix: string };

/** ListObjectsV2. Throws NoSuchBucket, InvalidArgument. */
export function listObjects(storage: Storage, request: S3Request): Response {
  const text = (name: string) => param(request, name) ?? "";
  if (text("list-type") !== "2") {
    throw new S3Problem("NotImplemented", "Only ListObjectsV2 (list-type=2) is implemented");
  }
  const maxKeys = text("max-keys") === "" ? MAX_KEYS : Number(text("max-keys"));
  if (!Number.isInteger(maxKeys) || maxKeys < 0) {
    throw new S3Problem("InvalidArgument", "max-keys must be a number");
  }
  const urlEncoded = text("encoding-type") === "url";
  if (!urlEncoded && text("encoding-type") !== "") {
    throw new S3Problem("InvalidArgument", "encoding-type must be url");
  }
  const token = param(request, "continuation-token");
  const after = token === null ? text("start-after") : readToken(token);
  const query = {
    prefix: text("prefix"),
    delimiter: text("delimiter"),
    after,
    maxKeys: Math.min(maxKeys, MAX_KEYS),
  };
  const page = readPage(storage.bucket(request.bucket), query);
  const name = (value: string) => urlEncoded ? encodeURIComponent(value).replaceAll("%2F", "/") : value;
  const optional = (tag: string, value: string | null) => value ? [element(tag, value)] : [];
  return xmlResponse("ListBucketResult", [
    element("Name", request.bucket),
    element("Prefix", name(query.prefix)),
    ...optional("Delimiter", name(query.delimiter)),
    ...optional("StartAfter", name(text("start-after"))),
    ...optional("ContinuationToken", token),
    ...optional("EncodingType", text("encoding-type")),
    element("MaxKeys", query.maxKeys),
    element("KeyCount", page.entries.length),
    element("IsTruncated", String(page.next !== null)),
    ...optional("NextContinuationToken", page.next === null ? null : makeToken(page.next)),
    ...page.entries.map((entry) => entryXml(entry, name)),
  ]);
}

/**
 * Reads one page. Keys with the same part up to the delimiter make one entry, a common prefix. `next` is the entry after
 * which the next page starts; null on the last page.
 */
function readPage(
  index: KeyIndex,
  q: { prefix: string; delimiter: string; after: string; maxKeys: number },
): { entries: Entry[]; next: string | null } {
  const entries: Entry[] = [];
  let after = q.after;
  for (const object of index.from(compareUtf8(after, q.prefix) > 0 ? after : q.prefix)) {
    if (!object.key.startsWith(q.prefix)) break;
    if (isDone(object.key, after, q)) continue;
    if (entries.length === q.maxKeys) return { entries, next: q.maxKeys === 0 ? null : after };
    const end = q.delimiter === "" ? -1 : object.key.indexOf(q.delimiter, q.prefix.length);
    after = end < 0 ? object.key : object.key.slice(0, end + q.delimiter.length);
    entries.push(end < 0 ? { object } : { commonPrefix: after });
  }
  return { entries, next: null };
}

/** True if an earlier page listed this key: it is `after`, or it belongs to the common prefix `after`. */
function isDone(key: string, after: string, q: { prefix: string; delimiter: string }): boolean {
  if (after === "") return false;
  if (key === after) return true;
  const rolledUp = q.delimiter !== "" && after.length > q.prefix.length && after.endsWith(q.delimiter);
  return rolledUp && key.startsWith(after);
}

function entryXml(entry: Entry, name: (value: string) => string): Xml {
  if ("commonPrefix" in entry) return element("CommonPrefixes", element("Prefix", name(entry.commonPrefix)));
  const { object } = entry;
  return element(
    "Contents",
    element("Key", name(object.key)),
    element("LastModified", new Date(object.lastModified).toISOString()),
    element("ETag", `"${object.etag}"`),
    element("Size", object.sizeBytes),
    element("StorageClass", "STANDARD"),
  );
}

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
