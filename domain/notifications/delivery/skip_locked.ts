import { LockNotAvailable } from "../../../infra/postgres/failures.ts";
import { type Tx } from "../../../infra/postgres/postgres.ts";

/**
 * Locks the messages of a batch and runs `work` for the items whose message is not locked by another transaction. One
 * message that a frozen instance keeps locked therefore does not block the rest of the batch.
 * @returns in the given order; a LockNotAvailable for each item whose message is locked.
 */
export async function withUnlockedMessages<I, O>(
  tx: Tx,
  items: I[],
  idOf: (item: I) => string,
  work: (tx: Tx, items: I[]) => Promise<O[]>,
): Promise<(O | LockNotAvailable)[]> {
  const locked = await lockMessages(tx, [...new Set(items.map(idOf))]);
  const free = items.filter((item) => !locked.has(idOf(item)));
  const results = free.length === 0 ? [] : await work(tx, free);
  const byItem = new Map(free.map((item, n) => [item, results[n] as O]));
  return items.map((item) =>
    byItem.has(item)
      ? byItem.get(item) as O
      : new LockNotAvailable(`another transaction has locked the message ${idOf(item)}`)
  );
}

/** Awaits a result of `withUnlockedMessages` and throws it if it is a LockNotAvailable. */
export async function throwIfLocked<O>(outcome: Promise<O | LockNotAvailable>): Promise<O> {
  const result = await outcome;
  if (result instanceof LockNotAvailable) throw result;
  return result;
}

/** Locks messages. @returns the ids of those that exist but are locked by another transaction. */
async function lockMessages(tx: Tx, ids: string[]): Promise<Set<string>> {
  const free = await tx<{ id: string }[]>`
    select id from notifications where id = any(${ids}::uuid[]) order by id for no key update skip locked`;
  if (free.length === ids.length) return new Set();
  const isFree = new Set(free.map(({ id }) => id));
  const others = await tx<{ id: string }[]>`
    select id from notifications where id = any(${ids.filter((id) => !isFree.has(id))}::uuid[])`;
  return new Set(others.map(({ id }) => id));
}
