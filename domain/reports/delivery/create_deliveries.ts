import type { Tx } from "../../../infra/postgres/postgres.ts";
import { enqueueJob } from "../../jobs/enqueue.ts";
import { newId } from "../../shared/ids.ts";
import type { Platform } from "../../shared/platform.ts";
import type { Execution } from "../execution.ts";
import { deliverJob } from "./deliver_job.ts";
import { type DeliveryOptions, executionTargetPath, METHOD } from "./options.ts";

/** For a document without deliveries, the job only checks the scan. It starts this late, when most scans are done. */
const SCAN_MS = 2_000;

/** Inserts the deliveries of a completed execution and enqueues the job that waits for the scan and then delivers. */
export async function createDeliveries(p: Platform, tx: Tx, execution: Execution): Promise<void> {
  const options: DeliveryOptions | null = execution.deliveryJson && JSON.parse(execution.deliveryJson);
  const recipients = options ? recipientsOf(options, execution) : [];
  if (!options || recipients.length === 0) {
    return await enqueueDelivery(p, tx, execution, new Date(p.clock.now().getTime() + SCAN_MS));
  }
  await tx`
    insert into report_deliveries (id, execution_id, method, recipient)
    select id, ${execution.id}, ${options.method}, recipient
    from unnest(${recipients.map(newId)}::uuid[], ${recipients}::text[]) given (id, recipient)
    on conflict on constraint report_deliveries_once do nothing`;
  await tx`update report_executions set delivery_status = 'Pending' where id = ${execution.id}`;
  await enqueueDelivery(p, tx, execution);
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

function recipientsOf(options: DeliveryOptions, execution: Execution): string[] {
  if (options.method === METHOD.Email) return options.recipients;
  if (options.method === METHOD.Storage) return [executionTargetPath(options, execution)];
  return options.method === METHOD.Webhook && options.webhookUrl ? [options.webhookUrl] : [];
}
