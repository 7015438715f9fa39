import { transact } from "../../infra/postgres/postgres.ts";
import { abandonJob } from "../jobs/control/job_control.ts";
import { enqueueJob } from "../jobs/enqueue.ts";
import { problem } from "../problems/problem.ts";
import type { Platform } from "../shared/platform.ts";
import { readStatus } from "./cancel.ts";
import { deliveryJob } from "./deliver.ts";
import { ERASED_ADDRESS, type NotificationPriority, type NotificationResult, resultOf } from "./status.ts";
import type { MessageSender } from "./store_notification.ts";

/**
 * Queues a failed message again for all recipients who have not got it, also those refused or skipped before. It gets a
 * new job with a full set of retries. The old job is abandoned.
 * @throws NOTIFICATION_NOT_FOUND, NOTIFICATION_CANNOT_RETRY
 */
export async function retryNotification(
  p: Platform,
  sender: MessageSender,
  id: string,
): Promise<NotificationResult> {
  return await transact(p.sql, async (tx) => {
    const [row] = await tx<{ priority: NotificationPriority; jobId: string | null }[]>`
      update notifications set status = 'Queued', retry_count = retry_count + 1, job_attempt = 0, updated_at = now()
      where id = ${id} and tenant_id is not distinct from ${sender.tenantId}::uuid
        and status in ('Failed', 'DeadLettered') and body_expired_at is null
      returning priority, job_id`;
    if (!row) {
      const status = await readStatus(tx, sender.tenantId, id);
      const isExpired = status === "Failed" || status === "DeadLettered";
      throw problem(
        "NOTIFICATION_CANNOT_RETRY",
        isExpired
          ? `The content of the notification ${id} was deleted; send a new message.`
          : `The notification ${id} is ${status}; expected Failed or DeadLettered.`,
      );
    }
    if (row.jobId !== null) await abandonJob(tx, row.jobId);
    const jobId = await enqueueJob(p, tx, deliveryJob, { notificationId: id }, {
      tenantId: sender.tenantId,
      createdBy: sender.userId,
      traceId: sender.traceId,
      priority: row.priority,
    });
    await tx`update notifications set job_id = ${jobId} where id = ${id}`;
    await tx`update notification_recipients set status = 'Owed', reason = null
      where notification_id = ${id} and status in ('Refused', 'Skipped') and address <> ${ERASED_ADDRESS}`;
    return resultOf(id, "Queued");
  });
}
