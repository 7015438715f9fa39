import { problem } from "../../domain/problems/problem.ts";
import type { ServicePlatform } from "../../domain/platform.ts";

const RETRY_AFTER_S = "2";

/**
 * Admits a request that needs a database connection. Without this check, requests would wait in memory until their time
 * limit while long work holds all connections.
 * @throws DATABASE_BUSY_UNAVAILABLE if earlier requests wait for seconds
 */
export function requireConnection({ connectionWait }: Pick<ServicePlatform, "connectionWait">): void {
  connectionWait.countArrival();
  if (!connectionWait.isTooLong) return;
  throw problem(
    "DATABASE_BUSY_UNAVAILABLE",
    "Earlier requests have been waiting for seconds for a database connection. This request was not tried.",
    { headers: { "retry-after": RETRY_AFTER_S } },
  );
}
