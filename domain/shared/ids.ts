import { v7 } from "uuid";
import { type Clock, systemClock } from "./clock.ts";

const ids = { clock: systemClock, ms: 0, sequence: 0 };

/** A new UUIDv7: ordered by time of making, so that primary keys stay local and `order by id` is order of creation. */
export function newId(): string {
  const now = ids.clock.now().getTime();
  if (now > ids.ms) {
    ids.ms = now;
    ids.sequence = crypto.getRandomValues(new Uint32Array(1))[0]! >>> 1; // leaves room to count up
  } else if (++ids.sequence > 0xffff_ffff) {
    ids.ms++;
    ids.sequence = 0;
  }
  return v7({ msecs: ids.ms, seq: ids.sequence });
}

/** The millisecond a UUIDv7 was made in. */
export const timeOfId = (id: string): Date => new Date(parseInt(id.slice(0, 8) + id.slice(9, 13), 16));

/**
 * Dates the ids of this process by `clock`, since lists go by the order of ids and jobs by the time in theirs. The one
 * thing all apps of a process share: whichever database's clock they follow, it is the time.
 */
export function dateIdsBy(clock: Clock): void {
  Object.assign(ids, { clock, ms: 0 });
}
