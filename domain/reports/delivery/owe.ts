import type { Tx } from "../../../infra/postgres/postgres.ts";
import { enqueueJob } from "../../jobs/enqueue.ts";
import { newId } from "../../shared/ids.ts";
import type { Platform } from "../../shared/platform.ts";
import type { Execution } from "../execution.ts";
import { deliverJob } from "./deliver_job.ts";
import { type DeliveryOptions, METHOD, targetPathOf } from "./options.ts";

/** A document that nobody is owed is looked at so long after it was stored: its scan takes less as a rule. */
const SCAN_MS = 2_000;

/** Writes down whom a completed execution owes its document, and the job that sees it through its scan and delivers it. */
export async function oweDeliveries(p: Platform, tx: Tx, execution: Execution): Promise<void> {
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
  await enqueueDelivery(p, tx, execution);
}

/** Enqueues the job that delivers what is owed. @param startsAt absent: at once. */
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
  if (options.method === METHOD.Storage) return [targetPathOf(options, execution)];
  return options.method === METHOD.Webhook && options.webhookUrl ? [options.webhookUrl] : [];
}
