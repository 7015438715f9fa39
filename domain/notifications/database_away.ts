import { databaseTrouble } from "../../infra/postgres/postgres.ts";

/** Pauses before each further try, some 30 s in all: a restart or a failover of the database takes less. */
const PAUSES_MS = [250, 500, 1_000, 2_000, 4_000, 8_000, 15_000];

/**
 * Does a write that must not be lost, once more after a pause while the database is away, full or busy: what a provider
 * took and nobody recorded goes out a second time. An earlier try may have been committed all the same, so `write` must
 * bear being done twice.
 */
export async function writeSurely<T>(write: () => Promise<T>): Promise<T> {
  for (const pauseMs of PAUSES_MS) {
    try {
      return await write();
    } catch (error) {
      if (!databaseTrouble(error)) throw error;
      await new Promise((resolve) => setTimeout(resolve, pauseMs));
    }
  }
  return await write();
}
