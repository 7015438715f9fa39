import { type Sql, transact } from "../../../infra/postgres/postgres.ts";
import { cutText } from "../../shared/cut_text.ts";
import type { Platform } from "../../shared/platform.ts";
import type { Execution } from "../execution.ts";
import { emitDeliveryEnd } from "../execution_end.ts";
import { STATUS } from "../status.ts";
import type { DeliveryMethod, DeliveryOptions } from "./options.ts";

/** An execution with a document. */
export type Deliverable = Execution & { storedFileId: string };

/** An open delivery: one recipient who has not yet received the document. */
export interface OwedDelivery {
  id: string;
  method: DeliveryMethod;
  /** An address, a path, a URL, or the name of a Slack target. */
  recipient: string;
  targetId: string | null;
  options: DeliveryOptions;
  notificationId: string | null;
  attempts: number;
}

/**
 * The result of an attempt: delivered, failed for good, or still open. `isUnavailable`: the recipient's server does not
 * answer.
 */
export type Outcome =
  | { status: "Delivered" }
  | { status: "Failed"; reason: string }
  | { status: "Owed"; reason: string; isUnavailable?: true };

/** A Completed execution that `jobId` may deliver; null if it was deleted, has ended or has a newer delivery job. */
export async function readDeliverable(
  q: Sql,
  id: string,
  jobId: string,
): Promise<Deliverable | null> {
  const [execution] = await q<Deliverable[]>`
    select * from report_executions
    where id = ${id} and status = ${STATUS.Completed} and deleted_at is null and delivery_job_id = ${jobId}`;
  return execution ?? null;
}

export async function listOwed(q: Sql, executionId: string): Promise<OwedDelivery[]> {
  const rows = await q<(OwedDelivery & { optionsJson: string })[]>`
    select d.id, d.method, d.recipient, d.target_id, d.notification_id, d.attempts,
      coalesce(d.options_json, e.delivery_json, '{}') as options_json
    from report_deliveries d join report_executions e on e.id = d.execution_id
    where d.execution_id = ${executionId} and d.status = 'Owed' order by d.id`;
  return rows.map(({ optionsJson, ...row }) => ({ ...row, options: JSON.parse(optionsJson) }));
}

/** Lifetime of a claim. It is longer than a request may take. */
const CLAIM_SECONDS = 60;

/**
 * Claims an open delivery for an attempt of the run `by`. Without the claim, a job that a redelivery enqueued could make
 * the same attempt at the same time as the earlier job.
 * @returns false if another run makes the attempt, the delivery is no longer open, or its execution was deleted
 */
export async function claimDelivery(q: Sql, deliveryId: string, by: string): Promise<boolean> {
  const { count } = await q`
    update report_deliveries d set claimed_by = ${by}, claimed_until = now() + make_interval(secs => ${CLAIM_SECONDS})
    where id = ${deliveryId} and status = 'Owed' and (claimed_until is null or claimed_until < now())
      and exists (select from report_executions e where e.id = d.execution_id and e.deleted_at is null)`;
  return count > 0;
}

/** Records the result of the attempt that `by` has claimed. Reading the state of a message sent before is no attempt. */
export async function recordOutcome(
  q: Sql,
  { id, notificationId }: OwedDelivery,
  by: string,
  outcome: Outcome,
): Promise<void> {
  const reason = outcome.status === "Delivered" ? null : outcome.reason;
  await q`update report_deliveries set status = ${outcome.status}, error_message = ${reason},
      attempts = attempts + ${
    notificationId === null ? 1 : 0
  }, updated_at = now(), claimed_by = null, claimed_until = null
    where id = ${id} and status = 'Owed' and claimed_by = ${by}`;
}

/**
 * Completed → Delivered once no delivery is open. If deliveries failed, the execution stays Completed with an error
 * message. The delivery status changes from Pending to the result, with an event to the tenant.
 * @returns how many deliveries are still open
 */
export async function finishDelivery(
  p: Pick<Platform, "sql" | "wakeUps">,
  executionId: string,
): Promise<number> {
  return await transact(p.sql, async (tx) => {
    const [execution] = await tx`select from report_executions
      where id = ${executionId} and status = ${STATUS.Completed} for update`;
    if (!execution) return 0;
    const rows = await tx<{ status: string; recipient: string; errorMessage: string | null }[]>`
      select status, recipient, error_message from report_deliveries where execution_id = ${executionId} order by id`;
    const owed = rows.filter((row) => row.status === "Owed").length;
    if (owed > 0) return owed;
    const failed = rows.filter((row) => row.status === "Failed");
    const delivered = rows.length - failed.length;
    const reasons = failed.map((row) => `${row.recipient}: ${row.errorMessage}`).join("; ");
    const message = cutText(`Delivery failed for ${failed.length} of ${rows.length}: ${reasons}`, 4_000);
    const result = failed.length === 0 ? DELIVERED : { ...undelivered(delivered), errorMessage: message };
    // An instance of an earlier version leaves null instead of Pending.
    const [ended] = await tx<Execution[]>`
      update report_executions set status = ${result.status}, delivery_status = ${result.deliveryStatus},
        error_message = ${result.errorMessage}
      where id = ${executionId} and coalesce(delivery_status, 'Pending') = 'Pending' returning *`;
    if (ended) await emitDeliveryEnd(p, tx, ended, { delivered, failed: failed.length });
    return 0;
  });
}

const DELIVERED = { status: STATUS.Delivered, deliveryStatus: "Delivered", errorMessage: null } as const;

const undelivered = (delivered: number) =>
  ({ status: STATUS.Completed, deliveryStatus: delivered > 0 ? "Partly" : "Failed" }) as const;

/** Client errors that are temporary: Request Timeout, Too Early, Too Many Requests. */
const TEMPORARY_REFUSALS: ReadonlySet<number> = new Set([408, 425, 429]);

/** True if this HTTP status of a receiver means that a later attempt may succeed. */
export const isTemporaryRefusal = (status: number): boolean =>
  status >= 500 || TEMPORARY_REFUSALS.has(status);
