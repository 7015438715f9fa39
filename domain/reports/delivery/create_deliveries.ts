import { z } from "zod";
import { transact, type Tx } from "../../../infra/postgres/postgres.ts";
import { recordAudit } from "../../audit/audit.ts";
import { enqueueJob } from "../../jobs/enqueue.ts";
import { invalid, problem } from "../../problems/problem.ts";
import type { Caller } from "../../rights/caller.ts";
import { newId } from "../../shared/ids.ts";
import type { Platform } from "../../shared/platform.ts";
import { type Execution, readVisibleExecution } from "../execution.ts";
import { isReady, STATUS } from "../status.ts";
import { deliverJob } from "./deliver_job.ts";
import {
  checkDelivery,
  type DeliveryOptions,
  DeliveryOptionsShape,
  executionTargetPath,
  METHOD,
} from "./options.ts";
import { findTarget, requireReceiver } from "./targets.ts";
import { orNull } from "../../shared/shapes.ts";

/** Delay of the job for a document without deliveries. The job only checks the scan, and most scans are done by then. */
const SCAN_MS = 2_000;

/** Inserts the deliveries of a completed execution and enqueues the job that waits for the scan and then delivers. */
export async function createDeliveries(p: Platform, tx: Tx, execution: Execution): Promise<void> {
  const options: DeliveryOptions | null = execution.deliveryJson && JSON.parse(execution.deliveryJson);
  const recipients = options ? await recipientsOf(tx, options, execution) : [];
  if (!options || recipients.length === 0) {
    return await enqueueDelivery(p, tx, execution, new Date(p.clock.now().getTime() + SCAN_MS));
  }
  await tx`
    insert into report_deliveries (id, execution_id, method, target_id, recipient)
    select id, ${execution.id}, ${options.method}, ${options.targetId ?? null}, recipient
    from unnest(${recipients.map(newId)}::uuid[], ${recipients}::text[]) given (id, recipient)
    on conflict on constraint report_deliveries_once do nothing`;
  await tx`update report_executions set delivery_status = 'Pending' where id = ${execution.id}`;
  await enqueueDelivery(p, tx, execution);
}

/**
 * Inserts deliveries of a document with other options than the execution's. A recipient with an earlier delivery gets the
 * document again, and the outcome of an attempt that still runs with the earlier options is ignored.
 * @returns the recipients
 */
async function addDeliveries(
  tx: Tx,
  execution: Execution,
  options: DeliveryOptions,
): Promise<string[]> {
  const recipients = await recipientsOf(tx, options, execution);
  const rows = await tx<{ recipient: string }[]>`
    insert into report_deliveries as d (id, execution_id, method, target_id, recipient, options_json)
    select id, ${execution.id}, ${options.method}, ${options.targetId ?? null}, recipient, ${
    JSON.stringify(options)
  }
    from unnest(${recipients.map(newId)}::uuid[], ${recipients}::text[]) given (id, recipient)
    on conflict on constraint report_deliveries_once do update set status = 'Owed', attempts = 0,
      notification_id = null, error_message = null, options_json = excluded.options_json,
      claimed_by = case when d.options_json = excluded.options_json then d.claimed_by end,
      claimed_until = case when d.options_json = excluded.options_json then d.claimed_until end, updated_at = now()
    returning recipient`;
  return rows.map(({ recipient }) => recipient);
}

/** Enqueues the delivery job of an execution; it replaces an earlier one. @param startsAt null: immediately */
async function enqueueDelivery(
  p: Platform,
  tx: Tx,
  execution: Execution,
  startsAt: Date | null = null,
): Promise<void> {
  const jobId = await enqueueJob(p, tx, deliverJob, { executionId: execution.id }, {
    tenantId: execution.tenantId,
    createdBy: execution.createdBy,
    traceId: execution.traceId,
    scheduledAt: startsAt,
  });
  await tx`update report_executions set delivery_job_id = ${jobId} where id = ${execution.id}`;
}

