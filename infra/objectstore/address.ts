import type { Config } from "../config.ts";

/** A signed request, ready to be sent. */
export interface SignedRequest {
  url: URL;
  method: string;
  headers: Headers;
  body: Uint8Array<ArrayBuffer> | undefined;
}

/** Location and credentials of the bucket. The service calls `endpoint`. URLs are signed for `publicEndpoint`. */
export interface ObjectStoreConfig {
  endpoint: string;
  publicEndpoint: string;
  region: string;
  bucket: string;
  accessKey: string;
  secretKey: string;
  /** true: `endpoint/bucket/key`; false: `bucket.endpoint/key` (virtual-host). */
  pathStyle: boolean;
  /** Sends the signed requests, instead of fetch. */
  transport?: (request: SignedRequest, signal: AbortSignal) => Promise<Response>;
}

/** Percent-encodes everything except the unreserved characters of RFC 3986, as signature version 4 requires. */
export function encodeRfc3986(text: string): string {
  return encodeURIComponent(text)
    .replaceAll(/[!'()*]/g, (c) => "%" + c.charCodeAt(0).toString(16).toUpperCase());
}

/** A time in the format of signatures, in whole seconds. */
export const amzDate = (time: Date): string => time.toISOString().replaceAll(/[:-]|\.\d{3}/g, "");

/**
 * Returns the URL of an object at `endpoint`, path-style or virtual-host. The empty key means the bucket itself. A path
 * in the endpoint stays in front, for gateways below a path.
 */
export function objectUrl(
  endpoint: string,
  address: Pick<ObjectStoreConfig, "bucket" | "pathStyle">,
  key: string,
): URL {
  const url = new URL(endpoint);
  const encodedKey = key.split("/").map(encodeRfc3986).join("/");
  const base = url.pathname.replace(/\/+$/, "");
  if (!address.pathStyle) url.hostname = `${address.bucket}.${url.hostname}`;
  url.pathname = address.pathStyle ? `${base}/${address.bucket}/${encodedKey}` : `${base}/${encodedKey}`;
  return url;
}

/**
 * Throws TypeError for a key that an S3 client cannot address: empty, over 1024 bytes of UTF-8, with a lone surrogate,
 * or with a `.` or `..` segment (URL parsers resolve those, so the request would reach another object).
 */
export function assertKey(key: string): void {
  const bytes = new TextEncoder().encode(key).length;
  if (bytes < 1 || bytes > 1024) throw new TypeError(`object key: found ${bytes} bytes, expected 1 to 1024`);
  if (!key.isWellFormed()) {
    throw new TypeError("object key: found a lone surrogate, expected well-formed Unicode");
  }
  if (key.split("/").some((segment) => segment === "." || segment === "..")) {
    throw new TypeError("object key: found a segment '.' or '..', expected none");
  }
}

/** Throws TypeError for an invalid configuration. The message contains no values. */
export function assertConfig(config: ObjectStoreConfig): void {
  for (const name of ["endpoint", "publicEndpoint"] as const) {
    const url = URL.parse(config[name]);
    if (!url || !/^https?:$/.test(url.protocol) || url.search || url.hash || url.username || url.password) {
      throw new TypeError(
        `object store ${name}: expected an http(s) URL without credentials, query or fragment`,
      );
    }
  }
  if (!/^[A-Za-z0-9][A-Za-z0-9.-]{1,61}[A-Za-z0-9]$/.test(config.bucket) || config.bucket.includes("..")) {
    throw new TypeError("object store bucket: expected 3 to 63 letters, digits, dots and hyphens");
  }
  for (const name of ["region", "accessKey", "secretKey"] as const) {
    if (config[name] === "") throw new TypeError(`object store ${name}: found an empty value, expected one`);
  }
}

/** The object store's configuration, from the settings. */
export function objectStoreConfig(config: Config): ObjectStoreConfig {
  return {
    endpoint: config.S3_ENDPOINT ?? "",
    publicEndpoint: config.S3_PUBLIC_ENDPOINT ?? config.S3_ENDPOINT ?? "",
    region: config.S3_REGION,
    bucket: config.S3_BUCKET,
    accessKey: config.S3_ACCESS_KEY ?? "",
    secretKey: config.S3_SECRET_KEY ?? "",
    pathStyle: config.S3_PATH_STYLE,
  };
}
