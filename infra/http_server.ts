import { clientAddress } from "./client_address.ts";
import type { Config } from "./config.ts";

/** A server that takes requests. */
export interface HttpServer {
  url: string;
  /** Stops taking requests and waits up to `graceMs` for running ones. A slow client does not hold it up longer. */
  stop(graceMs: number): Promise<void>;
}

/**
 * Serves HTTP on the configured address. `handle` receives the address the request comes from, seen past trusted proxies.
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
      // Not by an abort signal: aborting during a shutdown throws an error that nothing can catch.
      const graceOver = Promise.withResolvers<void>();
      const timer = setTimeout(graceOver.resolve, graceMs);
      await Promise.race([server.shutdown(), graceOver.promise]);
      clearTimeout(timer);
    },
  };
}
