import { LockNotAvailable, type Tx } from "../../infra/postgres/postgres.ts";

/**
 * Does `work` for those items whose message no other transaction holds: one that is held for long, by an instance that
 * has frozen, must not hold up the others of its batch.
 * @returns in the given order; LockNotAvailable for those left out.
 */
export async function withUnlockedMessages<I, O>(
  tx: Tx,
  items: I[],
  idOf: (item: I) => string,
  work: (tx: Tx, items: I[]) => Promise<O[]>,
): Promise<(O | LockNotAvailable)[]> {
  const locked = await lockedElsewhere(tx, [...new Set(items.map(idOf))]);
  const free = items.filter((item) => !locked.has(idOf(item)));
  const results = free.length === 0 ? [] : await work(tx, free);
  const byItem = new Map(free.map((item, n) => [item, results[n] as O]));
  return items.map((item) =>
    byItem.has(item)
      ? byItem.get(item) as O
      : new LockNotAvailable(`another transaction holds the message ${idOf(item)}`)
  );
}

/** The outcome, or its LockNotAvailable thrown. */
export async function throwIfLocked<O>(outcome: Promise<O | LockNotAvailable>): Promise<O> {
  const result = await outcome;
  if (result instanceof LockNotAvailable) throw result;
  return result;
}

/** Locks messages, and names those that exist and are locked by other transactions. */
async function lockedElsewhere(tx: Tx, ids: string[]): Promise<Set<string>> {
  const free = await tx<{ id: string }[]>`
    select id from notifications where id = any(${ids}::uuid[]) order by id for no key update skip locked`;
  if (free.length === ids.length) return new Set();
  const isFree = new Set(free.map(({ id }) => id));
  const others = await tx<{ id: string }[]>`
    select id from notifications where id = any(${ids.filter((id) => !isFree.has(id))}::uuid[])`;
  return new Set(others.map(({ id }) => id));
}
