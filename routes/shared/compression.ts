import { constants, gzipSync } from "node:zlib";

/** Smaller bodies gain little. */
const SMALLEST = 1024;
/** Larger bodies would hold up other requests, because they are compressed in one piece. */
const LARGEST = 4 * 1024 * 1024;
/** Level 4 is twice as fast as the usual 6, and its result a few per cent larger. */
const LEVEL = { level: 4, memLevel: constants.Z_DEFAULT_MEMLEVEL };

const COMPRESSIBLE = /^(text\/(?!event-stream)|application\/(?:[\w.-]+\+)?json|application\/javascript|image\/svg\+xml)/;

/** True if Accept-Encoding allows gzip. */
export function acceptsGzip(acceptEncoding: string | null): boolean {
  if (!acceptEncoding) return false;
  let wildcard = false;
  for (const part of acceptEncoding.split(",")) {
    const [coding = "", ...parameters] = part.trim().toLowerCase().split(/\s*;\s*/);
    const isRefused = parameters.some((parameter) => /^q=0(\.0*)?$/.test(parameter));
    if (coding === "gzip" || coding === "x-gzip") return !isRefused;
    if (coding === "*") wildcard = !isRefused;
  }
  return wildcard;
}

/** Can a body of this type and length be compressed? */
export const isCompressible = (contentType: string, length: number): boolean =>
  length > SMALLEST && length <= LARGEST && COMPRESSIBLE.test(contentType);

/** The body compressed. */
export const gzip = (body: string | Uint8Array): Uint8Array<ArrayBuffer> => new Uint8Array(gzipSync(body, LEVEL));
