import type { Config } from "../../../infra/config.ts";

/** Headers of every page: nothing runs, loads or frames it that is not the console's own. */
export function contentPolicy(config: Config): Record<string, string> {
  const policy = [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self' data:",
    `connect-src 'self' ${uploadOrigin(config)}`.trim(),
    "frame-src 'self'",
    "form-action 'self'",
    "base-uri 'self'",
    "frame-ancestors 'none'",
  ].join("; ");
  return {
    "content-security-policy": policy,
    "cache-control": "no-store",
    "referrer-policy": "same-origin",
    "x-content-type-options": "nosniff",
    "cross-origin-opener-policy": "same-origin",
    ...config.PUBLIC_URL?.startsWith("https:") ? { "strict-transport-security": "max-age=31536000" } : {},
  };
}

/** Where signed upload URLs lead; a bucket in the host's name is not told. */
function uploadOrigin({ S3_PUBLIC_ENDPOINT, S3_ENDPOINT, S3_PATH_STYLE }: Config): string {
  const endpoint = S3_PUBLIC_ENDPOINT ?? S3_ENDPOINT;
  if (!endpoint) return "";
  const { protocol, host, origin } = new URL(endpoint);
  return S3_PATH_STYLE ? origin : `${protocol}//*.${host}`;
}

/** Was the form sent by a page of this service? The session's cookie is Strict besides, and the form carries a token. */
export function cameFromHere(request: Request, place: URL): boolean {
  const site = request.headers.get("sec-fetch-site");
  if (site) return site === "same-origin";
  const origin = request.headers.get("origin");
  if (!origin || !URL.canParse(origin)) return false;
  const { host } = new URL(origin);
  return host === place.host || host === request.headers.get("host");
}
