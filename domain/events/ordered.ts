import type { Sql, Tx } from "../../infra/postgres/postgres.ts";
import type { EventPlatform } from "./platform.ts";
import { requeueDeliveries } from "./requeue.ts";

/**
 * Leaves a delivery without a job if an earlier one about its object is pending and the endpoint is still ordered. The locks
 * order it before or after the end of the earlier one and the end of the option, so that one of them releases it or it is
 * attempted.
 */
export async function holdIfLater(q: Sql, id: string): Promise<boolean> {
  const { count } = await q`
    with earlier as (
      select e.id from webhook_deliveries d join webhook_endpoints w on w.id = d.endpoint_id and w.ordered
        join webhook_deliveries e on e.endpoint_id = d.endpoint_id and e.order_key = d.order_key and e.order_number < d.order_number
      where d.id = ${id} and e.status = 'Pending' order by e.order_number limit 1 for share of e, w
    )
    update webhook_deliveries d set held = true from earlier where d.id = ${id} and d.status = 'Pending'`;
  return count > 0;
}

/** Gives the next held delivery about the object of an ended one a new job. Runs in the transaction that ends it. */
export async function releaseNext(p: Pick<EventPlatform, "wakeUps">, tx: Tx, endedId: string): Promise<void> {
  const next = await tx<{ id: string; tenantId: string }[]>`
    select n.id, e.tenant_id from webhook_deliveries d
    join webhook_deliveries n on n.endpoint_id = d.endpoint_id and n.order_key = d.order_key
    join webhook_endpoints e on e.id = d.endpoint_id
    where d.id = ${endedId} and n.status = 'Pending' and n.held order by n.order_number limit 1 for update of n`;
  await requeueDeliveries(p, tx, next);
}
