const ALLOWED_METHODS = "GET, HEAD, POST, PUT, DELETE";
const ALLOWED_HEADERS =
  "authorization, content-type, idempotency-key, if-match, last-event-id, traceparent, " +
  "tracestate, x-tenant-id";
const EXPOSED_HEADERS = "content-disposition, etag, idempotency-replayed, location, ratelimit-limit, " +
  "ratelimit-remaining, ratelimit-reset, retry-after, steward-ignored-headers, steward-ignored-members, " +
  "steward-searched-from, traceresponse, www-authenticate";
const PREFLIGHT_SECONDS = "7200";

/**
 * Allows pages of other origins to call the service. Cookies are never allowed: the service reads the token from a
 * header that the page must set, so a page can act only with a token that it has.
 */
export class Cors {
  constructor(private readonly origins: "*" | readonly string[]) {}

  /** The answer to a preflight request, which has no token; null for other requests. */
  preflight({ method, headers }: Request): Response | null {
    if (method !== "OPTIONS" || !headers.has("origin") || !headers.has("access-control-request-method")) {
      return null;
    }
    const allowed = this.#allowed(headers.get("origin"));
    return new Response(null, {
      status: 204,
      headers: {
        vary: "origin, access-control-request-method, access-control-request-headers",
        ...allowed
          ? {
            "access-control-allow-origin": allowed,
            "access-control-allow-methods": ALLOWED_METHODS,
            "access-control-allow-headers": ALLOWED_HEADERS,
            "access-control-max-age": PREFLIGHT_SECONDS,
          }
          : {},
      },
    });
  }

  /** The headers of all other answers. */
  headers(request: Request): Record<string, string> {
    const allowed = this.#allowed(request.headers.get("origin"));
    return {
      ...this.origins === "*" ? {} : { vary: "origin" },
      ...allowed
        ? { "access-control-allow-origin": allowed, "access-control-expose-headers": EXPOSED_HEADERS }
        : {},
    };
  }

  #allowed(origin: string | null): string | null {
    if (origin === null) return null;
    if (this.origins === "*") return "*";
    return this.origins.includes(origin) ? origin : null;
  }
}
