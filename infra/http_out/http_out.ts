import { lookup } from "node:dns/promises";
import http from "node:http";
import https from "node:https";
import { isIP } from "node:net";
import { type AllowList, isPublicAddress, readAllowList } from "./addresses.ts";

const CONNECT_MS = 10_000;
/** A whole exchange takes at most so long. */
export const OUTBOUND_MS = 30_000;
const ANSWER_BYTES = 1024 * 1024;
const REDIRECTS = 5;
/** Headers the connection owns; a caller's own are left out. */
const OWNED = new Set([
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
  /** Lower-case names; repeated ones joined by a comma. */
  headers: Record<string, string>;
  /** At most 1 MiB. */
  body: Uint8Array;
  /** There was more than that. */
  isTruncated: boolean;
}

/** The request must not be made as it is; trying again will not help. */
export class OutboundRefused extends Error {
  override name = "OutboundRefused";
}

/** HTTP to addresses that callers name. */
export interface HttpOut {
  /**
   * Sends one request and reads its answer, whatever its status. Redirects are followed on the same host only; one to
   * another host is itself the answer.
   * @throws OutboundRefused for a URL or address that may not be reached; Error when the exchange fails or takes too long.
   */
  send(request: OutboundRequest): Promise<OutboundAnswer>;
}

type Address = { address: string; family: number };
type Resolve = (hostname: string) => Promise<Address[]>;

/**
 * Safe outbound HTTP: http and https only, names resolved once and the connection made to the very address that was
 * judged, private addresses refused unless `allow` names them, 10 s to connect, 30 s in all, 1 MiB of answer read.
 * @param o.ca an authority trusted instead of the usual ones. @param o.resolve replaces DNS.
 * @param o.followsRedirects false: a redirect is itself the answer, also on the same host.
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
        const addresses = await judged(url, allow, resolve, signal);
        const answer = await exchange(url, addresses, {
          method,
          body,
          headers: ownHeaders(request.headers ?? {}, body),
          signal,
          ca: o.ca,
          connectMs: o.connectMs ?? CONNECT_MS,
        });
        const next = redirectTarget(url, answer);
        if (!next || o.followsRedirects === false) return answer;
        if (hop === REDIRECTS) throw new Error(`${url.host} redirected more than ${REDIRECTS} times`);
        const isKept = answer.status === 307 || answer.status === 308 || method === "HEAD";
        if (!isKept) [method, body] = ["GET", null];
        url = next;
      }
    },
  };
}

function readUrl(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (!url || (url.protocol !== "http:" && url.protocol !== "https:")) {
    throw new OutboundRefused("the URL is none that begins with http:// or https://");
  }
  if (url.username || url.password) {
    throw new OutboundRefused("the URL carries credentials; send them as a header");
  }
  return url;
}

const portOf = (url: URL): number => Number(url.port) || (url.protocol === "https:" ? 443 : 80);
const bareHost = (url: URL): string => url.hostname.replace(/^\[|\]$/g, "");

/** The addresses of the URL's host that may be reached. */
async function judged(url: URL, allow: AllowList, resolve: Resolve, signal: AbortSignal): Promise<Address[]> {
  const host = bareHost(url);
  const literal = isIP(host);
  const all = literal ? [{ address: host, family: literal }] : await unlessAborted(resolve(host), signal);
  const reachable = all.filter(({ address }) =>
    isPublicAddress(address) || allow.allows(url.hostname, portOf(url), address)
  );
  if (reachable.length > 0) return reachable;
  throw new OutboundRefused(
    `${url.host} is a private, loopback or link-local address, which OUTBOUND_ALLOW does not name`,
  );
}

function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return Promise.race([
    work,
    new Promise<never>((_, reject) => {
      if (signal.aborted) reject(signal.reason);
      signal.addEventListener("abort", () => reject(signal.reason), { once: true });
    }),
  ]);
}

interface Exchange {
  method: string;
  headers: Record<string, string>;
  body: string | Uint8Array | null;
  signal: AbortSignal;
  ca: string | undefined;
  connectMs: number;
}

/**
 * One request over a connection of its own. fetch cannot be told which address to use for https, so this is node's
 * client: its `lookup` answers the judged addresses, while certificate and Host stay those of the name.
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
      () => fail(new Error(`${url.host} could not be connected to within ${o.connectMs} ms`)),
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
        fail(new Error(`the exchange with ${url.host} failed: ${error.message}`, { cause: error })),
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
    const room = ANSWER_BYTES - size;
    body.set(chunk.subarray(0, room), size);
    size += Math.min(chunk.length, room);
    isTruncated = chunk.length > room;
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

function ownHeaders(given: Record<string, string>, body: string | Uint8Array | null): Record<string, string> {
  const headers: Record<string, string> = { "user-agent": "steward" };
  for (const [name, value] of Object.entries(given)) {
    const lower = name.toLowerCase();
    if (!/^[!#$%&'*+.^_`|~0-9a-z-]+$/.test(lower) || /[^\t\x20-\x7e\x80-\xff]/.test(value)) {
      throw new OutboundRefused(`the header "${name}" is malformed`);
    }
    if (!OWNED.has(lower)) headers[lower] = value;
  }
  if (body !== null) {
    headers["content-length"] = String(
      typeof body === "string" ? new TextEncoder().encode(body).length : body.length,
    );
  }
  return headers;
}

/** Where a redirect on the same host leads; null for anything else. A step down from https is not followed. */
function redirectTarget(from: URL, { status, headers }: OutboundAnswer): URL | null {
  if (![301, 302, 303, 307, 308].includes(status) || !headers.location) return null;
  if (!URL.canParse(headers.location, from.href)) return null;
  const to = new URL(headers.location, from.href);
  const isSafe = to.protocol === "https:" || (to.protocol === "http:" && from.protocol === "http:");
  return isSafe && to.hostname === from.hostname && !to.username && !to.password ? to : null;
}
