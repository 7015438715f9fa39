import { type Sql, transact } from "../../../infra/postgres/postgres.ts";
import type { Platform } from "../../shared/platform.ts";
import type { Execution } from "../execution.ts";
import { STATUS } from "../formats.ts";
import type { DeliveryMethod } from "./options.ts";

/** An open delivery: one recipient who has not yet received the document. */
export interface OwedDelivery {
  id: string;
  method: DeliveryMethod;
  recipient: string;
  notificationId: string | null;
  attempts: number;
}

/**
 * The result of an attempt: delivered, failed for good, or still open. `isAway`: the recipient's server does not
 * answer.
 */
export type Outcome =
  | { status: "Delivered" }
  | { status: "Failed"; reason: string }
  | { status: "Owed"; reason: string; isAway?: true };

/** A Completed execution that `jobId` may deliver; null if it was deleted, has ended or has a newer delivery job. */
export async function readDeliverable(
  q: Sql,
  id: string,
  jobId: string,
): Promise<(Execution & { storedFileId: string }) | null> {
  const [execution] = await q<(Execution & { storedFileId: string })[]>`
    select * from report_executions
    where id = ${id} and status = ${STATUS.Completed} and deleted_at is null and delivery_job_id = ${jobId}`;
  return execution ?? null;
}

export async function listOwed(q: Sql, executionId: string): Promise<OwedDelivery[]> {
  return await q<OwedDelivery[]>`
    select id, method, recipient, notification_id, attempts from report_deliveries
    where execution_id = ${executionId} and status = 'Owed' order by id`;
}

/** Records the result of an attempt on an open (`Owed`) delivery. */
export async function recordOutcome(q: Sql, deliveryId: string, outcome: Outcome): Promise<void> {
  const reason = outcome.status === "Delivered" ? null : outcome.reason;
  await q`update report_deliveries set status = ${outcome.status}, error_message = ${reason},
      attempts = attempts + 1, updated_at = now()
    where id = ${deliveryId} and status = 'Owed'`;
}

/**
 * When no delivery is open: Completed → Delivered; if deliveries failed, the execution stays Completed with an error
 * message.
 * @returns how many deliveries are still open
 */
export async function finishDelivery(p: Pick<Platform, "sql">, executionId: string): Promise<number> {
  return await transact(p.sql, async (tx) => {
    const [execution] = await tx`select from report_executions
      where id = ${executionId} and status = ${STATUS.Completed} for update`;
    if (!execution) return 0;
    const rows = await tx<{ status: string; recipient: string; errorMessage: string | null }[]>`
      select status, recipient, error_message from report_deliveries where execution_id = ${executionId} order by id`;
    const owed = rows.filter((row) => row.status === "Owed").length;
    if (owed > 0) return owed;
    const failed = rows.filter((row) => row.status === "Failed");
    if (failed.length === 0) {
      await tx`update report_executions set status = ${STATUS.Delivered}, error_message = null where id = ${executionId}`;
    } else {
      const reasons = failed.map((row) => `${row.recipient}: ${row.errorMessage}`).join("; ");
      const message = `Delivery failed for ${failed.length} of ${rows.length}: ${reasons}`.slice(0, 4_000);
      await tx`update report_executions set error_message = ${message} where id = ${executionId}`;
    }
    return 0;
  });
}
