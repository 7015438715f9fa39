import { lookup } from "node:dns/promises";
import http from "node:http";
import https from "node:https";
import { isIP } from "node:net";
import { type AllowList, isPublicAddress, readAllowList } from "./addresses.ts";

const CONNECT_MS = 10_000;
/** Time limit of a whole exchange, redirects included. */
export const OUTBOUND_MS = 30_000;
const ANSWER_BYTES = 1024 * 1024;
const REDIRECTS = 5;
/** Headers that the connection sets. They are removed from a caller's headers. */
const CONNECTION_HEADERS = new Set([
  "host",
  "connection",
  "content-length",
  "transfer-encoding",
  "upgrade",
  "te",
  "trailer",
  "expect",
  "keep-alive",
  "proxy-authorization",
  "proxy-connection",
]);

export interface OutboundRequest {
  url: string;
  method?: string;
  headers?: Record<string, string>;
  body?: string | Uint8Array | null;
  signal?: AbortSignal;
}

export interface OutboundAnswer {
  status: number;
  /** Names are in lower case. Repeated headers are joined by commas. */
  headers: Record<string, string>;
  /** At most 1 MiB. */
  body: Uint8Array;
  /** The body was longer than 1 MiB; the rest was not read. */
  isTruncated: boolean;
}

/** The request is not allowed. A retry would be refused too. */
export class OutboundRefused extends Error {
  override name = "OutboundRefused";
}

/** HTTP requests to URLs that callers provide. */
export interface HttpOut {
  /**
   * Sends one request and returns its answer, with any status. Redirects are followed on the same host and port only;
   * any other is returned as the answer.
   * @throws OutboundRefused for a URL or address that is not allowed; Error if the exchange fails or takes too long
   */
  send(request: OutboundRequest): Promise<OutboundAnswer>;
}

type Address = { address: string; family: number };
type Resolve = (hostname: string) => Promise<Address[]>;

/**
 * Outbound HTTP with protection against SSRF: only http and https, and no private addresses unless `allow` has them. A
 * name is resolved once, and the connection goes to the address that was checked (no DNS rebinding). Limits: 10 s to
 * connect, 30 s in all, 1 MiB of answer.
 * @param o.ca a PEM certificate authority that replaces the default ones
 * @param o.resolve replaces DNS
 * @param o.connectMs, o.wholeMs replace the default time limits, in ms
 * @param o.followsRedirects false: every redirect is returned as the answer
 */
export function createHttpOut(
  o: {
    allow: string | null;
    ca?: string;
    resolve?: Resolve;
    connectMs?: number;
    wholeMs?: number;
    followsRedirects?: boolean;
  },
): HttpOut {
  const allow = readAllowList(o.allow);
  const resolve = o.resolve ?? ((hostname) => lookup(hostname, { all: true }));
  return {
    async send(request) {
      const deadline = AbortSignal.timeout(o.wholeMs ?? OUTBOUND_MS);
      const signal = request.signal ? AbortSignal.any([deadline, request.signal]) : deadline;
      let url = readUrl(request.url);
      let { method = "GET", body = null } = request;
      for (let hop = 0;; hop++) {
        const addresses = await allowedAddresses(url, allow, resolve, signal);
        const answer = await exchange(url, addresses, {
          method,
          body,
          headers: requestHeaders(request.headers ?? {}, body),
          signal,
          ca: o.ca,
          connectMs: o.connectMs ?? CONNECT_MS,
        });
        const next = redirectTarget(url, answer);
        if (!next || o.followsRedirects === false) return answer;
        if (hop === REDIRECTS) throw new Error(`${url.host} redirected more than ${REDIRECTS} times`);
        const keepsMethod = answer.status === 307 || answer.status === 308 || method === "HEAD";
        if (!keepsMethod) [method, body] = ["GET", null];
        url = next;
      }
    },
  };
}

function readUrl(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (!url || (url.protocol !== "http:" && url.protocol !== "https:")) {
    throw new OutboundRefused("the URL must begin with http:// or https://");
  }
  if (url.username || url.password) {
    throw new OutboundRefused("the URL contains credentials; send them as a header");
  }
  return url;
}

const portOf = (url: URL): number => Number(url.port) || (url.protocol === "https:" ? 443 : 80);
const bareHost = (url: URL): string => url.hostname.replace(/^\[|\]$/g, "");

/** Resolves the URL's host. @returns its allowed addresses, at least one. @throws OutboundRefused */
async function allowedAddresses(
  url: URL,
  allow: AllowList,
  resolve: Resolve,
  signal: AbortSignal,
): Promise<Address[]> {
  const host = bareHost(url);
  const literal = isIP(host);
  const all = literal ? [{ address: host, family: literal }] : await rejectOnAbort(resolve(host), signal);
  const allowed = all.filter(({ address }) =>
    isPublicAddress(address) || allow.allows(url.hostname, portOf(url), address)
  );
  if (allowed.length > 0) return allowed;
  throw new OutboundRefused(
    `${url.host} is a private, loopback or link-local address that is not in OUTBOUND_ALLOW`,
  );
}

