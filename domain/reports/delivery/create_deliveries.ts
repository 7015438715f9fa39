import type { Tx } from "../../../infra/postgres/postgres.ts";
import { enqueueJob } from "../../jobs/enqueue.ts";
import { newId } from "../../shared/ids.ts";
import type { Platform } from "../../shared/platform.ts";
import type { Execution } from "../execution.ts";
import { deliverJob } from "./deliver_job.ts";
import { type DeliveryOptions, executionTargetPath, METHOD } from "./options.ts";
import { findTarget } from "./targets.ts";

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
export async function addDeliveries(
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
export async function enqueueDelivery(
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
