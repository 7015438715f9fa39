const FIRST = 15_000;
const LAST = 30_000;

/**
 * Returns a free loopback TCP port. It is below the range of ephemeral ports, so that no outgoing connection takes it
 * before the caller's program listens on it.
 */
export function freePort(): number {
  for (;;) {
    const port = FIRST + Math.floor(Math.random() * (LAST - FIRST));
    try {
      Deno.listen({ hostname: "127.0.0.1", port }).close();
      return port;
    } catch (error) {
      if (!(error instanceof Deno.errors.AddrInUse)) throw error;
    }
  }
}
