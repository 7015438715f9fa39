import { databaseFailure, LockNotAvailable } from "../../../infra/postgres/failures.ts";
import { GroupCommit } from "../../../infra/postgres/group_commit.ts";
import { type Pool, transact, type Tx } from "../../../infra/postgres/postgres.ts";
import { INDEX_PLANS } from "../../../infra/postgres/session_limits.ts";
import { type Hold, holdNotifications, type Settlement, settleNotifications } from "../delivery_ledger.ts";
import type { NotificationPlatform } from "../platform.ts";

// The pause is short compared with the answer of a mail server, and larger batches save database work.
const LIMITS = { concurrency: 1, maxItems: 250, pauseMs: 20 };
const MAX_SETTLEMENTS_WEIGHT = 4_000_000;
/** A join of few given rows with a table that was nearly empty when the plan was made must not read all of the table. */
const PLAN_SETTINGS = JSON.stringify({ ...INDEX_PLANS, enable_hashjoin: "off", enable_mergejoin: "off" });

/** Batches of an instance: delivery runs at the same time share the statements that hold and settle their messages. */
export function createDeliveryBatches(db: Pool) {
  const hold = (items: Hold[]) =>
    transactWithIndexPlans(db, (tx) => withUnlockedMessages(tx, items, ({ id }) => id, holdNotifications));
  const settle = (items: Settlement[]) =>
    transactWithIndexPlans(
      db,
      (tx) => withUnlockedMessages(tx, items, ({ held }) => held.id, settleNotifications),
    );
  return {
    holds: new GroupCommit(hold, LIMITS),
    settlements: new GroupCommit(settle, {
      ...LIMITS,
      maxWaiting: Infinity, // the mails are already sent, so no outcome is refused
      maxWeight: MAX_SETTLEMENTS_WEIGHT,
      weigh: ({ result: { rendition, outcomes } }) =>
        (rendition?.htmlBody?.length ?? 0) + (rendition?.textBody?.length ?? 0) + 200 * outcomes.length,
    }),
  };
}

export interface DeliveryPlatform extends NotificationPlatform {
  deliveryBatches: ReturnType<typeof createDeliveryBatches>;
}

/** Runs `work` in a transaction with generic plans, which use index scans and nested loops. */
async function transactWithIndexPlans<T>(db: Pool, work: (tx: Tx) => Promise<T>): Promise<T> {
  return await transact(db, async (tx) => {
    const set = tx`
      select set_config(name, value, true) from json_each_text(${PLAN_SETTINGS}::text::json) as settings (name, value)`
      .execute();
    // Both use one connection, so the settings are applied before the first statement of `work`.
    const [, result] = await Promise.all([set, work(tx)]);
    return result;
  });
}

/**
 * Locks the messages of a batch and runs `work` for the items whose message is not locked by another transaction. One
 * message that a frozen instance keeps locked therefore does not block the rest of the batch.
 * @returns in the given order; a LockNotAvailable for each item whose message is locked.
 */
async function withUnlockedMessages<I, O>(
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
