import type { Tx } from "../../infra/postgres/postgres.ts";
import { recordAudit } from "../audit/audit.ts";
import { sendNotification } from "../notifications/send.ts";
import { Problem } from "../problems/problem.ts";
import type { Platform } from "../shared/platform.ts";

/** An endpoint that has failed for so long without one success is deactivated. */
const FAILING_DAYS = 5;

/** A success ends whatever failures came before. While another transaction holds the endpoint, a later one does. */
export async function noteSuccess(tx: Tx, endpointId: string): Promise<void> {
  await tx`update webhook_endpoints set failing_since = null where id = (
    select id from webhook_endpoints where id = ${endpointId} and failing_since is not null
    for no key update skip locked)`;
}

/**
 * Notes a failure. While another transaction holds the endpoint, a later failure is noted, so that deliveries do not
 * wait for each other; but for an endpoint that says it is gone. An endpoint that says it is gone, or has failed for days, is deactivated and its maker told.
 */
export async function noteFailure(
  p: Platform,
  tx: Tx,
  endpointId: string,
  { isGone, error }: { isGone: boolean; error: string },
): Promise<void> {
  const [disabled] = await tx<Disabled[]>`
    with noted as (
      select id, coalesce(failing_since, now()) as since, case when ${isGone} then 'Gone'
        when failing_since < now() - make_interval(days => ${FAILING_DAYS}) then 'Failing' end as reason
      from webhook_endpoints where id = ${endpointId} and is_active
      for no key update ${isGone ? tx`` : tx`skip locked`}
    )
    update webhook_endpoints e set failing_since = noted.since, disabled_reason = noted.reason,
      is_active = noted.reason is null, version = e.version + (noted.reason is not null)::int,
      updated_at = case when noted.reason is null then e.updated_at else now() end
    from noted where e.id = noted.id
    returning e.id, e.tenant_id, e.url, e.created_by, e.disabled_reason, e.is_active`;
  if (!disabled || disabled.isActive) return;
  await recordAudit(tx, null, {
    action: "webhookEndpoint.disable",
    targetType: "webhookEndpoint",
    targetId: endpointId,
    tenantId: disabled.tenantId,
    after: { isActive: false, disabledReason: disabled.disabledReason },
  });
  await tellMaker(p, tx, disabled, error);
}

interface Disabled {
  id: string;
  tenantId: string;
  url: string;
  createdBy: string | null;
  disabledReason: "Gone" | "Failing";
  isActive: boolean;
}

async function tellMaker(p: Platform, tx: Tx, endpoint: Disabled, error: string): Promise<void> {
  const { id, tenantId, url, createdBy, disabledReason } = endpoint;
  if (createdBy === null) return;
  const why = disabledReason === "Gone"
    ? "The receiver answered 410 Gone."
    : `Nothing was delivered for ${FAILING_DAYS} days. The last failure: ${error}`;
  try {
    await sendNotification(p, tx, { tenantId, userId: null, traceId: null }, {
      channel: "InApp",
      recipients: [{ address: createdBy }],
      subject: "A webhook endpoint was deactivated",
      textBody: `Events are no longer sent to ${url}. ${why} Activate it again when the cause is mended.`,
      category: "webhooks",
      actionUrl: `/api/v1/webhook-endpoints/${id}`,
    });
  } catch (failure) {
    if (!(failure instanceof Problem)) throw failure; // whoever made it is gone: there is nobody to tell
  }
}
