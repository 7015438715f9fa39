import { gzipSync } from "node:zlib";

/** Size in characters up to which bodies are not compressed, because they gain little. */
const MAX_UNCOMPRESSED = 1024;
/** Larger bodies are compressed in chunks, so that they do not block other requests. */
const MAX_AT_ONCE = 128 * 1024;
/** The gzip level. It is twice as fast as the usual level 6, and results are a few per cent larger. */
const LEVEL = 4;

const COMPRESSIBLE = /^(text\/(html|css|plain|javascript|csv)|application\/([\w.-]+\+)?json|image\/svg\+xml)/;

/**
 * Areas whose answers are not compressed. They contain tokens beside data of the request, and the compressed length would
 * reveal the tokens (BREACH).
 */
const SECRET_AREAS: ReadonlySet<string> = new Set(["Sign-in", "OpenID provider", "Delegations"]);
const SECRET_PATHS = /^\/(api\/v1\/)?(auth|oauth|\.well-known)(\/|$)/;

/** True if answers of this operation may be compressed. */
export const mayCompress = (
  { area, path, creates }: { area: string; path: string; creates?: string },
): boolean => creates !== "a secret" && !SECRET_AREAS.has(area) && !SECRET_PATHS.test(path);

/** True if a body of this type and length is worth compressing. */
export const isCompressible = (contentType: string, length: number): boolean =>
  length > MAX_UNCOMPRESSED && COMPRESSIBLE.test(contentType);

/** True if Accept-Encoding allows gzip. */
export function acceptsGzip(acceptEncoding: string | null): boolean {
  if (!acceptEncoding) return false;
  let anyCoding = false;
  for (const part of acceptEncoding.toLowerCase().split(",")) {
    const [coding = "", ...parameters] = part.split(";").map((text) => text.trim());
    const isAllowed = !parameters.some((parameter) => /^q=0(\.0*)?$/.test(parameter));
    if (coding === "gzip" || coding === "x-gzip") return isAllowed;
    if (coding === "*") anyCoding = isAllowed;
  }
  return anyCoding;
}

/** A body compressed with gzip. A large one is a stream. @param atOnce true: never a stream, because its length is needed */
export function gzipped(
  body: string | Uint8Array<ArrayBuffer>,
  atOnce = false,
): Uint8Array<ArrayBuffer> | ReadableStream<Uint8Array<ArrayBuffer>> {
  if (atOnce || body.length <= MAX_AT_ONCE) return new Uint8Array(gzipSync(body, { level: LEVEL }));
  return new Blob([body]).stream().pipeThrough(new CompressionStream("gzip"));
}

/** The value of Vary for an answer that depends on Accept-Encoding. */
export const varyOn = (vary: string | null | undefined): string =>
  vary ? `${vary}, accept-encoding` : "accept-encoding";

/** Compresses a page or asset if that saves enough and the browser accepts gzip; otherwise returns it unchanged. */
export async function compressedPage(response: Response, request: Request): Promise<Response> {
  const { headers, status } = response;
  const contentType = headers.get("content-type") ?? "";
  const isEligible = response.body !== null && request.method === "GET" && !headers.has("content-encoding") &&
    COMPRESSIBLE.test(contentType) && !contentType.startsWith("text/csv");
  if (!isEligible || !acceptsGzip(request.headers.get("accept-encoding"))) return response;
  const body = new Uint8Array(await response.arrayBuffer());
  if (!isCompressible(contentType, body.length)) return new Response(body, { status, headers });
  headers.set("vary", varyOn(headers.get("vary")));
  headers.set("content-encoding", "gzip");
  headers.delete("content-length");
  return new Response(gzipped(body), { status, headers });
}
