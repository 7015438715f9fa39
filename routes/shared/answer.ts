import { traceResponse } from "../../infra/telemetry/tracing.ts";
import { acceptsGzip, gzipped, isCompressible, varyOn } from "./compression.ts";
import type { Cors } from "./cors.ts";
import { contentTag, type Versioned } from "../../domain/shared/version.ts";

/** The answer of an endpoint. The body is JSON, text or bytes, a stream, or undefined for none. */
export interface Answer {
  status: number;
  headers: Record<string, string>;
  body: unknown;
  /** Further Set-Cookie headers. */
  setCookies?: string[];
  /** True if the answer is not stored for the Idempotency-Key, so that a repeat gets a new one. */
  isProvisional?: boolean;
}

/** 200 with a JSON body. */
export const ok = (body: unknown, headers: Record<string, string> = {}): Answer => ({
  status: 200,
  headers,
  body,
});

/** 200 with a JSON body and the ETag of the resource's version. */
export const okVersioned = (body: unknown, version: number): Answer => ok(body, { etag: etagOf(version) });

/** 200 with a resource and the ETag of its version. */
export const versionedAnswer = ({ value, version }: Versioned<unknown>): Answer =>
  okVersioned(value, version);

/** 200 with a JSON body without a version number. Its ETag is a hash of it. */
export const okTagged = (body: unknown): Answer => ok(body, { etag: contentTag(body) });

/** 200 without a body. */
export const okEmpty = (): Answer => ({ status: 200, headers: {}, body: undefined });

/** 200 without a body, after the work. */
export const okAfter = async (work: Promise<unknown>): Promise<Answer> => {
  await work;
  return okEmpty();
};

/** 201 with a JSON body and the path of the new resource as Location. */
export const created = (body: unknown, location: string): Answer => ({
  status: 201,
  headers: { location },
  body,
});

/** 201 with what the work made, which is found by its id below `path`. */
export async function createdIn(path: string, work: Promise<{ id: string }>): Promise<Answer> {
  const made = await work;
  return created(made, `${path}/${made.id}`);
}

/** 201 with a JSON body, the path of the new resource as Location, and the ETag of its version. */
export const createdVersioned = (body: unknown, location: string, version: number): Answer => ({
  status: 201,
  headers: { location, etag: etagOf(version) },
  body,
});

/** 202 with a JSON body and the path of the status as Location. */
export const accepted = (body: unknown, location: string): Answer => ({
  status: 202,
  headers: { location },
  body,
});

/** 202 without a body, after the work. */
export const acceptedAfter = async (work: Promise<unknown>): Promise<Answer> => {
  await work;
  return { status: 202, headers: {}, body: undefined };
};

/** 204. */
export const noContent = (): Answer => ({ status: 204, headers: {}, body: undefined });

/** 204, after the work. */
export const noContentAfter = async (work: Promise<unknown>): Promise<Answer> => {
  await work;
  return noContent();
};

/** 200 with a text of any content type. */
export const text = (body: string, contentType: string, headers: Record<string, string> = {}): Answer => ({
  status: 200,
  headers: { "content-type": contentType, ...headers },
  body,
});

/** A URL as the value of a header: all characters that are not visible ASCII are percent-encoded. */
export const headerUrl = (url: string): string =>
  url.toWellFormed().replaceAll(/[^\x21-\x7e]/gu, encodeURIComponent);

/** The strong ETag of a version number. */
const etagOf = (version: number): string => `"${version}"`;

/** The settings of the deployment that decide the common headers. */
export interface AnswerSettings {
  baseUrl: () => string;
  /** True if browsers must use TLS (Strict-Transport-Security). */
  isSecure: boolean;
  cors: Cors | null;
}

const encoder = new TextEncoder();
const HTML_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; " +
  "form-action 'none'; frame-ancestors 'none'";

/**
 * Headers of every answer.
 * @param isSecure true if browsers must use TLS for this host and all hosts below it
 */
