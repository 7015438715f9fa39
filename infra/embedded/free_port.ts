const FIRST = 15_000;
const LAST = 30_000;

/**
 * A loopback TCP port that nothing listens on. It is below the range from which systems give out ports by themselves,
 * so no other socket takes it before the program it is for has bound it.
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
