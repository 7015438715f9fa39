import { GroupCommit } from "../../../infra/postgres/group_commit.ts";
import { type Pool, transact, type Tx } from "../../../infra/postgres/postgres.ts";
import { INDEX_PLANS } from "../../../infra/postgres/session_limits.ts";
import { type Hold, holdNotifications, type Settlement, settleNotifications } from "../delivery_ledger.ts";
import type { NotificationPlatform } from "../platform.ts";
import { withUnlockedMessages } from "./skip_locked.ts";

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

/** Runs `work` in a transaction whose statements use index scans and nested loops, with plans that do not depend on their values. */
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
