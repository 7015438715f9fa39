import { createHash, createHmac } from "node:crypto";
import { amzDate, encodeRfc3986 } from "../../../infra/objectstore/address.ts";

/** A request to sign into its URL. */
export interface QuerySigning {
  method: "GET" | "PUT";
  /** Without a query string. */
  url: URL;
  /** Headers that the request must send with these values. */
  headers: Record<string, string>;
  query: Record<string, string>;
  expiresInSeconds: number;
  /** A whole second. */
  signedAt: Date;
  region: string;
  accessKey: string;
  secretKey: string;
}

/** Signs a request by AWS signature version 4 in the query, following the specification and without any library. */
export function signQuery(o: QuerySigning): string {
  const stamp = amzDate(o.signedAt);
  const scope = `${stamp.slice(0, 8)}/${o.region}/s3/aws4_request`;
  const headers = Object.entries({ ...o.headers, host: o.url.host })
    .map(([name, value]) => [name.toLowerCase(), value.trim()] as const)
    .sort(([a], [b]) => a < b ? -1 : 1);
  const signedHeaders = headers.map(([name]) => name).join(";");
  const query = Object.entries({
    ...o.query,
    "X-Amz-Algorithm": "AWS4-HMAC-SHA256",
    "X-Amz-Credential": `${o.accessKey}/${scope}`,
    "X-Amz-Date": stamp,
    "X-Amz-Expires": String(o.expiresInSeconds),
    "X-Amz-SignedHeaders": signedHeaders,
  })
    .map(([name, value]) => [encodeRfc3986(name), encodeRfc3986(value)] as const)
    .sort(([a], [b]) => a < b ? -1 : 1)
    .map(([name, value]) => `${name}=${value}`).join("&");
  const canonical = [
    o.method,
    o.url.pathname,
    query,
    ...headers.map(([name, value]) => `${name}:${value}`),
    "",
    signedHeaders,
    "UNSIGNED-PAYLOAD",
  ].join("\n");
  const toSign = ["AWS4-HMAC-SHA256", stamp, scope, createHash("sha256").update(canonical).digest("hex")];
  const signature = hmac(signingKey(o.secretKey, scope), toSign.join("\n")).toString("hex");
  return `${o.url.origin}${o.url.pathname}?${query}&X-Amz-Signature=${signature}`;
}

const hmac = (key: string | Uint8Array, text: string) => createHmac("sha256", key).update(text).digest();

let lastKey: { of: string; key: Uint8Array } | undefined;

/** The signing key of a day, region and service; the last one is cached. */
function signingKey(secretKey: string, scope: string): Uint8Array {
  const of = `${secretKey}/${scope}`;
  if (lastKey?.of !== of) {
    const key = scope.split("/").reduce<string | Uint8Array>(
      (key, part) => hmac(key, part),
      `AWS4${secretKey}`,
    );
    lastKey = { of, key: key as Uint8Array };
  }
  return lastKey.key;
}
