import { S3Problem } from "./problem.ts";

const METHODS = "GET, HEAD, PUT, POST, DELETE";
const EXPOSED =
  "ETag, Content-Length, Content-Range, Content-Disposition, Accept-Ranges, Last-Modified, x-amz-request-id";

/** True if pages of `origin` may use the store: `origins` contains it or "*". */
function isAllowed(origins: readonly string[], origin: string): boolean {
  return origins.includes("*") || origins.includes(origin);
}

/** Answers a preflight request, which has no signature. Throws BadRequest, AccessForbidden. */
export function answerPreflight(origins: readonly string[], headers: Headers): Response {
  const origin = headers.get("origin");
  const method = headers.get("access-control-request-method");
  if (origin === null || method === null) {
    throw new S3Problem("BadRequest", "A preflight needs Origin and Access-Control-Request-Method");
  }
  if (!isAllowed(origins, origin) || !METHODS.split(", ").includes(method)) {
    throw new S3Problem("AccessForbidden");
  }
  const asked = headers.get("access-control-request-headers");
  return new Response(null, {
    headers: {
      "access-control-allow-methods": METHODS,
      ...(asked === null ? {} : { "access-control-allow-headers": asked }),
      "access-control-max-age": "600",
      "vary": "Access-Control-Request-Method, Access-Control-Request-Headers",
    },
  });
}

/** Adds the headers that let the requesting page read the answer, also an error. */
export function addCorsHeaders(origins: readonly string[], request: Headers, answer: Headers): void {
  const origin = request.get("origin");
  answer.append("vary", "Origin");
  if (origin === null || !isAllowed(origins, origin)) return;
  answer.set("access-control-allow-origin", origins.includes("*") ? "*" : origin);
  answer.set("access-control-expose-headers", EXPOSED);
}
