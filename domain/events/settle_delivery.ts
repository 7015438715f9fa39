import { type Sql, transact, type Tx } from "../../infra/postgres/postgres.ts";
import type { DeliveryStatus } from "./deliveries.ts";
import { countAttempt } from "./attempt_counts.ts";
import { recordFailure, recordSuccess } from "./endpoint_health.ts";
import type { EventPlatform } from "./platform.ts";

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

/** Delay after the nth attempt of a delivery: the schedule that Standard Webhooks recommends. */
export const RETRY_DELAYS_MS: readonly number[] = [
  5 * SECOND,
  5 * MINUTE,
  30 * MINUTE,
  2 * HOUR,
  5 * HOUR,
  10 * HOUR,
  14 * HOUR,
  20 * HOUR,
  24 * HOUR,
];

/** A Pending delivery, with the data that an attempt needs. */
export interface PendingDelivery {
  id: string;
  endpointId: string;
  url: string;
  isActive: boolean;
  isPaused: boolean;
  body: string;
  attemptCount: number;
  /** Attempts since the delivery was created or last redelivered; selects the delay before the next one. */
  roundAttempts: number;
  dueInMs: number;
}

/** Reads a Pending delivery; null if it has ended or was deleted. */
export async function readPendingDelivery(q: Sql, id: string): Promise<PendingDelivery | null> {
  const [delivery] = await q<PendingDelivery[]>`
    select d.id, d.endpoint_id, e.url, e.is_active, e.paused_at is not null as is_paused, d.body, d.attempt_count, d.round_attempts,
      greatest(0, extract(epoch from d.next_attempt_at - now()) * 1000)::float8 as due_in_ms
    from webhook_deliveries d join webhook_endpoints e on e.id = d.endpoint_id
    where d.id = ${id} and d.status = 'Pending' and e.deleted_at is null`;
  return delivery ?? null;
}

/** How one attempt ended. */
export interface Attempt {
  attemptedAt: Date;
  durationMs: number;
  statusCode: number | null;
  /** Null: delivered. */
  error: string | null;
  answer: string | null;
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
    await insertAttempt(tx, delivery, tried);
    if (isDelivered) await recordSuccess(tx, delivery.endpointId);
    else if (delivery.isActive) {
      await recordFailure(p, tx, delivery.endpointId, {
        isGone: tried.statusCode === 410,
        error: tried.error ?? "",
      });
    }
    if (delivery.isActive) await countAttempt(tx, delivery.endpointId, isDelivered);
    return true;
  });
  return isAccepted ? { status, retryInMs: delay ?? null } : { status: "Superseded", retryInMs: null };
}

async function insertAttempt(tx: Tx, delivery: PendingDelivery, tried: Attempt): Promise<void> {
  await tx`insert into webhook_attempts (delivery_id, number, attempted_at, duration_ms, status_code, error, answer)
    values (${delivery.id}, ${delivery.attemptCount + 1}, ${tried.attemptedAt}, ${tried.durationMs},
      ${tried.statusCode},
      ${tried.error}, ${tried.answer})`;
}
