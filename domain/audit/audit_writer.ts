import { GroupCommit } from "../../infra/postgres/group_commit.ts";
import type { Sql } from "../../infra/postgres/postgres.ts";
import { sharedTransaction } from "../../infra/postgres/shared_transaction.ts";
import { type Actor, type AuditEntry, type AuditRow, writeAuditRows } from "./audit.ts";

/**
 * Writes audit rows that stand for themselves, where nothing is changed and only the deed is told (a download URL given).
 * Many callers share a commit. What is told of a change goes into the change's transaction: see `recordAudit`.
 */
export class AuditWriter {
  readonly #rows: GroupCommit<AuditRow, AuditRow>;

  constructor(sql: Sql) {
    this.#rows = new GroupCommit(async (rows) => {
      await writeAuditRows(sharedTransaction() ?? sql, rows);
      return rows;
    });
  }

  /** Resolves once the row is on the disk. */
  async record(actor: Actor, entry: AuditEntry): Promise<void> {
    await this.#rows.write([{ actor, entry }]);
  }
}
