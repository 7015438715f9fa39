import type { Scanner } from "./scanner.ts";

/** The scanner, telling of every verdict; `Unavailable` where the engine gave none. */
export function countedScanner(scanner: Scanner, tell: (verdict: string) => void): Scanner {
  return {
    name: scanner.name,
    ...(scanner.notice === undefined ? {} : { notice: scanner.notice }),
    async scan(content, o) {
      try {
        const result = await scanner.scan(content, o);
        tell(result.verdict);
        return result;
      } catch (error) {
        tell("Unavailable");
        throw error;
      }
    },
    status: () => scanner.status(),
    close: () => scanner.close(),
  };
}
