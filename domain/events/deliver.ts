import { HOUR_MS, MINUTE_MS, SECOND_MS } from "../../infra/clock.ts";
import { z } from "zod";
import { createHttpOut, OutboundRefused } from "../../infra/http_out/http_out.ts";
import { signatureHeaders } from "../../infra/http_out/webhook_signature.ts";
import { type Sql, transact, type Tx } from "../../infra/postgres/postgres.ts";
import { defineJob, type JobContext, PostponeJob } from "../jobs/job_type.ts";
import { storableText } from "../shared/cut_text.ts";
import type { Delivery, DeliveryStatus } from "./deliveries.ts";
import { DELIVERY_JOB, requeueDeliveries } from "./emit.ts";
import { countAttempt, recordFailure, recordSuccess } from "./endpoint_health.ts";
import { holdIfPaused } from "./pause_endpoint.ts";
import type { EventPlatform } from "./platform.ts";
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
    if (delivery.isOrdered && await holdIfLater(db, delivery.id)) {
      return { held: "an earlier delivery is pending" };
    }
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

/** Delay after the nth attempt of a delivery: the schedule that Standard Webhooks recommends. */
export const RETRY_DELAYS_MS: readonly number[] = [
  5 * SECOND_MS,
  5 * MINUTE_MS,
  30 * MINUTE_MS,
  2 * HOUR_MS,
  5 * HOUR_MS,
  10 * HOUR_MS,
  14 * HOUR_MS,
  20 * HOUR_MS,
  24 * HOUR_MS,
];

/** A Pending delivery, with the data that an attempt needs. */
interface PendingDelivery {
  id: string;
  endpointId: string;
  url: string;
  isActive: boolean;
  isPaused: boolean;
  /** Earlier deliveries about its object go first. */
  isOrdered: boolean;
  body: string;
  attemptCount: number;
  /** Attempts since the delivery was created or last redelivered; selects the delay before the next one. */
  roundAttempts: number;
  dueInMs: number;
}

/** Reads a Pending delivery; null if it has ended or was deleted. */
export async function readPendingDelivery(q: Sql, id: string): Promise<PendingDelivery | null> {
  const [delivery] = await q<PendingDelivery[]>`
    select d.id, d.endpoint_id, e.url, e.is_active, e.paused_at is not null as is_paused,
      d.order_key is not null as is_ordered, d.body, d.attempt_count, d.round_attempts,
      greatest(0, extract(epoch from d.next_attempt_at - now()) * 1000)::float8 as due_in_ms
    from webhook_deliveries d join webhook_endpoints e on e.id = d.endpoint_id
    where d.id = ${id} and d.status = 'Pending' and e.deleted_at is null`;
  return delivery ?? null;
}

/** How one attempt ended. */
interface Attempt extends Omit<Delivery["attempts"][number], "number"> {
  /** No retry can succeed. */
  isFinal: boolean;
}

/**
 * Writes how an attempt ended: the delivery becomes Delivered or Failed, or stays Pending until the next attempt. Of
 * two attempts with the same number, only the first one counts; the result of the other is `Superseded`.
 * @returns the delivery's new status, and the delay before the next attempt (null: no further attempt).
 */
export async function settleAttempt(
  p: EventPlatform,
  delivery: PendingDelivery,
  tried: Attempt,
): Promise<{ status: DeliveryStatus | "Superseded"; retryInMs: number | null }> {
  const isDelivered = tried.error === null;
  const delay = isDelivered || tried.isFinal ? undefined : RETRY_DELAYS_MS[delivery.roundAttempts];
  const status = isDelivered ? "Delivered" : delay === undefined ? "Failed" : "Pending";
  const isAccepted = await transact(p.sql, async (tx) => {
    const { count } = await tx`
      update webhook_deliveries set status = ${status}, attempt_count = attempt_count + 1,
        round_attempts = round_attempts + 1,
        next_attempt_at = now() + ${delay ?? null}::float8 * interval '1 ms',
        completed_at = case when ${status} <> 'Pending' then now() end
      where id = ${delivery.id} and status = 'Pending' and attempt_count = ${delivery.attemptCount}`;
    if (count === 0) return false;
    await tx`insert into webhook_attempts (delivery_id, number, attempted_at, duration_ms, status_code, error, answer)
      values (${delivery.id}, ${delivery.attemptCount + 1}, ${tried.attemptedAt}, ${tried.durationMs},
        ${tried.statusCode}, ${tried.error}, ${tried.answer})`;
    if (isDelivered) await recordSuccess(tx, delivery);
    else if (delivery.isActive) {
      await recordFailure(p, tx, delivery, {
        isGone: tried.statusCode === 410,
        error: tried.error ?? "",
      });
    }
    if (delivery.isActive) await countAttempt(tx, delivery.endpointId, isDelivered);
    if (delivery.isOrdered && status !== "Pending") await releaseNext(p, tx, delivery.id);
    return true;
  });
  return isAccepted ? { status, retryInMs: delay ?? null } : { status: "Superseded", retryInMs: null };
}

/**
 * Leaves a delivery without a job if an earlier one about its object is pending and the endpoint is still ordered. The locks
 * order it before or after the end of the earlier one and the end of the option, so that one of them releases it or it is
 * attempted.
 */
async function holdIfLater(q: Sql, id: string): Promise<boolean> {
  const { count } = await q`
    with earlier as (
      select e.id from webhook_deliveries d join webhook_endpoints w on w.id = d.endpoint_id and w.ordered
        join webhook_deliveries e on e.endpoint_id = d.endpoint_id and e.order_key = d.order_key and e.order_number < d.order_number
      where d.id = ${id} and e.status = 'Pending' order by e.order_number limit 1 for share of e, w
    )
    update webhook_deliveries d set held = true from earlier where d.id = ${id} and d.status = 'Pending'`;
  return count > 0;
}

/** Gives the next held delivery about the object of an ended one a new job. Runs in the transaction that ends it. */
async function releaseNext(p: Pick<EventPlatform, "wakeUps">, tx: Tx, endedId: string): Promise<void> {
  const next = await tx<{ id: string; tenantId: string }[]>`
    select n.id, e.tenant_id from webhook_deliveries d
    join webhook_deliveries n on n.endpoint_id = d.endpoint_id and n.order_key = d.order_key
    join webhook_endpoints e on e.id = d.endpoint_id
    where d.id = ${endedId} and n.status = 'Pending' and n.held order by n.order_number limit 1 for update of n`;
  await requeueDeliveries(p, tx, next);
}
