import { GroupCommit } from "../../infra/postgres/group_commit.ts";
import { isTransaction, type Pool, type Sql } from "../../infra/postgres/postgres.ts";
import { type Actor, type AuditEntry, type AuditRow, writeAuditRows } from "./audit.ts";

/**
 * Writes audit rows of actions that change nothing in the database, such as issuing a download URL. Rows of many callers
 * share a commit. The audit row of a change belongs into the transaction of that change: see `recordAudit`.
 */
export class AuditWriter {
  readonly #rows: GroupCommit<AuditRow, AuditRow>;

  constructor(pool: Pool) {
    this.#rows = new GroupCommit(async (rows) => {
      await writeAuditRows(pool, rows);
      return rows;
    });
  }

  /**
   * Resolves when the row is committed.
   * @param sql a transaction to write it in; a pool: its own commit, shared with concurrent calls
   */
  async record(q: Sql, actor: Actor, entry: AuditEntry): Promise<void> {
    if (isTransaction(q)) await writeAuditRows(q, [{ actor, entry }]);
    else await this.#rows.write([{ actor, entry }]);
  }
}
