import type { Tx } from "../../../infra/postgres/postgres.ts";
import { enqueueJob } from "../../jobs/enqueue.ts";
import { newId } from "../../shared/ids.ts";
import type { Platform } from "../../shared/platform.ts";
import type { Execution } from "../execution.ts";
import { deliverJob } from "./deliver_job.ts";
import { type DeliveryOptions, METHOD, targetPathOf } from "./options.ts";

/** Writes down whom a completed execution owes its document, and the job that delivers it. */
export async function oweDeliveries(p: Platform, tx: Tx, execution: Execution): Promise<void> {
  if (!execution.deliveryJson) return;
  const options: DeliveryOptions = JSON.parse(execution.deliveryJson);
  const recipients = recipientsOf(options, execution);
  if (recipients.length === 0) return;
  await tx`
    insert into report_deliveries (id, execution_id, method, recipient)
    select id, ${execution.id}, ${options.method}, recipient
    from unnest(${recipients.map(newId)}::uuid[], ${recipients}::text[]) given (id, recipient)
    on conflict on constraint report_deliveries_once do nothing`;
  await enqueueDelivery(p, tx, execution);
}

/** Enqueues the job that delivers what is owed. */
export async function enqueueDelivery(p: Platform, tx: Tx, execution: Execution): Promise<void> {
  const jobId = await enqueueJob(p, tx, deliverJob(p), { executionId: execution.id }, {
    tenantId: execution.tenantId,
    createdBy: execution.createdBy,
    traceId: execution.traceId,
  });
  await tx`update report_executions set delivery_job_id = ${jobId} where id = ${execution.id}`;
}

function recipientsOf(options: DeliveryOptions, execution: Execution): string[] {
  if (options.method === METHOD.Email) return options.recipients;
  if (options.method === METHOD.Storage) return [targetPathOf(options, execution)];
  return options.method === METHOD.Webhook && options.webhookUrl ? [options.webhookUrl] : [];
}
