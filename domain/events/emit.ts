import type { WakeUps } from "../../infra/wakeups/wakeups.ts";
import { afterCommit, type Tx } from "../../infra/postgres/postgres.ts";
import { wakeFor, writeJobs } from "../jobs/enqueue.ts";
import { newId } from "../shared/ids.ts";
import { DELIVERY_JOB } from "./delivery_job.ts";
import { eventBody, type EventData, type EventType, EVERY_TYPE } from "./event_types.ts";

/** An event of a tenant; null: it belongs to no tenant and is not sent. */
export type NewEvent = {
  [T in EventType]: { type: T; tenantId: string | null; data: EventData[T] };
}[EventType];

/**
 * Inserts deliveries of events for the tenant's subscribed endpoints. Runs in the transaction of the change, so an
 * event is sent only if it commits. Without subscribed endpoints, the cost is one index lookup.
 * @param p.wakeUps absent: workers are not notified; they find the deliveries by polling, within about two seconds.
 */
export async function emitEvents(p: { wakeUps?: WakeUps }, tx: Tx, events: NewEvent[]): Promise<void> {
  const owned = events.filter((event) => event.tenantId !== null);
  if (owned.length === 0) return;
  // The lock prevents that an endpoint is deleted before the deliveries that refer to it are inserted.
  const wanted = await tx<{ endpointId: string; tenantId: string; index: number; at: Date }[]>`
    select e.id as endpoint_id, e.tenant_id, (given.position - 1)::int as index,
      statement_timestamp() as at
    from unnest(${owned.map((event) => event.tenantId)}::uuid[], ${owned.map((event) => event.type)}::text[])
      with ordinality as given (tenant_id, type, position)
    join webhook_endpoints e on e.tenant_id = given.tenant_id and e.is_active
    where e.event_types && array[${EVERY_TYPE}, given.type] order by e.id for key share of e`;
  const [first] = wanted;
  if (!first) return;
  const bodies = owned.map(({ type, data }) => eventBody(type, first.at, data));
  await insertDeliveries(
    p,
    tx,
    wanted.map(({ endpointId, tenantId, index }) => ({
      endpointId,
      tenantId,
      type: owned[index]?.type ?? "",
      body: bodies[index] ?? "",
    })),
  );
}

export interface NewDelivery {
  endpointId: string;
  tenantId: string;
  type: string;
  body: string;
}

/** Inserts deliveries that are due at once, each with its job; returns their ids in the given order. */
export async function insertDeliveries(
  p: { wakeUps?: WakeUps },
  tx: Tx,
  deliveries: NewDelivery[],
): Promise<string[]> {
  const ids = deliveries.map(() => newId());
  const jobIds = await enqueueDeliveries(
    p,
    tx,
    deliveries.map(({ tenantId }, index) => ({ deliveryId: ids[index] ?? "", tenantId })),
  );
  await tx`
    insert into webhook_deliveries (id, endpoint_id, event_type, body, job_id)
    select * from unnest(${ids}::uuid[], ${deliveries.map((d) => d.endpointId)}::uuid[],
      ${deliveries.map((d) => d.type)}::text[], ${deliveries.map((d) => d.body)}::text[], ${jobIds}::uuid[])`;
  return ids;
}

/** Enqueues one job per delivery; returns the job ids in the given order. */
export async function enqueueDeliveries(
  { wakeUps }: { wakeUps?: WakeUps },
  tx: Tx,
  deliveries: { deliveryId: string; tenantId: string }[],
): Promise<string[]> {
  const jobs = deliveries.map(({ deliveryId, tenantId }) => ({
    jobTypeName: DELIVERY_JOB.name,
    serializedArgs: JSON.stringify({ deliveryId }),
    maxRetries: DELIVERY_JOB.maxRetries,
    limitKey: DELIVERY_JOB.name,
    tenantId,
  }));
  const rows = await writeJobs(tx, jobs);
  if (wakeUps) afterCommit(tx, () => wakeFor({ wakeUps }, jobs));
  return rows.map((row) => row.id);
}
