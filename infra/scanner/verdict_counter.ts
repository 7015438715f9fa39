import type { Scanner } from "./scanner.ts";

/** Wraps the scanner: calls `count` with every verdict, and with `Unavailable` if a scan fails. */
export function countVerdicts(scanner: Scanner, count: (verdict: string) => void): Scanner {
  return {
    name: scanner.name,
    ...(scanner.notice === undefined ? {} : { notice: scanner.notice }),
    async scan(content, o) {
      try {
        const result = await scanner.scan(content, o);
        count(result.verdict);
        return result;
      } catch (error) {
        count("Unavailable");
        throw error;
      }
    },
    status: () => scanner.status(),
    close: () => scanner.close(),
  };
}
