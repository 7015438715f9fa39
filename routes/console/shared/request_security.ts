import { PLAIN_HOST } from "../../../domain/oauth/clients/redirect_uris.ts";
import type { Config } from "../../../infra/config.ts";

/**
 * Security headers of every answer of the console, besides those of every answer of the service: only the console's own
 * scripts, styles and frames are allowed.
 * @param style the source of an inline style, see `styleSource`
 * @param formTarget a URL of another site to which the answer to a form of the page redirects the browser
 */
export function contentPolicy(config: Config, formTarget = "", style = ""): Record<string, string> {
  const policy = [
    "default-src 'none'",
    "script-src 'self'",
    `style-src 'self' ${style}`.trim(),
    "img-src 'self' data:",
    `connect-src 'self' ${uploadOrigin(config)}`.trim(),
    "frame-src 'self'",
    `form-action 'self' ${sourceOf(formTarget)}`.trim(),
    "base-uri 'self'",
    "frame-ancestors 'none'",
  ].join("; ");
  return {
    "content-security-policy": policy,
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
  };
}

/** The origin of a URL for the policy; its scheme if it has no origin, like that of a native app; "" if neither fits. */
function sourceOf(url: string): string {
  const parsed = URL.parse(url);
  if (!parsed) return "";
  if (parsed.origin === "null") return parsed.protocol;
  return PLAIN_HOST.test(parsed.hostname) ? parsed.origin : "";
}

/** Origin of signed upload URLs, for connect-src. With the bucket in the host name, a wildcard hides the bucket. */
function uploadOrigin({ S3_PUBLIC_ENDPOINT, S3_ENDPOINT, S3_PATH_STYLE }: Config): string {
  const endpoint = S3_PUBLIC_ENDPOINT ?? S3_ENDPOINT;
  if (!endpoint) return "";
  const { protocol, host, origin } = new URL(endpoint);
  return S3_PATH_STYLE ? origin : `${protocol}//*.${host}`;
}

/** True if a page of this service sent the form. The Strict session cookie and the form token are checked as well. */
export function isSameOrigin(request: Request, baseUrl: URL): boolean {
  const site = request.headers.get("sec-fetch-site");
  if (site) return site === "same-origin";
  const origin = request.headers.get("origin");
  if (!origin || !URL.canParse(origin)) return false;
  const { host } = new URL(origin);
  return host === baseUrl.host || host === request.headers.get("host");
}
