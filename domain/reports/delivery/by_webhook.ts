import { createHttpOut, OutboundRefused } from "../../../infra/http_out/http_out.ts";
import { traceparent } from "../../../infra/telemetry/trace_ids.ts";
import { Webhook } from "standardwebhooks";
import type { Platform } from "../../shared/platform.ts";
import type { Execution } from "../execution.ts";
import type { Outcome, OwedDelivery } from "./delivery.ts";
import { createReportLink } from "./link.ts";

/** After so many answers that refuse, such as 404, a delivery has failed. */
const MOST_REFUSALS = 8;
/** Request Timeout, Too Early, Too Many Requests. */
const TRY_LATER: ReadonlySet<number> = new Set([408, 425, 429]);

/**
 * Posts a signed notice with a link to the document (Standard Webhooks). Its id is the delivery's, the same at every
 * attempt, so that a receiver can tell a repetition. Any 2xx answer counts as delivered, 410 as never again. One that
 * cannot be reached, or answers that it cannot for now, is tried for a day; one that refuses, a few times.
 */
export async function deliverByWebhook(
  p: Platform,
  execution: Execution & { storedFileId: string },
  { id, recipient, attempts }: OwedDelivery,
): Promise<Outcome> {
  if (p.config.WEBHOOK_SECRET === null) {
    return { status: "Failed", reason: "This service sends no webhooks." };
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
    "webhook-id": id,
    "webhook-timestamp": String(Math.floor(now.getTime() / 1000)),
    "webhook-signature": new Webhook(p.config.WEBHOOK_SECRET).sign(id, now, body),
    ...(execution.traceId ? { traceparent: traceparent(execution.traceId) } : {}),
  };
  try {
    const { status } = await createHttpOut({ allow: p.config.OUTBOUND_ALLOW })
      .send({ url: recipient, method: "POST", headers, body });
    if (status >= 200 && status < 300) return { status: "Delivered" };
    const reason = `The receiver answered ${status}.`;
    if (status >= 500 || TRY_LATER.has(status)) return { status: "Owed", reason, isAway: true };
    return { status: status === 410 || attempts + 1 >= MOST_REFUSALS ? "Failed" : "Owed", reason };
  } catch (error) {
    if (error instanceof OutboundRefused) return { status: "Failed", reason: `Refused: ${error.message}.` };
    const reason = `The receiver could not be reached: ${(error as Error).message}`;
    return { status: "Owed", reason, isAway: true };
  }
}