function rejectOnAbort<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return Promise.race([
    work,
    new Promise<never>((_, reject) => {
      if (signal.aborted) reject(signal.reason);
      signal.addEventListener("abort", () => reject(signal.reason), { once: true });
    }),
  ]);
}

interface Exchange extends Required<Omit<OutboundRequest, "url">> {
  ca: string | undefined;
  connectMs: number;
}

/**
 * Sends one request over a new connection. It uses node's HTTP client, because fetch cannot use a given address for https:
 * `lookup` returns the checked addresses, while the certificate and the Host header are still checked for the name.
 */
function exchange(url: URL, addresses: Address[], o: Exchange): Promise<OutboundAnswer> {
  const isTls = url.protocol === "https:";
  return new Promise((resolve, reject) => {
    const request = (isTls ? https : http).request({
      host: bareHost(url),
      port: portOf(url),
      path: url.pathname + url.search,
      method: o.method,
      headers: { host: url.host, ...o.headers },
      agent: false,
      lookup: (_name: string, options: { all?: boolean }, done: (...answer: unknown[]) => void) =>
        options.all ? done(null, addresses) : done(null, addresses[0]?.address, addresses[0]?.family),
      ...(isTls && isIP(bareHost(url)) === 0 ? { servername: bareHost(url) } : {}),
      ...(o.ca ? { ca: o.ca } : {}),
    } as https.RequestOptions);
    const settle = (finish: () => void) => {
      clearTimeout(connecting);
      o.signal.removeEventListener("abort", abort);
      request.destroy();
      finish();
    };
    const fail = (error: unknown) => settle(() => reject(error));
    const abort = () => fail(new Error(`${url.host} did not answer in time`, { cause: o.signal.reason }));
    const connecting = setTimeout(
      () => fail(new Error(`could not connect to ${url.host} within ${o.connectMs} ms`)),
      o.connectMs,
    );
    o.signal.addEventListener("abort", abort, { once: true });
    request.on(
      "socket",
      (socket) => socket.once(isTls ? "secureConnect" : "connect", () => clearTimeout(connecting)),
    );
    request.on(
      "error",
      (error: Error) =>
        fail(new Error(`the request to ${url.host} failed: ${error.message}`, { cause: error })),
    );
    request.on("response", (response) => {
      readAnswer(response).then((answer) => settle(() => resolve(answer)), fail);
    });
    if (o.signal.aborted) return abort();
    request.end(o.body ?? undefined);
  });
}

async function readAnswer(response: http.IncomingMessage): Promise<OutboundAnswer> {
  const body = new Uint8Array(ANSWER_BYTES);
  let size = 0;
  let isTruncated = false;
  for await (const chunk of response as AsyncIterable<Uint8Array>) {
    const remaining = ANSWER_BYTES - size;
    body.set(chunk.subarray(0, remaining), size);
    size += Math.min(chunk.length, remaining);
    isTruncated = chunk.length > remaining;
    if (isTruncated) break;
  }
  const headers = Object.entries(response.headers).map((
    [name, value],
  ) => [name, [value ?? ""].flat().join(", ")]);
  return {
    status: response.statusCode ?? 0,
    headers: Object.fromEntries(headers),
    body: body.slice(0, size),
    isTruncated,
  };
}

/** The headers of a request: the caller's headers except CONNECTION_HEADERS, and user agent and content length. */
function requestHeaders(
  given: Record<string, string>,
  body: string | Uint8Array | null,
): Record<string, string> {
  const headers: Record<string, string> = { "user-agent": "steward" };
  for (const [name, value] of Object.entries(given)) {
    const lower = name.toLowerCase();
    if (!/^[!#$%&'*+.^_`|~0-9a-z-]+$/.test(lower) || /[^\t\x20-\x7e\x80-\xff]/.test(value)) {
      throw new OutboundRefused(`the header "${name}" is malformed`);
    }
    if (!CONNECTION_HEADERS.has(lower)) headers[lower] = value;
  }
  if (body !== null) {
    headers["content-length"] = String(
      typeof body === "string" ? new TextEncoder().encode(body).length : body.length,
    );
  }
  return headers;
}

/**
 * The target of a redirect to the same host and port; null for any other answer, also for a redirect from https to http.
 * Another port can belong to another program, which must not get the request's credentials. From http to https, both have
 * their default port.
 */
function redirectTarget(from: URL, { status, headers }: OutboundAnswer): URL | null {
  if (![301, 302, 303, 307, 308].includes(status) || !headers.location) return null;
  if (!URL.canParse(headers.location, from.href)) return null;
  const to = new URL(headers.location, from.href);
  const isSafe = to.protocol === "https:" || (to.protocol === "http:" && from.protocol === "http:");
  return isSafe && to.hostname === from.hostname && to.port === from.port && !to.username && !to.password
    ? to
    : null;
}
