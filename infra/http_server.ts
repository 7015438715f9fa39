import type { Config } from "./config.ts";
import { waitAtMost } from "./timeout.ts";

/** A running HTTP server. */
export interface HttpServer {
  url: string;
  /**
   * Accepts no new requests and waits up to `graceMs` for running ones. Requests of stalled clients end with the
   * process.
   */
  stop(graceMs: number): Promise<void>;
}

/**
 * Serves HTTP on the configured address. `handle` receives the request and the client's address (see `clientAddress`).
 * @throws Error if the port is in use
 */
export function serveHttp(
  config: Pick<Config, "HOST" | "PORT" | "TRUSTED_PROXIES">,
  handle: (request: Request, address: string | null) => Response | Promise<Response>,
): HttpServer {
  const handler: Deno.ServeHandler = (request, info) => {
    const peer = "hostname" in info.remoteAddr ? info.remoteAddr.hostname : null;
    return handle(request, clientAddress(request.headers, peer, config.TRUSTED_PROXIES));
  };
  const { PORT: port, HOST: hostname } = config;
  let server: Deno.HttpServer<Deno.NetAddr>;
  try {
    server = Deno.serve({ port, hostname, onListen: () => {} }, handler);
  } catch (cause) {
    if (!(cause instanceof Deno.errors.AddrInUse)) throw cause;
    throw new Error(`port ${port} of ${hostname} is in use; set PORT to a free one`, { cause });
  }
  return {
    url: `http://${hostname}:${server.addr.port}`,
    async stop(graceMs) {
      // No abort signal is used: an abort during a shutdown throws an error that cannot be caught.
      await waitAtMost(graceMs, server.shutdown());
    },
  };
}

/**
 * Returns the client address of a request. Each trusted proxy appends the address of its client to X-Forwarded-For. So
 * the caller's address is the entry number `trustedProxies` from the end. Earlier entries are not trusted: the caller
 * can set them.
 */
export function clientAddress(headers: Headers, peer: string | null, trustedProxies: number): string | null {
  if (trustedProxies === 0) return peer;
  const forwarded = headers.get("x-forwarded-for")?.split(",").map((part) => part.trim()).filter(Boolean) ??
    [];
  return forwarded.at(-Math.min(trustedProxies, forwarded.length)) ?? peer;
}
