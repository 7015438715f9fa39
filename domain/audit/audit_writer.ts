import { GroupCommit } from "../../infra/postgres/group_commit.ts";
import type { Sql } from "../../infra/postgres/postgres.ts";
import { sharedTransaction } from "../../infra/postgres/shared_transaction.ts";
import { type Actor, type AuditEntry, type AuditRow, writeAuditRows } from "./audit.ts";

/**
 * Writes audit rows of actions that change nothing in the database, such as issuing a download URL. Rows of many callers
 * share a commit. The audit row of a change belongs into the transaction of that change: see `recordAudit`.
 */
export class AuditWriter {
  readonly #rows: GroupCommit<AuditRow, AuditRow>;

  constructor(sql: Sql) {
    this.#rows = new GroupCommit(async (rows) => {
      await writeAuditRows(sharedTransaction() ?? sql, rows);
      return rows;
    });
  }

  /** Resolves when the row is committed. */
  async record(actor: Actor, entry: AuditEntry): Promise<void> {
    await this.#rows.write([{ actor, entry }]);
  }
}
