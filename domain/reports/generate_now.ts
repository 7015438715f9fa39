import { type Sql, transact } from "../../infra/postgres/postgres.ts";
import { type Problem, problem } from "../problems/problem.ts";
import type { OnceWork } from "../requests/idempotency.ts";
import type { Platform } from "../shared/platform.ts";
import type { Execution } from "./execution.ts";
import { STATUS } from "./formats.ts";
import { carryOut, describeFailure, RunSuperseded } from "./produce.ts";
import { checkRequest, queueReport, type ReportRequest, type Requester } from "./request_report.ts";
import { beginRun, failRun } from "./run.ts";

const LIMIT_MS = 60_000;
/** When to ask again after no slot came free. */
const RETRY_AFTER_S = 10;
/** So long after the limit the run may take to end by itself. */
const ENDING_MS = 2_000;
/** So long after the limit the execution's job looks whether this instance died over it; if so, it runs again. */
const RESCUE_MS = 30_000;

/**
 * Generates a report while the caller waits: for a slot as long as `p.reports.slotWaitMs`, then at most `limitMs`; then
 * its query is cancelled. Without a slot nothing is written. Refusals as `checkRequest`.
 * @param once a repeat goes on with the execution of the interrupted request, whose run then no longer counts.
 * @throws REPORT_BUSY_UNAVAILABLE, REPORT_TOO_LARGE_FOR_SYNC, REPORT_NOT_FOUND when it was deleted meanwhile
 */
export async function generateNow(
  p: Platform,
  requester: Requester,
  request: ReportRequest,
  limitMs = LIMIT_MS,
  once: OnceWork | null = null,
): Promise<Execution> {
  const checked = checkRequest(p, requester, request);
  const earlier = once?.isRepeat ? await findInterrupted(p.sql, once.id) : null;
  if (earlier?.status === STATUS.Completed) return earlier;
  const release = await takeSlot(p);
  const limit = new AbortController();
  const timer = setTimeout(() => limit.abort(tooLarge(limitMs)), limitMs);
  try {
    const rescueAt = new Date(p.clock.now().getTime() + limitMs + RESCUE_MS);
    const { id } = earlier ?? await transact(
      p.sql,
      // An execution that has failed keeps its id: the repeat makes another.
      (tx) =>
        queueReport(p, tx, requester, checked, {
          startsAt: rescueAt,
          ...once && !once.isRepeat ? { id: once.id } : {},
        }),
    );
    return await runWithin(p, id, limit.signal);
  } finally {
    clearTimeout(timer);
    release();
  }
}

/** @throws REPORT_BUSY_UNAVAILABLE */
async function takeSlot(p: Platform): Promise<() => void> {
  const { slots, slotWaitMs } = p.reports;
  const patience = new AbortController();
  const timer = setTimeout(() => patience.abort(busy(slotWaitMs)), slotWaitMs);
  try {
    return await slots.take(patience.signal);
  } finally {
    clearTimeout(timer);
  }
}

/** The execution an interrupted request has queued, unless it has failed or was deleted since. */
async function findInterrupted(sql: Sql, id: string): Promise<Execution | null> {
  const [execution] = await sql<Execution[]>`
    select * from report_executions where id = ${id} and deleted_at is null
      and status in (${STATUS.Queued}, ${STATUS.Generating}, ${STATUS.Completed})`;
  return execution ?? null;
}

async function runWithin(p: Platform, id: string, signal: AbortSignal): Promise<Execution> {
  const run = await beginRun(p, id);
  if (!run) throw deletedMeanwhile(id);
  return await unlessLate(carryOut(p, run, signal), signal).catch(async (error) => {
    if (error instanceof RunSuperseded) throw deletedMeanwhile(id);
    await failRun(p, run, describeFailure(signal.aborted ? signal.reason : error));
    throw signal.aborted ? signal.reason : error;
  });
}

/**
 * What the work comes to, or the signal's reason soon after it was aborted: a store that does not answer hears of no
 * limit, but the caller is told. What is stored late is let go, as of any run that no longer counts.
 */
async function unlessLate<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  const late = Promise.withResolvers<never>();
  let timer: ReturnType<typeof setTimeout> | undefined;
  const give = () => timer = setTimeout(() => late.reject(signal.reason), ENDING_MS);
  if (signal.aborted) give();
  else signal.addEventListener("abort", give, { once: true });
  try {
    return await Promise.race([work, late.promise]);
  } finally {
    signal.removeEventListener("abort", give);
    clearTimeout(timer);
  }
}

const busy = (waitedMs: number): Problem =>
  problem(
    "REPORT_BUSY_UNAVAILABLE",
    `As many reports as may run at once are running, and none ended within ${waitedMs / 1000} s.`,
    { headers: { "retry-after": String(RETRY_AFTER_S) } },
  );

const tooLarge = (limitMs: number): Problem =>
  problem(
    "REPORT_TOO_LARGE_FOR_SYNC",
    `The report was not ready after the ${
      limitMs / 1000
    } s a synchronous generation may take; use generate-async.`,
  );

const deletedMeanwhile = (id: string): Problem =>
  problem("REPORT_NOT_FOUND", `The execution ${id} was deleted while it was generated.`);
