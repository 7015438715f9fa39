import { S3Problem } from "./problem.ts";

/** A request with its undecoded path, which the signature needs, and with the parts that S3 reads from it. */
export interface S3Request {
  method: string;
  rawPath: string;
  /** Decoded names and values, in the order sent, with duplicates. */
  query: readonly (readonly [name: string, value: string])[];
  headers: Headers;
  body: ReadableStream<Uint8Array> | null;
  /** Empty for requests about the service itself. */
  bucket: string;
  /** Empty for requests about the bucket. */
  key: string;
}

/**
 * Parses path-style requests (`/bucket/key`) and, for hosts below `.localhost`, virtual-host requests
 * (`bucket.localhost`). The path is not normalised: `..` and `//` are ordinary parts of a key.
 * Throws InvalidURI, KeyTooLongError.
 */
export function readRequest(request: Request): S3Request {
  const url = request.url;
  const start = url.indexOf("/", url.indexOf("//") + 2);
  const target = start < 0 ? "/" : url.slice(start);
  const mark = target.indexOf("?");
  const rawPath = mark < 0 ? target : target.slice(0, mark);
  const query = (mark < 0 ? "" : target.slice(mark + 1)).split("&").filter((pair) => pair !== "").map(
    (pair) => {
      const equals = pair.indexOf("=");
      const [name, value] = equals < 0 ? [pair, ""] : [pair.slice(0, equals), pair.slice(equals + 1)];
      return [decode(name), decode(value)] as const;
    },
  );
  const { bucket, key } = readAddress(request.headers.get("host") ?? "", rawPath);
  if (new TextEncoder().encode(key).length > 1024) throw new S3Problem("KeyTooLongError");
  return {
    method: request.method,
    rawPath,
    query,
    headers: request.headers,
    body: request.body,
    bucket,
    key,
  };
}

/** The value of a query parameter; "" if it has no value, null if it is absent. */
export function param(request: S3Request, name: string): string | null {
  return request.query.find(([given]) => given === name)?.[1] ?? null;
}

/** Percent-decodes strictly: `+` stays a plus sign, and bytes that are not UTF-8 are refused. Throws InvalidURI. */
export function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw new S3Problem("InvalidURI");
  }
}

function readAddress(host: string, rawPath: string): { bucket: string; key: string } {
  const virtual = /^(.+)\.localhost(?::\d+)?$/i.exec(host)?.[1];
  const path = decode(rawPath.slice(1));
  if (virtual) return { bucket: virtual.toLowerCase(), key: path };
  const slash = path.indexOf("/");
  if (slash < 0) return { bucket: path, key: "" };
  return { bucket: path.slice(0, slash), key: path.slice(slash + 1) };
}
