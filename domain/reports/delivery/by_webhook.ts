import { createHttpOut, OutboundRefused } from "../../../infra/http_out/http_out.ts";
import { traceparent } from "../../../infra/telemetry/trace_ids.ts";
import { Webhook } from "standardwebhooks";
import { signFileDownload } from "../../files/service_files.ts";
import type { Platform } from "../../shared/platform.ts";
import type { Execution } from "../execution.ts";
import type { Outcome, OwedDelivery } from "./delivery.ts";

const MOST_ATTEMPTS = 8;
const LINK_SECONDS = 60 * 60;

/**
 * Posts a signed notice with a link to the document (Standard Webhooks). Its id is the delivery's, the same at every
 * attempt, so that a receiver can tell a repetition. Any 2xx answer counts as delivered, 410 as never again.
 */
export async function deliverByWebhook(
  p: Platform,
  execution: Execution & { storedFileId: string },
  { id, recipient, attempts }: OwedDelivery,
): Promise<Outcome> {
  if (p.config.WEBHOOK_SECRET === null) {
    return { status: "Failed", reason: "This service sends no webhooks." };
  }
  const { url, expiresAt } = await signFileDownload(p, execution.storedFileId, {
    expiresInSeconds: LINK_SECONDS,
  });
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
    return triedAgain(attempts, `The receiver answered ${status}.`, status === 410);
  } catch (error) {
    if (error instanceof OutboundRefused) return { status: "Failed", reason: `Refused: ${error.message}.` };
    return triedAgain(attempts, `The receiver could not be reached: ${(error as Error).message}`);
  }
}

function triedAgain(attempts: number, reason: string, isFinal = false): Outcome {
  return { status: isFinal || attempts + 1 >= MOST_ATTEMPTS ? "Failed" : "Owed", reason };
}
