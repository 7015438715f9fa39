import { type Sql, transact } from "../../../infra/postgres/postgres.ts";
import { abandonJob } from "../../jobs/control/job_control.ts";
import { enqueueJob } from "../../jobs/enqueue.ts";
import { problem } from "../../problems/problem.ts";
import type { Platform } from "../../shared/platform.ts";
import { contentTag, requireTag } from "../../shared/version.ts";
import { releaseIn } from "../attachments.ts";
import { deliveryJob } from "../delivery/deliver.ts";
import type { NotificationPlatform } from "../platform.ts";
import { notificationNotFound, readNotification } from "../read.ts";
import {
  ERASED_ADDRESS,
  type NotificationPriority,
  type NotificationResult,
  type NotificationStatus,
  resultOf,
} from "../status.ts";
import type { MessageSender } from "../store_notification.ts";

/**
 * Cancels a scheduled message and its job. If the job starts at the same time, the first change of the status wins: the
 * job either finds the message cancelled and does nothing, or this call is refused.
 * @throws NOTIFICATION_NOT_FOUND, PRECONDITION_FAILED, NOTIFICATION_ALREADY_CANCELLED, NOTIFICATION_CANNOT_CANCEL
 */
export async function cancelScheduled(
  p: Pick<NotificationPlatform, "sql" | "attachedFiles">,
  tenantId: string | null,
  id: string,
  ifMatch: string | null = null,
): Promise<NotificationResult> {
  return await transact(p.sql, async (tx) => {
    if (ifMatch !== null) {
      await tx`select from notifications
        where id = ${id} and tenant_id is not distinct from ${tenantId}::uuid for update`;
      requireTag(ifMatch, contentTag(await readNotification(tx, tenantId, id)));
    }
    const [cancelled] = await tx<{ jobId: string }[]>`
      update notifications set status = 'Cancelled', updated_at = now()
      where id = ${id} and tenant_id is not distinct from ${tenantId}::uuid and status = 'Scheduled'
      returning job_id`;
    if (cancelled) {
      await abandonJob(tx, cancelled.jobId);
      await releaseIn(p, tx, id);
      return resultOf(id, "Cancelled");
    }
    const status = await readStatus(tx, tenantId, id);
    throw status === "Cancelled"
      ? problem("NOTIFICATION_ALREADY_CANCELLED", `The notification ${id} is already cancelled.`)
      : problem("NOTIFICATION_CANNOT_CANCEL", `The notification ${id} is ${status}; expected Scheduled.`);
  });
}

/** The status of a notification of the tenant. @throws NOTIFICATION_NOT_FOUND, also for another tenant's notification */
async function readStatus(
  q: Sql,
  tenantId: string | null,
  id: string,
): Promise<NotificationStatus> {
  const [row] = await q<{ status: NotificationStatus }[]>`
    select status from notifications where id = ${id} and tenant_id is not distinct from ${tenantId}::uuid`;
  if (!row) throw notificationNotFound(id);
  return row.status;
}

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
