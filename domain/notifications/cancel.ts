import { type Sql, transact } from "../../infra/postgres/postgres.ts";
import { abandonJob } from "../jobs/control/job_control.ts";
import { problem } from "../problems/problem.ts";
import { contentTag, requireTag } from "../shared/version.ts";
import { releaseIn } from "./attachments.ts";
import type { NotificationPlatform } from "./platform.ts";
import { notificationNotFound, readNotification } from "./read.ts";
import { type NotificationResult, type NotificationStatus, resultOf } from "./status.ts";

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
export async function readStatus(
  q: Sql,
  tenantId: string | null,
  id: string,
): Promise<NotificationStatus> {
  const [row] = await q<{ status: NotificationStatus }[]>`
    select status from notifications where id = ${id} and tenant_id is not distinct from ${tenantId}::uuid`;
  if (!row) throw notificationNotFound(id);
  return row.status;
}
