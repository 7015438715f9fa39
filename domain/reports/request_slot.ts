import { type Problem, problem } from "../problems/problem.ts";
import type { ReportPlatform } from "./platform.ts";

/** The `retry-after` header when no slot became free, and when too many requests wait. */
const RETRY_AFTER_S = 10;

/** Takes a slot for a document that the caller waits for. @throws REPORT_BUSY_UNAVAILABLE */
export async function takeSlot(
  p: Pick<ReportPlatform, "reports">,
  tenantId: string | null,
): Promise<() => void> {
  const { slots, slotWaitMs, maxWaiting } = p.reports;
  const waiting = slots.waitingOf(tenantId);
  if (waiting > 0 && waiting >= maxWaiting / 2) {
    throw busy(`The maximum number of reports is running, and ${waiting} others of the tenant wait already.`);
  }
  if (slots.waiting >= maxWaiting) {
    throw busy(`The maximum number of reports is running, and ${slots.waiting} others wait already.`);
  }
  const release = await slots.takeWithin(tenantId, slotWaitMs);
  if (release) return release;
  throw busy(`The maximum number of reports is running, and none ended within ${slotWaitMs / 1000} s.`);
}

const busy = (detail: string): Problem =>
  problem("REPORT_BUSY_UNAVAILABLE", detail, { headers: { "retry-after": String(RETRY_AFTER_S) } });