export const commonHeaders = (isSecure: boolean): Record<string, string> => ({
  "cache-control": "no-store",
  "x-content-type-options": "nosniff",
  ...isSecure ? { "strict-transport-security": "max-age=31536000; includeSubDomains" } : {},
});

/**
 * Creates a response. With several headers in its constructor, the runtime would encode the body at once. That takes
 * longer than all else if the body is read or compressed in this process.
 */
export function responseOf(body: BodyInit | null, status: number, headers: Record<string, string>): Response {
  const response = new Response(body, { status });
  for (const [name, value] of Object.entries(headers)) response.headers.set(name, value);
  return response;
}

/** Adds the headers that the response does not have yet. */
export function addMissing(response: Response, headers: Record<string, string>): Response {
  for (const [name, value] of Object.entries(headers)) {
    if (!response.headers.has(name)) response.headers.set(name, value);
  }
  return response;
}

/** Creates a function that builds responses. The common headers are computed once. */
export function responder({ baseUrl, isSecure, cors }: AnswerSettings) {
  const common = commonHeaders(isSecure);
  // JSON is never rendered as a page. Each further header makes every answer about 10 % slower.
  const json = { ...common, "content-type": "application/json" };
  const data = { ...common, "content-security-policy": "default-src 'none'; frame-ancestors 'none'" };
  // Isolates the windows of pages. Other content has no opener policy, so that other sites can open sign-in in a popup.
  const html = {
    ...common,
    "content-security-policy": HTML_POLICY,
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
  };

  // The prefix is read with the first answer, because the URL is known only after the server has started to listen.
  let prefix: string | undefined;

  /** @param mayCompress false for answers with secrets, see `mayCompress` */
  return function respond(
    { status, headers, body, setCookies }: Answer,
    request: Request,
    traceId: string,
    more?: Record<string, string>,
    mayCompress = false,
  ): Response {
    const contentType = headers["content-type"];
    const isJson = body !== undefined && contentType === undefined;
    let payload = body === undefined ? null : isJson ? JSON.stringify(body) : body as BodyInit;
    const defaults = isJson ? json : contentType?.startsWith("text/html") ? html : data;
    const all: Record<string, string> = { ...defaults, ...headers, traceresponse: traceResponse(traceId) };
    if (more) Object.assign(all, more);
    if (cors) Object.assign(all, cors.headers(request));
    if (headers.location) {
      const isOwn = headers.location.startsWith("/");
      all.location = (isOwn ? prefix ??= basePath(baseUrl()) : "") + headerUrl(headers.location);
    }
    // A body with a strong ETag is not compressed, because the ETag identifies its exact bytes.
    const hasStrongEtag = all.etag !== undefined;
    if (
      mayCompress && !hasStrongEtag && typeof payload === "string" &&
      isCompressible(all["content-type"] ?? "", payload.length)
    ) {
      const isAccepted = acceptsGzip(request.headers.get("accept-encoding"));
      // Caches do not store other answers (`no-store`), so these need no Vary.
      if (isAccepted || headers["cache-control"]) all.vary = varyOn(all.vary);
      if (isAccepted) {
        all["content-encoding"] = "gzip";
        payload = gzipped(payload, request.method === "HEAD");
      }
    }
    if (request.method === "HEAD" && payload !== null) {
      if (typeof payload === "string") all["content-length"] = String(encoder.encode(payload).length);
      if (payload instanceof Uint8Array) all["content-length"] = String(payload.length);
      if (payload instanceof ReadableStream) payload.cancel(); // a HEAD answer has no body
      payload = null;
    }
    const response = responseOf(payload, status, all);
    for (const cookie of setCookies ?? []) response.headers.append("set-cookie", cookie);
    return response;
  };
}

export type Respond = ReturnType<typeof responder>;

/** The path of the public URL, without a slash at its end; "" for the root. */
export const basePath = (baseUrl: string | URL): string => new URL(baseUrl).pathname.replace(/\/+$/, "");
