import type { ObjectMeta } from "./object_file.ts";
import { param, S3Problem, type S3Request } from "./request.ts";

const STORED = ["cache-control", "content-disposition", "content-encoding", "content-language", "expires"];
const OVERRIDABLE = [...STORED, "content-type"];
const DEFAULT_TYPE = "binary/octet-stream";

/** The headers of a write that are stored with the object. */
export const storedHeaders = ({ headers }: S3Request): Record<string, string> => ({
  ...Object.fromEntries(STORED.flatMap((name) => headers.has(name) ? [[name, headers.get(name) ?? ""]] : [])),
  "content-type": headers.get("content-type") || DEFAULT_TYPE,
});

/**
 * The response headers of an object. `response-*` parameters replace the stored headers. They are covered by the
 * signature. Throws InvalidArgument for a value that a header cannot contain.
 */
export function answeredHeaders(request: S3Request, meta: ObjectMeta): Headers {
  const headers = new Headers(meta.headers);
  headers.set("etag", `"${meta.etag}"`);
  headers.set("last-modified", new Date(meta.lastModified).toUTCString());
  headers.set("accept-ranges", "bytes");
  for (const name of OVERRIDABLE) {
    const override = param(request, `response-${name}`);
    if (override === null) continue;
    if (/[^\t\x20-\xff]|\x7f/.test(override)) {
      throw new S3Problem("InvalidArgument", `response-${name} is not a header`);
    }
    headers.set(name, override);
  }
  return headers;
}
