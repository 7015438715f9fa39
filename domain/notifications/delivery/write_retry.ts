import { databaseFailure } from "../../../infra/postgres/failures.ts";

/** Pauses before the retries, 30 s in all. A restart or a failover of the database usually takes less. */
const PAUSES_MS = [250, 500, 1_000, 2_000, 4_000, 8_000, 15_000];

/**
 * Runs a write and retries it while the database is unreachable, full or busy. It is for delivery outcomes: if the
 * outcome of a sent message is lost, the message is sent again. `write` must be idempotent, because a failed try may
 * have been committed.
 */
export async function writeWithRetry<T>(write: () => Promise<T>): Promise<T> {
  for (const pauseMs of PAUSES_MS) {
    try {
      return await write();
    } catch (error) {
      if (!databaseFailure(error)) throw error;
      await new Promise((resolve) => setTimeout(resolve, pauseMs));
    }
  }
  return await write();
}
