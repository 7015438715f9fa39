import { GroupCommit } from "../../infra/postgres/group_commit.ts";
import { transactWithIndexPlans } from "../../infra/postgres/index_plans.ts";
import { mainPool, type Pool, type Sql } from "../../infra/postgres/postgres.ts";
import { type Hold, holdNotifications, type Settlement, settleNotifications } from "./delivery_ledger.ts";
import { withUnlockedMessages } from "./skip_locked.ts";

// The pause is short compared with the answer of a mail server, and larger batches save database work.
const LIMITS = { concurrency: 1, maxItems: 250, pauseMs: 20 };
const MAX_SETTLEMENTS_WEIGHT = 4_000_000;

function createBatches(db: Pool) {
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

const batchesOf = new WeakMap<Pool, ReturnType<typeof createBatches>>();

/** The batches of a database: delivery runs at the same time share the statements that hold and settle their messages. */
export function deliveryBatches(db: Sql): ReturnType<typeof createBatches> {
  const pool = mainPool(db);
  let batches = batchesOf.get(pool);
  if (!batches) batchesOf.set(pool, batches = createBatches(pool));
  return batches;
}
