import { z } from "zod";
import { createHttpOut, OutboundRefused } from "../../infra/http_out/http_out.ts";
import { signatureHeaders } from "../../infra/http_out/webhook_signature.ts";
import { defineJob, type JobContext, PostponeJob } from "../jobs/job_type.ts";
import { DELIVERY_JOB } from "./delivery_job.ts";
import { storableText } from "../shared/cut_text.ts";
import { holdIfPaused } from "./pause_endpoint.ts";
import type { EventPlatform } from "./platform.ts";
import { type Attempt, type PendingDelivery, readPendingDelivery, settleAttempt } from "./settle_delivery.ts";
import { readSecrets } from "./signing_secrets.ts";

const ANSWER_MS = 15_000;
const ANSWER_KEPT_BYTES = 1024;
/** Maximum time before its due time at which an attempt may start. */
const EARLY_MS = 1_000;
const args = z.object({ deliveryId: z.guid() });

/**
 * Makes one attempt at a delivery. A failing receiver never fails the job: the job is postponed to the time of the next
 * attempt, or ends with the delivery. It may run again after a crash, so a receiver can get a delivery twice, with the
 * same id.
 */
export const deliveryJob = defineJob({
  ...DELIVERY_JOB,
  args,
  timeoutMs: 2 * ANSWER_MS,
  async run({ deliveryId }, { platform, db, signal }: JobContext<EventPlatform>) {
    const delivery = await readPendingDelivery(db, deliveryId);
    if (!delivery) return { skipped: "the delivery has ended, or was deleted with its endpoint" };
    if (delivery.isPaused && await holdIfPaused(db, delivery)) return { held: "the endpoint is paused" };
    if (delivery.dueInMs > EARLY_MS) throw new PostponeJob("the delivery is not due yet", delivery.dueInMs);
    const tried = delivery.isActive
      ? await attempt(platform, delivery, signal)
      : inactive(platform.clock.now());
    signal.throwIfAborted();
    const { status, retryInMs } = await settleAttempt(platform, delivery, tried);
    if (retryInMs !== null) throw new PostponeJob(tried.error ?? "", retryInMs);
    return { status };
  },
});

const inactive = (attemptedAt: Date): Attempt => ({
  attemptedAt,
  durationMs: 0,
  statusCode: null,
  error: "The endpoint is not active.",
  answer: null,
  isFinal: true,
});

async function attempt(
  p: Pick<EventPlatform, "config" | "sql" | "clock">,
  delivery: PendingDelivery,
  signal: AbortSignal,
): Promise<Attempt> {
  const http = createHttpOut({ allow: p.config.OUTBOUND_ALLOW, wholeMs: ANSWER_MS, followsRedirects: false });
  const attemptedAt = p.clock.now();
  const startedAt = performance.now();
  const elapsed = () => ({ attemptedAt, durationMs: Math.round(performance.now() - startedAt) });
  const secrets = await readSecrets(p.sql, delivery.endpointId);
  try {
    const { status, body } = await http.send({
      url: delivery.url,
      method: "POST",
      headers: {
        "content-type": "application/json",
        "user-agent": "steward-webhook",
        ...signatureHeaders(secrets, delivery.id, attemptedAt, delivery.body),
      },
      body: delivery.body,
      signal,
    });
    const isAccepted = status >= 200 && status < 300;
    return {
      ...elapsed(),
      statusCode: status,
      error: isAccepted ? null : `The receiver answered ${status}.`,
      answer: storableText(new TextDecoder().decode(body.subarray(0, ANSWER_KEPT_BYTES), { stream: true })),
      isFinal: status === 410,
    };
  } catch (error) {
    const { message } = error as Error;
    const isFinal = error instanceof OutboundRefused;
    return {
      ...elapsed(),
      statusCode: null,
      answer: null,
      isFinal,
      error: isFinal ? `Refused: ${message}.` : `The receiver could not be reached: ${message}`,
    };
  }
}
