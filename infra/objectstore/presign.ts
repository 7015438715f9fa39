import { DAY_MS } from "../clock.ts";
import { createHash, createHmac } from "node:crypto";
import { amzDate, assertKey, encodeRfc3986, type ObjectStoreConfig, objectUrl } from "./address.ts";
import type { StoreClock } from "./store_clock.ts";

export interface SignedUrl {
  url: string;
  expiresAt: Date;
}

/** A signed PUT URL. The uploader must send `requiredHeaders` exactly. */
export interface SignedUpload extends SignedUrl {
  requiredHeaders: Record<string, string>;
}

/** The signer of URLs, and the clock by which their validity is measured. */
interface Signing {
  signer: QuerySigner;
  clock: StoreClock;
}

/** The validity of a signed URL. */
export interface Validity {
  expiresInSeconds: number;
}

/**
 * Signs a PUT URL that accepts only a body of exactly `sizeBytes` with exactly `contentType`. Both headers are part of
 * the signature, so the store refuses others. Throws TypeError for a type or size that a header cannot contain.
 */
export function presignUpload(
  signing: Signing,
  key: string,
  o: Validity & { contentType: string; sizeBytes: number },
): SignedUpload {
  if (!Number.isSafeInteger(o.sizeBytes) || o.sizeBytes < 0) {
    throw new TypeError(`sizeBytes: found ${o.sizeBytes}, expected a whole number from 0`);
  }
  if (!/^[\x21-\x7e]+( [\x21-\x7e]+)*$/.test(o.contentType)) {
    throw new TypeError("contentType: expected printable ASCII without leading, trailing or double spaces");
  }
  const headers = { "Content-Type": o.contentType, "Content-Length": String(o.sizeBytes) };
  return { ...presign(signing, { method: "PUT", key, headers, query: {} }, o), requiredHeaders: headers };
}

/**
 * Signs a PUT URL for one part of a multipart upload. It accepts only a body of exactly `sizeBytes`, and with `sha256` (in
 * hexadecimal digits) only the body with this checksum.
 */
export function presignPart(
  signing: Signing,
  key: string,
  o: Validity & { uploadId: string; partNumber: number; sizeBytes: number; sha256?: string },
): SignedUpload {
  const headers: Record<string, string> = { "Content-Length": String(o.sizeBytes) };
  if (o.sha256 !== undefined) headers[PAYLOAD_HEADER] = o.sha256;
  const query = { partNumber: String(o.partNumber), uploadId: o.uploadId };
  return { ...presign(signing, { method: "PUT", key, headers, query }, o), requiredHeaders: headers };
}

/**
 * Signs a GET URL. Browsers save its content as a file named `fileName` and never display it, whatever type the object
 * was stored with.
 */
export function presignDownload(
  signing: Signing,
  key: string,
  o: Validity & { fileName: string },
): SignedUrl {
  const query = {
    "response-content-disposition": attachment(o.fileName),
    "response-content-type": "application/octet-stream",
  };
  return presign(signing, { method: "GET", key, headers: {}, query }, o);
}

/**
 * Signs a GET URL whose content browsers show, with this type, and keep for a day. The URL is the same all day (UTC). Only for
 * content that the service has encoded itself.
 */
export function presignInline(
  signing: Signing,
  key: string,
  o: Validity & { contentType: string },
): SignedUrl {
  const query = {
    "response-cache-control": "private, max-age=86400, immutable",
    "response-content-disposition": "inline",
    "response-content-type": o.contentType,
  };
  return presign(signing, { method: "GET", key, headers: {}, query }, o, DAY_MS);
}

/** @param stepMs URLs that are signed within one step of this length have the same validity */
function presign(
  { signer, clock }: Signing,
  request: SignableRequest,
  { expiresInSeconds }: Validity,
  stepMs = 1_000, // the format has whole seconds
): SignedUrl {
  assertKey(request.key);
  if (!Number.isInteger(expiresInSeconds) || expiresInSeconds < 1 || expiresInSeconds > 604_800) {
    throw new TypeError(
      `expiresInSeconds: found ${expiresInSeconds}, expected a whole number from 1 to 604800`,
    );
  }
  const signedAt = new Date(Math.floor(clock.now().getTime() / stepMs) * stepMs);
  const url = signer.sign(request, { signedAt, expiresInSeconds });
  return { url, expiresAt: clock.toService(new Date(signedAt.getTime() + expiresInSeconds * 1000)) };
}

/** Maximum length of the file name, in bytes of UTF-8: what common file systems accept. */
const MAX_NAME_BYTES = 255;

// C0 and C1 controls, DEL, line and paragraph separators, and the marks that reorder or hide text (with them
// "invoice<RLO>fdp.exe" reads as "invoiceexe.pdf").
const UNSAFE =
  /[\p{Cc}\u00AD\u034F\u061C\u180E\u200B\u200E\u200F\u2028-\u202E\u2060-\u206F\uFEFF\uFFF9-\uFFFB]/gu;

/**
 * A Content-Disposition value that makes browsers save the answer as `fileName`: an ASCII `filename` for old browsers
 * and the exact name in `filename*` (RFC 6266, RFC 8187). The result is always printable ASCII. Control characters, path
 * separators and marks that reorder text are removed. Long names are cut before the extension.
 */
export function attachment(fileName: string): string {
  const name = safeFileName(fileName);
  const fallback = name.replaceAll(/[^\x20-\x7e]+/g, "_").replaceAll(/["%\\]/g, "_");
  return `attachment; filename="${fallback}"; filename*=UTF-8''${encodeRfc3986(name)}`;
}

function safeFileName(fileName: string): string {
  const cleaned = fileName.toWellFormed().replaceAll(UNSAFE, "").replaceAll(/[/\\]/g, "_").trim();
  const name = cutBeforeExtension(cleaned).replace(/[. ]+$/, "");
  return name === "" ? "download" : name;
}

function cutBeforeExtension(name: string): string {
  const size = (text: string) => new TextEncoder().encode(text).length;
  if (size(name) <= MAX_NAME_BYTES) return name;
  const extension = /\.[\p{L}\p{N}]{1,10}$/u.exec(name)?.[0] ?? "";
  let room = MAX_NAME_BYTES - size(extension);
  let kept = "";
  const graphemes = new Intl.Segmenter("und", { granularity: "grapheme" });
  for (const { segment } of graphemes.segment(name.slice(0, name.length - extension.length))) {
    room -= size(segment);
    if (room < 0) break;
    kept += segment;
  }
  return (kept || "download") + extension;
}

/** A request that a URL is signed for. */
interface SignableRequest {
  method: "GET" | "PUT";
  key: string;
  /** Headers that the request must send with these values. */
  headers: Record<string, string>;
  query: Record<string, string>;
}

/** The header with the SHA-256 of the body. The store compares both. */
const PAYLOAD_HEADER = "x-amz-content-sha256";

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