async function recipientsOf(tx: Tx, options: DeliveryOptions, execution: Execution): Promise<string[]> {
  const { method, targetId, webhookUrl } = options;
  if (method === METHOD.Email) return options.recipients;
  if (method === METHOD.Storage) return [executionTargetPath(options, execution)];
  if (method !== METHOD.Webhook) return [];
  if (targetId === undefined) return webhookUrl ? [webhookUrl] : [];
  return [(await findTarget(tx, execution.tenantId, targetId))?.name ?? targetId];
}

/** The recipients who get the document again. Without members: all whose delivery failed. */
export const Redelivery = z.object({
  recipients: orNull(z.array(z.string().min(1).max(2_000)).min(1).max(100)),
  delivery: orNull(DeliveryOptionsShape),
}).meta({
  id: "ReportRedeliveryRequest",
  description:
    "recipients: these of the execution's deliveries; delivery: other options with their own recipients; neither: all whose delivery failed",
});
type Redelivery = z.output<typeof Redelivery>;

/**
 * Delivers a document again. Without a recipient to deliver to, it does nothing.
 * @throws REPORT_NOT_FOUND, MISSING_PERMISSION, REPORT_NOT_AVAILABLE; VALIDATION_ERROR for unknown recipients or as
 * `checkDelivery` and `requireReceiver`
 */
export async function redeliver(
  p: Platform,
  caller: Caller,
  id: string,
  to: Redelivery,
): Promise<Execution> {
  return await transact(p.sql, async (tx) => {
    const execution = await readVisibleExecution(tx, caller, id, true);
    if (!isReady(execution.status)) {
      throw problem(
        "REPORT_NOT_AVAILABLE",
        "The execution has no document to deliver; its status must be Completed.",
      );
    }
    const recipients = await chooseDeliveries(p, tx, execution, to);
    if (recipients.length === 0) return execution;
    const [changed] = await tx<Execution[]>`
      update report_executions set status = ${STATUS.Completed}, error_message = null, delivery_status = 'Pending'
      where id = ${id} returning *`;
    if (!changed) throw new Error("a locked execution was not updated");
    await enqueueDelivery(p, tx, execution);
    await recordAudit(tx, caller, "report.redeliver", id, {
      after: { recipients, ...to.delivery && { method: to.delivery.method } },
    });
    return changed;
  });
}

/** Makes the chosen deliveries open (`Owed`). @returns their recipients */
async function chooseDeliveries(
  p: Platform,
  tx: Tx,
  execution: Execution,
  { recipients, delivery }: Redelivery,
): Promise<string[]> {
  if (delivery) {
    if (recipients) {
      throw invalid({ recipients: ["found both recipients and delivery; expected one of them"] });
    }
    if (delivery.method === METHOD.Download) {
      throw invalid({ "delivery.method": ["found 1, download, which sends nothing; expected 2, 3 or 4"] });
    }
    const checked = checkDelivery(delivery, execution.burstValue ?? undefined);
    await requireReceiver(p, tx, execution.tenantId, checked);
    return await addDeliveries(tx, execution, checked);
  }
  if (recipients) await requireKnown(tx, execution.id, recipients);
  const chosen = recipients
    ? tx`status <> 'Owed' and recipient = any(${recipients}::text[])`
    : tx`status = 'Failed'`;
  const rows = await tx<{ recipient: string }[]>`
    update report_deliveries set status = 'Owed', attempts = 0, notification_id = null, error_message = null,
      updated_at = now()
    where execution_id = ${execution.id} and ${chosen} returning recipient`;
  return rows.map(({ recipient }) => recipient);
}

/** @throws VALIDATION_ERROR naming the recipients to whom the document was never delivered */
async function requireKnown(tx: Tx, executionId: string, recipients: string[]): Promise<void> {
  const rows = await tx<{ recipient: string }[]>`
    select recipient from report_deliveries where execution_id = ${executionId}`;
  const known = new Set(rows.map(({ recipient }) => recipient));
  const unknown = recipients.flatMap((recipient, index) =>
    known.has(recipient)
      ? []
      : [[`recipients.${index}`, ["expected a recipient of the execution's deliveries"]]]
  );
  if (unknown.length > 0) throw invalid(Object.fromEntries(unknown));
}
