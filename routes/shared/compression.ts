import { gzipSync } from "node:zlib";

/** Smaller bodies gain little. */
const SMALLEST = 1024;
/** Larger bodies are compressed piece by piece, so that they do not hold up other requests. */
const LARGEST_AT_ONCE = 128 * 1024;
/** Twice as fast as the usual level 6; the result is a few per cent larger. */
const LEVEL = 4;

const COMPRESSIBLE = /^(text\/(html|css|plain|javascript|csv)|application\/([\w.-]+\+)?json|image\/svg\+xml)/;

/** Answers of these areas contain tokens, beside what the request sent. Their length must not tell about them (BREACH). */
const SECRET_AREAS: ReadonlySet<string> = new Set(["Sign-in", "OpenID provider"]);
const SECRET_PATHS = /^\/(api\/v1\/)?(auth|oauth|\.well-known)(\/|$)/;

/** May answers of this operation be compressed? */
export const mayCompress = (
  { area, path, creates }: { area: string; path: string; creates?: string },
): boolean => creates !== "a secret" && !SECRET_AREAS.has(area) && !SECRET_PATHS.test(path);

/** Is a body of this type and length worth compressing? */
export const isCompressible = (contentType: string, length: number): boolean =>
  length > SMALLEST && COMPRESSIBLE.test(contentType);

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

/** A body compressed with gzip; a large one as a stream, unless its length is needed (`atOnce`). */
export function gzipped(
  body: string | Uint8Array<ArrayBuffer>,
  atOnce = false,
): Uint8Array<ArrayBuffer> | ReadableStream<Uint8Array<ArrayBuffer>> {
  if (atOnce || body.length <= LARGEST_AT_ONCE) return new Uint8Array(gzipSync(body, { level: LEVEL }));
  return new Blob([body]).stream().pipeThrough(new CompressionStream("gzip"));
}

/** The value of Vary for an answer that depends on Accept-Encoding. */
export const varyOn = (vary: string | null | undefined): string =>
  vary ? `${vary}, accept-encoding` : "accept-encoding";

/** A page or asset compressed, if it is worth it and the browser takes it. */
export async function compressedPage(response: Response, request: Request): Promise<Response> {
  const { headers, status } = response;
  const contentType = headers.get("content-type") ?? "";
  const isFor = response.body !== null && request.method === "GET" && !headers.has("content-encoding") &&
    COMPRESSIBLE.test(contentType) && !contentType.startsWith("text/csv");
  if (!isFor || !acceptsGzip(request.headers.get("accept-encoding"))) return response;
  const body = new Uint8Array(await response.arrayBuffer());
  if (!isCompressible(contentType, body.length)) return new Response(body, { status, headers });
  headers.set("vary", varyOn(headers.get("vary")));
  headers.set("content-encoding", "gzip");
  headers.delete("content-length");
  return new Response(gzipped(body), { status, headers });
}
