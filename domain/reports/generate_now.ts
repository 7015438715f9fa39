import { transact } from "../../infra/postgres/postgres.ts";
import { type Problem, problem } from "../problems/problem.ts";
import type { Platform } from "../shared/platform.ts";
import type { Execution } from "./execution.ts";
import { carryOut, describeFailure, RunSuperseded } from "./produce.ts";
import { checkRequest, queueReport, type ReportRequest, type Requester } from "./request_report.ts";
import { beginRun, failRun } from "./run.ts";

const LIMIT_MS = 60_000;
/** So long after the limit the run may take to end by itself. */
const ENDING_MS = 2_000;
/** So long after the limit the execution's job looks whether this instance died over it; if so, it runs again. */
const RESCUE_MS = 30_000;

/**
 * Generates a report while the caller waits, at most `limitMs`; then its query is cancelled. Refusals as `checkRequest`.
 * @throws REPORT_TOO_LARGE_FOR_SYNC, REPORT_NOT_FOUND when it was deleted meanwhile
 */
export async function generateNow(
  p: Platform,
  requester: Requester,
  request: ReportRequest,
  limitMs = LIMIT_MS,
): Promise<Execution> {
  const checked = checkRequest(p, requester, request);
  const rescueAt = new Date(p.clock.now().getTime() + limitMs + RESCUE_MS);
  const { id } = await transact(
    p.sql,
    (tx) => queueReport(p, tx, requester, checked, { startsAt: rescueAt }),
  );
  const limit = new AbortController();
  const timer = setTimeout(() => limit.abort(tooLarge(limitMs)), limitMs);
  try {
    return await runWithin(p, id, limit.signal);
  } finally {
    clearTimeout(timer);
  }
}

async function runWithin(p: Platform, id: string, signal: AbortSignal): Promise<Execution> {
  let release = () => {};
  try {
    release = await p.reports.slots.take(signal);
  } catch (error) {
    const run = await beginRun(p, id);
    if (run) await failRun(p, run, describeFailure(error));
    throw error;
  }
  try {
    const run = await beginRun(p, id);
    if (!run) throw deletedMeanwhile(id);
    return await unlessLate(carryOut(p, run, signal), signal).catch(async (error) => {
      if (error instanceof RunSuperseded) throw deletedMeanwhile(id);
      await failRun(p, run, describeFailure(signal.aborted ? signal.reason : error));
      throw signal.aborted ? signal.reason : error;
    });
  } finally {
    release();
  }
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

const tooLarge = (limitMs: number): Problem =>
  problem(
    "REPORT_TOO_LARGE_FOR_SYNC",
    `The report was not ready after the ${
      limitMs / 1000
    } s a synchronous generation may take; use generate-async.`,
  );

const deletedMeanwhile = (id: string): Problem =>
  problem("REPORT_NOT_FOUND", `The execution ${id} was deleted while it was generated.`);
