import { type Queryable, transact, type Tx } from "../../infra/postgres/postgres.ts";
import type { Platform } from "../shared/platform.ts";
import type { DeliveryStatus } from "./deliveries.ts";
import type { Attempt } from "./deliver.ts";
import { noteFailure, noteSuccess } from "./endpoint_health.ts";

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

/** What is waited after the nth attempt of a delivery: the schedule Standard Webhooks proposes. */
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

/** A Pending delivery with what an attempt needs. */
export interface OwedDelivery {
  id: string;
  endpointId: string;
  url: string;
  isActive: boolean;
  body: string;
  attemptCount: number;
  roundAttempts: number;
  dueInMs: number;
}

/** A delivery that is still owed; null when it has ended or is gone. */
export async function readOwed(q: Queryable, id: string): Promise<OwedDelivery | null> {
  const [owed] = await q<OwedDelivery[]>`
    select d.id, d.endpoint_id, e.url, e.is_active, d.body, d.attempt_count, d.round_attempts,
      greatest(0, extract(epoch from d.next_attempt_at - now()) * 1000)::float8 as due_in_ms
    from webhook_deliveries d join webhook_endpoints e on e.id = d.endpoint_id
    where d.id = ${id} and d.status = 'Pending'`;
  return owed ?? null;
}

/**
 * Writes how an attempt ended: Pending becomes Delivered or Failed, or stays until the next attempt. Only the first
 * of two attempts of the same number counts.
 * @returns what became of the delivery, and when to try again.
 */
export async function settleAttempt(
  p: Platform,
  owed: OwedDelivery,
  tried: Attempt,
): Promise<{ status: DeliveryStatus | "Superseded"; retryInMs: number | null }> {
  const isDelivered = tried.error === null;
  const delay = isDelivered || tried.isFinal ? undefined : RETRY_DELAYS_MS[owed.roundAttempts];
  const status = isDelivered ? "Delivered" : delay === undefined ? "Failed" : "Pending";
  const isOurs = await transact(p.sql, async (tx) => {
    const { count } = await tx`
      update webhook_deliveries set status = ${status}, attempt_count = attempt_count + 1,
        round_attempts = round_attempts + 1,
        next_attempt_at = now() + ${delay ?? null}::float8 * interval '1 ms',
        completed_at = case when ${status} <> 'Pending' then now() end
      where id = ${owed.id} and status = 'Pending' and attempt_count = ${owed.attemptCount}`;
    if (count === 0) return false;
    await insertAttempt(tx, owed, tried);
    if (isDelivered) await noteSuccess(tx, owed.endpointId);
    else if (owed.isActive) {
      await noteFailure(p, tx, owed.endpointId, {
        isGone: tried.statusCode === 410,
        error: tried.error ?? "",
      });
    }
    return true;
  });
  return isOurs ? { status, retryInMs: delay ?? null } : { status: "Superseded", retryInMs: null };
}

async function insertAttempt(tx: Tx, owed: OwedDelivery, tried: Attempt): Promise<void> {
  await tx`insert into webhook_attempts (delivery_id, number, attempted_at, duration_ms, status_code, error, answer)
    values (${owed.id}, ${
    owed.attemptCount + 1
  }, ${tried.attemptedAt}, ${tried.durationMs}, ${tried.statusCode},
      ${tried.error}, ${tried.answer})`;
}
