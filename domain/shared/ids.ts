import { v7, validate, version } from "uuid";
import { z } from "zod";
import { type Clock, systemClock } from "../../infra/clock.ts";

const ids = { clock: systemClock, ms: 0, sequence: 0 };

/** Creates a UUIDv7. It sorts by creation time, so new rows are adjacent in indexes and `order by id` is creation order. */
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

/** True for a UUID of any version and variant, in upper or lower case, as `z.guid()` accepts it. */
export const isUuid = (text: string): boolean => z.regexes.guid.test(text);

/** True for a UUIDv7, as `newId` makes them. */
export const isTimeOrderedId = (text: string): boolean => validate(text) && version(text) === 7;

/** Sorts before all ids. A pass over a table begins here. */
export const FIRST_ID = "00000000-0000-0000-0000-000000000000";
/** Sorts after all ids. */
export const LAST_ID = "ffffffff-ffff-ffff-ffff-ffffffffffff";

/** Creation time of a UUIDv7, in milliseconds. */
export const timeOfId = (id: string): Date => new Date(parseInt(id.slice(0, 8) + id.slice(9, 13), 16));

/** The smallest UUIDv7 of a time, from 1970: ids made before it are smaller, ids made at or after it are not. */
export function firstIdOf(time: Date): string {
  const hex = Math.max(0, time.getTime()).toString(16).padStart(12, "0");
  return `${hex.slice(0, 8)}-${hex.slice(8)}-7000-8000-000000000000`;
}

/**
 * Sets the clock for new ids of this process, because lists are sorted by id and jobs use the time in their id. This is
 * the only state that all apps of a process share. That is safe, because their database clocks all show the real time.
 */
export function setIdClock(clock: Clock): void {
  Object.assign(ids, { clock, ms: 0 });
}
