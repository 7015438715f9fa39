import type { Tx } from "../../infra/postgres/postgres.ts";

/** Rows of an endpoint and hour. With several rows, transactions of different connections rarely write the same one. */
const SHARDS = 8;

/** SQL of an endpoint's attempts in the last 24 hours, as JSON. Whole hours are counted, so it covers at least 23. */
export const LAST_DAY = `(select json_build_object('delivered', coalesce(sum(c.delivered), 0),
  'failed', coalesce(sum(c.failed), 0),
  'successRate', round(sum(c.delivered)::numeric / nullif(sum(c.delivered + c.failed), 0), 4))
  from webhook_attempt_counts c
  where c.endpoint_id = webhook_endpoints.id and c.hour > now() - interval '24 hours')`;

/** Counts an attempt. Call it as the last statement of a transaction, so that the row is locked only for a moment. */
export async function countAttempt(tx: Tx, endpointId: string, isDelivered: boolean): Promise<void> {
  await tx`
    insert into webhook_attempt_counts as c (endpoint_id, hour, shard, delivered, failed)
    values (${endpointId}, date_trunc('hour', now()), pg_backend_pid() % ${SHARDS}::int, ${
    isDelivered ? 1 : 0
  },
      ${isDelivered ? 0 : 1})
    on conflict (endpoint_id, hour, shard) do update set delivered = c.delivered + excluded.delivered,
      failed = c.failed + excluded.failed`;
}
