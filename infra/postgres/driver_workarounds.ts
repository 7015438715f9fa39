// Workarounds for faults of postgres.js 3.4.9. Check them at every update of the driver: `lost_connection_test.ts` and
// `with_commit_test.ts` fail without them.
import type postgres from "postgres";
import { isConnectionLost } from "./failures.ts";
import type { PendingQuery, Tx } from "./sql_types.ts";

/** The connection of a transaction and its savepoints. */
export interface TransactionConnection {
  /** Set once the connection was lost: nothing may be sent in this transaction any more. */
  isLost: boolean;
}

/**
 * Waits for a transaction's work. Never settles if the connection is lost: the driver then rejects the transaction
 * itself. If `work` settled, the driver would send a rollback or a commit on the closed connection. That crashes the
 * process, or reaches the next transaction on a new connection. Remove this once
 * https://github.com/porsager/postgres/issues/1208 is fixed.
 */
export async function unlessLost<T>(connection: TransactionConnection, work: Promise<T>): Promise<T> {
  try {
    const outcome = await work;
    if (!connection.isLost) return outcome;
  } catch (error) {
    if (!connection.isLost && !isConnectionLost(error)) throw error;
  }
  return await new Promise<never>(() => {});
}

/** Wraps `tx`: after its connection is lost, queries send nothing and never settle, for the reason above. */
export function whileConnected(tx: Tx, connection: TransactionConnection): Tx {
  const never = () => new Promise<never>(() => {});
  const query = (...args: Parameters<Tx>) => connection.isLost ? never() : tx(...args);
  const unsafe = (...args: Parameters<Tx["unsafe"]>) => connection.isLost ? never() : tx.unsafe(...args);
  return Object.assign(query, tx, { unsafe }) as unknown as Tx;
}

/**
 * Disables the driver's retry for `statement`. The driver resends a prepared statement whose cached plan is invalid, and
 * sets `retried`. A resend would run outside of the transaction, after its rollback. So the statement fails instead.
 * Remove this once the driver does not resend statements inside transactions.
 */
export function sendOnce<R extends readonly postgres.MaybeRow[]>(statement: PendingQuery<R>): void {
  Object.defineProperty(statement, "retried", {
    set(this: { cancelled: unknown; reject(error: unknown): void }, error: unknown) {
      this.cancelled = {}; // the driver does not send a cancelled query
      this.reject(error);
    },
  });
}
