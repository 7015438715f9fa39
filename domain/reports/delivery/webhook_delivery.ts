import { createHttpOut, OutboundRefused } from "../../../infra/http_out/http_out.ts";
import { signatureHeaders } from "../../../infra/http_out/webhook_signature.ts";
import { traceparent } from "../../../infra/telemetry/trace_ids.ts";
import type { Platform } from "../../shared/platform.ts";
import type { Deliverable, Outcome, OwedDelivery } from "./delivery.ts";
import { createReportLink } from "./link.ts";
import { NO_SECRET } from "./receivers.ts";
import { isTemporaryRefusal } from "./webhook_answers.ts";
import { readSigningSecrets } from "./webhook_secrets.ts";

/** A delivery fails after this many refusals, such as status 404. */
const MAX_REFUSALS = 8;

/**
 * Posts a signed message with a link to the document (Standard Webhooks). The message id is the delivery's id, so that
 * a receiver can detect repetitions. Any 2xx status means delivered; 410 means failed at once. An unreachable or
 * temporarily failing receiver is retried for a day; one that refuses is tried MAX_REFUSALS times.
 */
export async function deliverByWebhook(
  p: Platform,
  execution: Deliverable,
  { id, recipient, attempts }: OwedDelivery,
): Promise<Outcome> {
  const secrets = await readSigningSecrets(p, p.sql, execution.tenantId);
  if (secrets.length === 0) {
    return { status: "Failed", reason: `The message cannot be signed: ${NO_SECRET}.` };
  }
  const { url, expiresAt } = await createReportLink(p, p.sql, execution.id);
  const now = p.clock.now();
  const body = JSON.stringify({
    type: "report.completed",
    timestamp: now.toISOString(),
    data: {
      executionId: execution.id,
      templateId: execution.templateId,
      fileName: execution.fileName,
      contentType: execution.contentType,
      url,
      expiresAt,
      ...(execution.burstId ? { burstId: execution.burstId, burstValue: execution.burstValue } : {}),
    },
  });
  const headers = {
    "content-type": "application/json",
    "user-agent": "steward-webhook",
    ...signatureHeaders(secrets, id, now, body),
    ...(execution.traceId ? { traceparent: traceparent(execution.traceId) } : {}),
  };
  try {
    const { status } = await createHttpOut({ allow: p.config.OUTBOUND_ALLOW })
      .send({ url: recipient, method: "POST", headers, body });
    if (status >= 200 && status < 300) return { status: "Delivered" };
    const reason = `The receiver answered ${status}.`;
    if (isTemporaryRefusal(status)) return { status: "Owed", reason, isUnavailable: true };
    return { status: status === 410 || attempts + 1 >= MAX_REFUSALS ? "Failed" : "Owed", reason };
  } catch (error) {
    if (error instanceof OutboundRefused) return { status: "Failed", reason: `Refused: ${error.message}.` };
    const reason = `The receiver could not be reached: ${(error as Error).message}`;
    return { status: "Owed", reason, isUnavailable: true };
  }
}
