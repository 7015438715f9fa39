import type { WakeUps } from "../../infra/wakeups/wakeups.ts";
import type { Tx } from "../../infra/postgres/postgres.ts";
import { enqueueDeliveries } from "./emit.ts";

/**
 * Gives deliveries new jobs. An ended delivery is due at once, with a new schedule of retries. A waiting delivery keeps its
 * schedule and due time. An ended delivery leaves its order: those that came after it do not wait for it. The caller must have locked the deliveries.
 */
export async function requeueDeliveries(
  p: { wakeUps?: WakeUps },
  tx: Tx,
  deliveries: { id: string; tenantId: string }[],
): Promise<void> {
  if (deliveries.length === 0) return;
  const ids = deliveries.map(({ id }) => id);
  const jobIds = await enqueueDeliveries(
    p,
    tx,
    deliveries.map(({ id, tenantId }) => ({ deliveryId: id, tenantId })),
  );
  await tx`
    update webhook_deliveries d set status = 'Pending', held = false, completed_at = null, job_id = given.job_id,
      round_attempts = case d.status when 'Pending' then d.round_attempts else 0 end,
      order_key = case d.status when 'Pending' then d.order_key end,
      next_attempt_at = greatest(d.next_attempt_at, now())
    from unnest(${ids}::uuid[], ${jobIds}::uuid[]) as given (id, job_id) where d.id = given.id`;
}
