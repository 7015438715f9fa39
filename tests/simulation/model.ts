// What was committed, in the order of commits, and the rules that each change must keep.
import { RULES } from "./change_rules.ts";

/** A row as Postgres prints it in JSON. */
// deno-lint-ignore no-explicit-any -- columns of any table
export type Row = Record<string, any>;

/** A committed change of a row. */
export interface Change {
  n: number;
  /** When its statement ran; the commit may come later. */
  at: Date;
  name: string;
  before: Row | null;
  after: Row | null;
}

export interface Violation {
  rule: string;
  what: string;
}

/** A start of a job with a rate limit. */
export interface BucketLevel {
  tokens: number;
  at: number;
}

/** The committed rows, and what rules remember of the past. */
export class Model {
  readonly jobs = new Map<string, Row>();
  readonly batches = new Map<string, Row>();
  readonly recurring = new Map<string, Row>();
  readonly deadLetters = new Map<string, Row>();
  readonly workers = new Map<string, Row>();
  readonly buckets = new Map<string, BucketLevel>();
  /** How often each thing happened that may happen once. */
  readonly counts = new Map<string, number>();
  /** One line for each change, without what differs between runs of a seed. */
  readonly history: string[] = [];
  readonly #aliases = new Map<string, string>();

  /** A short name of an id: the first job is j1. */
  alias(id: string | null, kind = "j"): string {
    if (id === null) return "-";
    let alias = this.#aliases.get(id);
    if (!alias) this.#aliases.set(id, alias = `${kind}${this.#aliases.size + 1}`);
    return alias;
  }

  count(what: string): number {
    const n = (this.counts.get(what) ?? 0) + 1;
    this.counts.set(what, n);
    return n;
  }

  /** Adds the changes of one commit. @returns the broken rules */
  commit(changes: Change[]): Violation[] {
    const violations: Violation[] = [];
    for (const change of changes) {
      this.#describe(change);
      for (const [rule, check] of Object.entries(RULES)) {
        const what = check(this, change);
        if (what) violations.push({ rule, what });
      }
      this.#store(change);
    }
    for (const what of this.#overLimit()) violations.push({ rule: "limits", what });
    return violations;
  }

  limits: Record<string, number> = {};

  *#overLimit(): Iterable<string> {
    const running = new Map<string, number>();
    for (const job of this.jobs.values()) {
      if (job.status === "Processing" && job.limit_key) {
        running.set(job.limit_key, (running.get(job.limit_key) ?? 0) + 1);
      }
    }
    for (const [key, n] of running) {
      const most = this.limits[key] ?? Infinity;
      if (n > most) yield `${n} jobs of ${key} run, at most ${most} may`;
    }
  }

  #tableOf(name: string): Map<string, Row> | undefined {
    return {
      jobs: this.jobs,
      job_batches: this.batches,
      recurring_jobs: this.recurring,
      dead_letter_jobs: this.deadLetters,
      job_workers: this.workers,
    }[name];
  }

  #store({ name, before, after }: Change): void {
    const table = this.#tableOf(name);
    if (after) table?.set(after.id, after);
    else if (before) table?.delete(before.id);
  }

  #describe({ name, before, after }: Change): void {
    const row = after ?? before ?? {};
    if (name === "job_workers") {
      if (!before || !after) {
        this.history.push(`${after ? "lease" : "lease ended"} ${this.alias(row.id, "w")}`);
      }
      return;
    }
    const changed = Object.keys(row).filter((key) =>
      SHOWN.has(key) && (!before || !after || JSON.stringify(before[key]) !== JSON.stringify(after[key]))
    );
    const show = (key: string) => {
      const value = row[key];
      return key.endsWith("_id") || key === "settled_by" ? this.alias(value, "w") : JSON.stringify(value);
    };
    const verb = !before ? "+" : !after ? "-" : "";
    const kind = { jobs: "j", job_batches: "b", recurring_jobs: "r", dead_letter_jobs: "d" }[name] ?? "x";
    const values = changed.filter((key) => row[key] !== null && row[key] !== false || before)
      .map((key) => `${key}=${show(key)}`);
    this.history.push(`${verb}${this.alias(row.id, kind)} ${values.join(" ")}`);
  }
}

/** Columns in the history. Texts with numbers that differ between runs are left out. */
const SHOWN = new Set([
  "status",
  "job_type_name",
  "lane",
  "priority",
  "due_at",
  "attempts",
  "failures",
  "worker_id",
  "settled_by",
  "lost_leases",
  "lease_until",
  "completed_at",
  "unique_key",
  "is_key_released",
  "parent_job_id",
  "batch_id",
  "cancel_requested_at",
  "next_run_at",
  "retried_job_id",
  "recurring_job_id",
]);
