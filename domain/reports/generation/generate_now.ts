import { type Sql, transact } from "../../../infra/postgres/postgres.ts";
import { withTimeout } from "../../../infra/timeout.ts";
import { type Problem, problem } from "../../problems/problem.ts";
import type { OnceWork } from "../../requests/idempotency.ts";
import type { Execution } from "../execution.ts";
import type { ReportPlatform } from "../platform.ts";
import { takeSlot } from "../request_slot.ts";
import { beginRun, failRun } from "../run.ts";
import { STATUS } from "../status.ts";
import { describeFailure, produceDocument, RunSuperseded } from "./produce.ts";
import { checkRequest, queueReport, type ReportRequest, type Requester } from "./request_report.ts";

const LIMIT_MS = 60_000;
/** Time that the run has, after the time limit, to stop by itself. */
const GRACE_MS = 2_000;
/** Time from the time limit to the execution's job, which runs the report again if this instance has crashed. */
const RESCUE_MS = 30_000;

/**
 * Generates a report while the caller waits. It waits up to `p.reports.slotWaitMs` for a slot (without one, nothing is
 * written) and then up to `limitMs` for the document; after that its query is cancelled.
 * @param once for a repeated request: continues the execution of the interrupted request with a new run
 * @throws as `checkRequest`; REPORT_BUSY_UNAVAILABLE, REPORT_TOO_LARGE_FOR_SYNC, REPORT_NOT_FOUND if the execution was
 * deleted during the run
 */
export async function generateNow(
  p: ReportPlatform,
  requester: Requester,
  request: ReportRequest,
  limitMs = LIMIT_MS,
  once: OnceWork | null = null,
): Promise<Execution> {
  const checked = checkRequest(p, requester, request);
  const earlier = once?.isRepeat ? await findInterrupted(p.sql, once.id) : null;
  if (earlier?.status === STATUS.Completed) return earlier;
  const release = await takeSlot(p, requester.tenantId);
  const limit = new AbortController();
  const timer = setTimeout(() => limit.abort(tooLarge(limitMs)), limitMs);
  try {
    const rescueAt = new Date(p.clock.now().getTime() + limitMs + RESCUE_MS);
    const { id } = earlier ?? await transact(
      p.sql,
      // On a repeat whose first execution failed, the id is taken, so the new execution gets another id.
      (tx) =>
        queueReport(p, tx, requester, checked, {
          startsAt: rescueAt,
          ...once && !once.isRepeat ? { id: once.id } : {},
        }),
    );
    return await runWithin(p, id, { limitMs, signal: limit.signal });
  } finally {
    clearTimeout(timer);
    release();
  }
}

/** The execution of an interrupted request; null if it has failed or was deleted. */
async function findInterrupted(q: Sql, id: string): Promise<Execution | null> {
  const [execution] = await q<Execution[]>`
    select * from report_executions where id = ${id} and deleted_at is null
      and status in (${STATUS.Queued}, ${STATUS.Generating}, ${STATUS.Completed})`;
  return execution ?? null;
}

/**
 * Waits for the document until GRACE_MS after the limit. The object store may not react to the abort, and the caller must
 * not wait for it. A document stored later is released, because its run is no longer current.
 */
async function runWithin(
  p: ReportPlatform,
  id: string,
  { limitMs, signal }: { limitMs: number; signal: AbortSignal },
): Promise<Execution> {
  const run = await beginRun(p, id);
  if (!run) throw deletedDuringRun(id);
  const work = produceDocument(p, run, signal);
  return await withTimeout(limitMs + GRACE_MS, work, () => tooLarge(limitMs)).catch(async (error) => {
    if (error instanceof RunSuperseded) throw deletedDuringRun(id);
    await failRun(p, run, describeFailure(signal.aborted ? signal.reason : error));
    throw signal.aborted ? signal.reason : error;
  });
}

const tooLarge = (limitMs: number): Problem =>
  problem(
    "REPORT_TOO_LARGE_FOR_SYNC",
    `The report was not ready within ${limitMs / 1000} s, the limit of this route; use generate-async.`,
  );

const deletedDuringRun = (id: string): Problem =>
  problem("REPORT_NOT_FOUND", `The execution ${id} was deleted during its generation.`);
