import { z } from "zod";
import { type Sql, transact } from "../../../infra/postgres/postgres.ts";
import { recordAudit } from "../../audit/audit.ts";
import { OLD_SECRET_HOURS } from "../../events/signing_secrets.ts";
import type { TenantCaller } from "../../rights/caller.ts";
import type { Platform } from "../../shared/platform.ts";
import { newSigningSecret } from "../../shared/secrets.ts";
import { time } from "../../shared/shapes.ts";

/** The error message for a webhook that cannot be signed. */
export const NO_SECRET =
  "webhooks need a secret: the tenant has none, and the service has no WEBHOOK_SECRET; create one with POST /api/v1/report-webhook-secret/rotate";

/** The state of a tenant's secret, without the secret. */
export const WebhookSecretState = z.object({
  isOwn: z.boolean().describe("false: the secret of the service signs"),
  createdAt: time.nullable(),
  oldValidUntil: time.nullable().describe("Until when the previous secret also signs"),
}).meta({ id: "ReportWebhookSecretStateDto" });
type WebhookSecretState = z.output<typeof WebhookSecretState>;

/**
 * Gives the tenant a new secret for its report webhooks. The previous one, which may be that of the service, also signs for
 * OLD_SECRET_HOURS, so that receivers have time to switch. Older ones are deleted: at most two secrets sign.
 */
export async function rotateWebhookSecret(
  sql: Sql,
  caller: TenantCaller,
): Promise<{ secret: string; oldSecretHours: number }> {
  const { tenantId } = caller;
  const secret = newSigningSecret();
  await transact(sql, async (tx) => {
    await tx`select from tenants where id = ${tenantId} for no key update`; // one rotation at a time
    const [first] = await tx<{ at: Date | null }[]>`
      select min(first_at) as at from report_webhook_secrets where tenant_id = ${tenantId}`;
    await tx`delete from report_webhook_secrets where tenant_id = ${tenantId} and valid_until is not null`;
    await tx`update report_webhook_secrets
      set valid_until = clock_timestamp() + make_interval(hours => ${OLD_SECRET_HOURS})
      where tenant_id = ${tenantId} and valid_until is null`;
    await tx`insert into report_webhook_secrets (tenant_id, secret, first_at)
      values (${tenantId}, ${secret}, coalesce(${first?.at ?? null}::timestamptz, clock_timestamp()))`;
    await recordAudit(tx, caller, "reportWebhookSecret.rotate", tenantId);
  });
  return { secret, oldSecretHours: OLD_SECRET_HOURS };
}

/** Reads when the tenant's secret was created and until when the previous one also signs. */
export async function readWebhookSecretState(q: Sql, tenantId: string): Promise<WebhookSecretState> {
  const [state] = await q<WebhookSecretState[]>`
    select count(*) > 0 as is_own, max(created_at) as created_at,
      coalesce(max(valid_until), min(first_at) + make_interval(hours => ${OLD_SECRET_HOURS})) as old_valid_until
    from report_webhook_secrets where tenant_id = ${tenantId}`;
  if (!state) throw new Error("an aggregate returned no row");
  return state;
}

/** The secrets that sign a tenant's report webhooks now, the current one first; empty if there is none. */
export async function readSigningSecrets(
  { config }: Pick<Platform, "config">,
  q: Sql,
  tenantId: string | null,
): Promise<string[]> {
  const shared = config.WEBHOOK_SECRET === null ? [] : [config.WEBHOOK_SECRET];
  if (tenantId === null) return shared;
  const rows = await q<{ secret: string; isValid: boolean; replacesShared: boolean }[]>`
    select secret, valid_until is null or valid_until > now() as is_valid,
      min(first_at) over () > now() - make_interval(hours => ${OLD_SECRET_HOURS}) as replaces_shared
    from report_webhook_secrets where tenant_id = ${tenantId} order by valid_until desc nulls first`;
  const [newest] = rows;
  if (!newest) return shared;
  const own = rows.filter(({ isValid }) => isValid).map(({ secret }) => secret);
  return newest.replacesShared ? [...own, ...shared] : own;
}
