import type { Sql, Tx } from "../../infra/postgres/postgres.ts";
import { recordAudit } from "../audit/audit.ts";
import { belongsTo, countRows } from "../shared/lists.ts";
import { subscriptionsChanged } from "./job_events.ts";
import type { DisabledEndpoint, EventPlatform } from "./platform.ts";

/** Maximum number of kept characters of an error message. */
const ERROR_KEPT = 500;
/** After this many days of failures without a success, an endpoint is deactivated. */
const FAILING_DAYS = 5;

/** The URL that an attempt went to. An attempt at a former URL of the endpoint says nothing about the present one. */
interface Tried {
  endpointId: string;
  url: string;
}

/**
 * Clears the endpoint's failing state. Skipped while another transaction holds the row lock; a later success clears
 * it.
 */
export async function recordSuccess(tx: Tx, { endpointId, url }: Tried): Promise<void> {
  await tx`update webhook_endpoints set failing_since = null where id = (
    select id from webhook_endpoints where id = ${endpointId} and url = ${url} and failing_since is not null
    for no key update skip locked)`;
}

/**
 * Records a failure. An endpoint that answered 410 Gone (`isGone`), or has failed for FAILING_DAYS, is deactivated
 * and its creator notified. Skipped while another transaction holds the row lock, so that deliveries do not wait for
 * each other; a later failure is recorded instead. A 410 waits for the lock.
 */
export async function recordFailure(
  p: Pick<EventPlatform, "onEndpointDisabled">,
  tx: Tx,
  { endpointId, url }: Tried,
  { isGone, error }: { isGone: boolean; error: string },
): Promise<void> {
  const [disabled] = await tx<DisabledEndpoint[]>`
    with failing as (
      select id, coalesce(failing_since, now()) as since, case when ${isGone} then 'Gone'
        when failing_since < now() - make_interval(days => ${FAILING_DAYS}) then 'Failing' end as reason
      from webhook_endpoints where id = ${endpointId} and url = ${url} and is_active
      for no key update ${isGone ? tx`` : tx`skip locked`}
    )
    update webhook_endpoints e set failing_since = failing.since, last_error = left(${error}, ${ERROR_KEPT}::int), last_error_at = now(),
      disabled_reason = failing.reason,
      is_active = failing.reason is null, version = e.version + (failing.reason is not null)::int,
      updated_at = case when failing.reason is null then e.updated_at else now() end
    from failing where e.id = failing.id
    returning e.id, e.tenant_id, e.url, e.created_by, e.disabled_reason, e.is_active`;
  if (!disabled || disabled.isActive) return;
  subscriptionsChanged(tx);
  await recordAudit(tx, null, "webhookEndpoint.disable", endpointId, {
    tenantId: disabled.tenantId,
    after: { isActive: false, disabledReason: disabled.disabledReason },
  });
  const reason = disabled.disabledReason === "Gone"
    ? "The receiver answered 410 Gone."
    : `Nothing was delivered for ${FAILING_DAYS} days. The last failure: ${error}`;
  await p.onEndpointDisabled(tx, disabled, reason);
}

/**
 * Number of the endpoints of the tenant, or of EVERY_TENANT, that fail, or were deactivated because they failed.
 * @param withShared includes those that receive the events of all tenants
 */
export const countFailingEndpoints = (q: Sql, tenantId: string, withShared: boolean): Promise<number> =>
  countRows(
    q,
    q`webhook_endpoints where ${belongsTo(q, tenantId)} and is_failing
      and (${withShared} or not all_tenants)`,
  );

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
    values (${endpointId}, date_trunc('hour', now()), pg_backend_pid() % ${SHARDS}::int,
      ${isDelivered ? 1 : 0}, ${isDelivered ? 0 : 1})
    on conflict (endpoint_id, hour, shard) do update set delivered = c.delivered + excluded.delivered,
      failed = c.failed + excluded.failed`;
}
