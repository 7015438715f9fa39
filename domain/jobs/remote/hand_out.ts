import type { DueLane } from "../engine/due_lanes.ts";

/** A waiting poll, which takes at most `max` jobs. */
export interface Taker {
  max: number;
}

/** The nth due job of a lane goes to a taker. */
export interface Slot<T> {
  lane: string;
  n: number;
  taker: T;
}

/**
 * Distributes due jobs. The lanes take turns, so that no tenant blocks another, and so do the takers: a few jobs are
 * spread over many takers.
 * @param takersOf the takers that can take jobs of the lane, the longest waiting first
 * @param maxSlots maximum number of jobs
 */
export function handOut<T extends Taker, L extends DueLane>(
  lanes: readonly L[],
  takersOf: (lane: L) => readonly T[],
  maxSlots: number,
): Slot<T>[] {
  const slots: Slot<T>[] = [];
  const given = new Map<T, number>();
  const open = lanes.map((lane) => ({ lane, n: 0, next: 0, takers: takersOf(lane) }));
  const nextTaker = (line: typeof open[number]): T | undefined => {
    for (let tried = 0; tried < line.takers.length; tried++) {
      const taker = line.takers[line.next++ % line.takers.length];
      if (taker && (given.get(taker) ?? 0) < taker.max) return taker;
    }
    return undefined;
  };
  for (let inTurn = open; inTurn.length > 0;) {
    const following: typeof open = [];
    for (const line of inTurn) {
      const { lane, depth, room } = line.lane;
      const taker = line.n < depth && (!room || room.left > 0) ? nextTaker(line) : undefined;
      if (!taker) continue;
      if (room) room.left--;
      slots.push({ lane, n: ++line.n, taker });
      if (slots.length === maxSlots) return slots;
      given.set(taker, (given.get(taker) ?? 0) + 1);
      following.push(line);
    }
    inTurn = following;
  }
  return slots;
}
