import { PLAIN_HOST } from "../../../domain/oauth/clients/redirect_uris.ts";
import { Problem, problem } from "../../../domain/problems/problem.ts";
import { requireStorableText } from "../../../domain/shared/storable.ts";
import type { Config } from "../../../infra/config.ts";
import { type BodyLimits, Call } from "../../shared/call.ts";

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

/** Size limit of a signed-in viewer's form. The largest form contains a permission import file. */
export const PAGE_FORM_BYTES = 12 * 1024 * 1024;
/** Size limit of the sign-in form. */
export const SIGN_IN_FORM_BYTES = 64 * 1024;

/**
 * Reads a submitted form. A body of another content type counts as an empty form.
 * @throws Problem if the body is too large, too slow or malformed.
 */
export async function readForm(
  { request, ip }: { request: Request; ip: string | null },
  limits: BodyLimits,
): Promise<FormData> {
  const type = request.headers.get("content-type") ?? "";
  const isForm = /^(application\/x-www-form-urlencoded|multipart\/form-data)\b/i.test(type);
  if (!isForm) return new FormData();
  const call = new Call(request, "", ip, limits);
  try {
    const bytes = await call.bytes();
    return storableForm(await new Response(bytes, { headers: { "content-type": type } }).formData());
  } catch (error) {
    if (error instanceof Problem) throw error;
    throw problem("VALIDATION_ERROR", `The form is malformed: ${(error as Error).message}`);
  } finally {
    call.releaseBody();
  }
}

/** The form, if the database can store its texts. @throws VALIDATION_ERROR */
export function storableForm(form: FormData): FormData {
  for (const [name, value] of form) requireStorableText([name, value], name);
  return form;
}

/** The address from which the OpenID provider sends users to the sign-in and to which it expects them back; relative to the console. */
export const PROVIDER_PAGE = "../oauth/authorize?";

/** The parameter of a client's request with the languages that it asks for. */
export const UI_LOCALES = "ui_locales";

/** The request of a client that `to` leads back to; null if `to` is no such address. */
export const clientRequestOf = (to: string | null): URLSearchParams | null =>
  to?.startsWith(PROVIDER_PAGE) && !/[#\\]/.test(to)
    ? new URLSearchParams(to.slice(PROVIDER_PAGE.length))
    : null;

/** `text` if it is the address of a page under /console; "" otherwise, so that a form cannot lead to another site. */
export const consoleAddress = (text: string): string => /^[\w-][\w/.:?&=%+-]*$/.test(text) ? text : "";
