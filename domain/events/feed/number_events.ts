import type { Clock } from "../../../infra/clock.ts";
import type { Sql } from "../../../infra/postgres/postgres.ts";
import { FIRST_ID, firstIdOf } from "../../shared/ids.ts";
import { runBatches } from "../../shared/batches.ts";

const BATCH = 5_000;
/** Age up to which events count as recent. */
export const RECENT_MS = 60_000;

/**
 * The first id of recent events. Usual searches for events without a number begin there, because a long transaction
 * anywhere keeps index entries of numbered events, and each search from the start would step over all of them.
 */
export const recentFrom = (clock: Clock): string => firstIdOf(new Date(clock.now().getTime() - RECENT_MS));

/** True if the id is so old that searches for recent events may miss its event. */
export const isOld = (clock: Clock, id: string): boolean =>
  id < firstIdOf(new Date(clock.now().getTime() - RECENT_MS / 2));

/**
 * Numbers committed events with an id from `firstId` on, in bounded steps. It never waits for a transaction that emits
 * events: events that commit later get later positions.
 */
export const numberEvents = (q: Sql, firstId = FIRST_ID): Promise<number> =>
  runBatches(BATCH, () => numberBatch(q, firstId, BATCH));

/** Numbers one batch of events. @returns the number of numbered events, less than `limit` if none are left */
export async function numberBatch(q: Sql, firstId: string, limit: number): Promise<number> {
  const [row] = await q<{ added: number }[]>`select number_events(${firstId}, ${limit}) as added`;
  return row?.added ?? 0;
}
