/** An attempt whose end was written. */
export interface EndedAttempt {
  jobId: string;
  jobTypeName: string;
  tenantId: string | null;
  attempt: number;
  traceId: string | null;
  outcome: AttemptOutcome;
  error: string | null;
  /** Time from the job's due time to the start of the attempt, in ms; null if the attempt's worker died. */
  waitedMs: number | null;
  /** Null if the attempt's worker died. */
  durationMs: number | null;
}

/**
 * Failed: a retry follows. DeadLettered: it was the last attempt. Abandoned: interrupted by a crash or a stop, and the
 * job runs again. Postponed: the job waits and did not fail.
 */
export type AttemptOutcome = "Succeeded" | "Failed" | "DeadLettered" | "Abandoned" | "Postponed";

/** Called after the ends of attempts were written. */
export type OnEnded = (ended: EndedAttempt[]) => void;
