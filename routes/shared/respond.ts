import type { Answer } from "./answer.ts";
import type { Cors } from "./cors.ts";
import { traceResponse } from "./trace.ts";

/** What answers carry besides their own headers, in this deployment. */
export interface AnswerSetting {
  baseUrl: () => string;
  /** Browsers are told to come back over TLS only. */
  isSecure: boolean;
  cors: Cors | null;
}

const encoder = new TextEncoder();
const HTML_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; " +
  "form-action 'none'; frame-ancestors 'none'";

/** Makes responses; the headers every answer has are put together once. */
export function responder({ baseUrl, isSecure, cors }: AnswerSetting) {
  const common = {
    "cache-control": "no-store",
    "x-content-type-options": "nosniff",
    ...isSecure ? { "strict-transport-security": "max-age=31536000" } : {},
  };
  // JSON is never shown as a page, and a header more than this slows every answer down by a tenth of its time.
  const json = { ...common, "content-type": "application/json" };
  const data = { ...common, "content-security-policy": "default-src 'none'; frame-ancestors 'none'" };
  // A page's window is its own. Data says nothing of windows: pages elsewhere may open sign-in in one of theirs.
  const html = {
    ...common,
    "content-security-policy": HTML_POLICY,
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
  };

  /** All headers are given at once: setting them one by one on a response is several times slower. */
  return function respond(
    { status, headers, body }: Answer,
    request: Request,
    traceId: string,
    more?: Record<string, string>,
  ): Response {
    const contentType = headers["content-type"];
    const isJson = body !== undefined && contentType === undefined;
    let payload = body === undefined ? null : isJson ? JSON.stringify(body) : body as BodyInit;
    const standing = isJson ? json : contentType?.startsWith("text/html") ? html : data;
    const all: Record<string, string> = { ...standing, ...headers, traceresponse: traceResponse(traceId) };
    if (more) Object.assign(all, more);
    if (cors) Object.assign(all, cors.headers(request));
    if (headers.location?.startsWith("/")) all.location = pathOf(baseUrl()) + headers.location;
    if (request.method === "HEAD" && payload !== null) {
      if (typeof payload === "string") all["content-length"] = String(encoder.encode(payload).length);
      if (payload instanceof ReadableStream) payload.cancel(); // nobody will read it
      payload = null;
    }
    return new Response(payload, { status, headers: all });
  };
}

export type Respond = ReturnType<typeof responder>;

/** The path a proxy in front serves the service under; "" where it is the root. */
export const pathOf = (baseUrl: string): string => new URL(baseUrl).pathname.replace(/\/+$/, "");
