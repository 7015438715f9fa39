import { type Problem, problem } from "../problems/problem.ts";
import type { ReportPlatform } from "./platform.ts";

/** The `retry-after` header when no slot became free. */
const RETRY_AFTER_S = 10;

/** Takes a slot for a document that the caller waits for. @throws REPORT_BUSY_UNAVAILABLE */
export async function takeSlot(p: Pick<ReportPlatform, "reports">): Promise<() => void> {
  const { slots, slotWaitMs } = p.reports;
  const patience = new AbortController();
  const timer = setTimeout(() => patience.abort(busy(slotWaitMs)), slotWaitMs);
  try {
    return await slots.take(patience.signal);
  } finally {
    clearTimeout(timer);
  }
}

const busy = (waitedMs: number): Problem =>
  problem(
    "REPORT_BUSY_UNAVAILABLE",
    `The maximum number of reports is running, and none ended within ${waitedMs / 1000} s.`,
    { headers: { "retry-after": String(RETRY_AFTER_S) } },
  );
