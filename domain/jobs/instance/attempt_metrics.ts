import type { Metrics } from "../../shared/metrics.ts";
import type { JobTypes } from "../job_type.ts";
import type { EndedAttempt } from "../ended_attempt.ts";

/** Maximum number of label values for types that callers declared. Further ones share a label. */
const MAX_DECLARED = 100;
const OTHER = "other";

interface OfType {
  label: string;
  wait: (seconds: number) => void;
  duration: (seconds: number) => void;
}

/** Counts ended attempts in the metrics of this instance, by job type. */
export class AttemptMetrics {
  readonly #byLabel = new Map<string, OfType>();
  #declared = 0;

  constructor(private readonly metrics: Metrics, private readonly types: JobTypes) {}

  count(ended: EndedAttempt[]): void {
    const counts = new Map<string, Map<string, number>>();
    for (const { jobTypeName, outcome, waitedMs, durationMs } of ended) {
      const { label, wait, duration } = this.#ofType(jobTypeName);
      let byOutcome = counts.get(label);
      if (!byOutcome) counts.set(label, byOutcome = new Map());
      byOutcome.set(outcome, (byOutcome.get(outcome) ?? 0) + 1);
      if (outcome === "Postponed" || waitedMs === null || durationMs === null) continue;
      wait(waitedMs / 1000);
      duration(durationMs / 1000);
    }
    for (const [label, byOutcome] of counts) {
      for (const [outcome, n] of byOutcome) this.metrics.jobAttempts.add([label, outcome], n);
    }
  }

  #ofType(name: string): OfType {
    const known = this.#byLabel.get(name);
    if (known) return known;
    const isOwn = this.types.get(name) !== undefined;
    if (!isOwn && this.#declared >= MAX_DECLARED) return this.#add(OTHER);
    if (!isOwn) this.#declared++;
    return this.#add(name);
  }

  #add(label: string): OfType {
    const { jobWaitSeconds, jobSeconds } = this.metrics;
    const added = { label, wait: jobWaitSeconds.observer([label]), duration: jobSeconds.observer([label]) };
    this.#byLabel.set(label, added);
    return added;
  }
}
