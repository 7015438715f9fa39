import { createHash, createHmac } from "node:crypto";
import { amzDate, encodeRfc3986, type ObjectStoreConfig, objectUrl } from "./address.ts";

/** A request that a URL is signed for. */
export interface SignableRequest {
  method: "GET" | "PUT";
  key: string;
  /** Headers that the request must send with these values. */
  headers: Record<string, string>;
  query: Record<string, string>;
}

/** The header with the SHA-256 of the body. The store compares both. */
export const PAYLOAD_HEADER = "x-amz-content-sha256";

const hmac = (key: string | Uint8Array, text: string): Uint8Array =>
  createHmac("sha256", key).update(text).digest();

const byName = ([a]: readonly [string, string], [b]: readonly [string, string]) => a < b ? -1 : 1;

/**
 * Signs URLs for the public endpoint (AWS signature version 4 in the query). The service has two signers: this one for
 * URLs that others call, and aws4fetch for the requests that the service sends, with the signature in a header.
 *
 * The presigner of s3-lite-client cannot sign the size and type of an upload, signs a wrong path for keys with escaped
 * characters, and takes a dozen calls of asynchronous Web Crypto per URL: the service answered 1,979 download URLs per
 * second with it, and 7,238 with this synchronous signer (`deno task bench files-download-url`).
 */
export class QuerySigner {
  readonly #config: ObjectStoreConfig;
  /** The signing key of the last day: signatures of one day share it. */
  #dayKey: { scope: string; key: Uint8Array } | undefined;

  constructor(config: ObjectStoreConfig) {
    this.#config = config;
  }

  /** @param o.signedAt a whole second of the store's clock */
  sign(request: SignableRequest, o: { signedAt: Date; expiresInSeconds: number }): string {
    const { accessKey, publicEndpoint, region } = this.#config;
    const url = objectUrl(publicEndpoint, this.#config, request.key);
    const stamp = amzDate(o.signedAt);
    const scope = `${stamp.slice(0, 8)}/${region}/s3/aws4_request`;
    const headers = Object.entries({ ...request.headers, host: url.host })
      .map(([name, value]) => [name.toLowerCase(), value] as const)
      .sort(byName);
    const signedHeaders = headers.map(([name]) => name).join(";");
    const parameters = {
      ...request.query,
      "X-Amz-Algorithm": "AWS4-HMAC-SHA256",
      "X-Amz-Credential": `${accessKey}/${scope}`,
      "X-Amz-Date": stamp,
      "X-Amz-Expires": String(o.expiresInSeconds),
      "X-Amz-SignedHeaders": signedHeaders,
    };
    const query = Object.entries(parameters)
      .map(([name, value]) => [encodeRfc3986(name), encodeRfc3986(value)] as const)
      .sort(byName)
      .map(([name, value]) => `${name}=${value}`).join("&");
    const headerLines = headers.map(([name, value]) => `${name}:${value}\n`).join("");
    const payload = request.headers[PAYLOAD_HEADER] ?? "UNSIGNED-PAYLOAD";
    const canonical = [request.method, url.pathname, query, headerLines, signedHeaders, payload];
    const digest = createHash("sha256").update(canonical.join("\n")).digest("hex");
    const toSign = ["AWS4-HMAC-SHA256", stamp, scope, digest].join("\n");
    const signature = createHmac("sha256", this.#signingKey(scope)).update(toSign).digest("hex");
    return `${url.origin}${url.pathname}?${query}&X-Amz-Signature=${signature}`;
  }

  #signingKey(scope: string): Uint8Array {
    if (this.#dayKey?.scope === scope) return this.#dayKey.key;
    let key: string | Uint8Array = `AWS4${this.#config.secretKey}`;
    for (const part of scope.split("/")) key = hmac(key, part);
    this.#dayKey = { scope, key: key as Uint8Array };
    return this.#dayKey.key;
  }
}
