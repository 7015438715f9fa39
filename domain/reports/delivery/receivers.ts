import type { Sql } from "../../../infra/postgres/postgres.ts";
import { invalid } from "../../problems/problem.ts";
import type { Platform } from "../../shared/platform.ts";
import { type DeliveryOptions, METHOD } from "./options.ts";
import { findTarget, type TargetKind } from "./targets.ts";
import { readSigningSecrets } from "./webhook_secrets.ts";

/** The kind of target that a delivery method needs. */
const KINDS: Partial<Record<number, TargetKind>> = { [METHOD.Storage]: "s3", [METHOD.Webhook]: "slack" };

/**
 * Checks that the tenant has the target that delivery options name, and for signed webhooks a secret.
 * @throws VALIDATION_ERROR on `delivery.targetId` or `delivery.method`
 */
export async function requireReceiver(
  p: Pick<Platform, "config">,
  q: Sql,
  tenantId: string | null,
  delivery: DeliveryOptions | null,
): Promise<void> {
  if (!delivery) return;
  const { method, targetId, webhookFormat } = delivery;
  if (targetId !== undefined) {
    const target = await findTarget(q, tenantId, targetId);
    if (!target) throw invalid({ "delivery.targetId": [`the tenant has no report target ${targetId}`] });
    const kind = KINDS[method];
    if (target.kind === kind) return;
    throw invalid({
      "delivery.targetId": [`the target is of kind ${target.kind}; method ${method} needs ${kind}`],
    });
  }
  if (method !== METHOD.Webhook || webhookFormat === "slack") return;
  const secrets = await readSigningSecrets(p, q, tenantId);
  if (secrets.length === 0) throw invalid({ "delivery.method": [NO_SECRET] });
}

/** The error message for a webhook that cannot be signed. */
export const NO_SECRET =
  "webhooks need a secret: the tenant has none, and the service has no WEBHOOK_SECRET; create one with POST /api/v1/report-webhook-secret/rotate";
