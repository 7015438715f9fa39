import type { z } from "zod";
import type { Log } from "../../infra/log.ts";

/** What a running attempt gets besides its arguments. */
export interface JobContext {
  jobId: string;
  /** Tenant the job belongs to; null for the service's own. */
  tenantId: string | null;
  createdBy: string | null;
  /** W3C id of the trace the job was enqueued in; null where nobody's request was. */
  traceId: string | null;
  /** Counts from 1; a job whose worker died runs again under the next number. */
  attempt: number;
  /** Attempts that failed before this one; as many as `maxRetries` make this the last. */
  failures: number;
  maxRetries: number;
  /**
   * True while an outage of a dependency is waited out: the handler may throw `DependencyAway`. False once this job has
   * met nothing but outages for 24 hours: another one counts as a failure, so the handler should treat it as one.
   */
  waitsForDependencies: boolean;
  /** How many workers lost their lease while they ran this job: they crashed, froze or lost the database. */
  lostLeases: number;
  /** Aborted when the attempt's time is over, its lease is lost, or the service stops. */
  signal: AbortSignal;
  /** Its lines go to the service's log and are kept with the execution. */
  log: Log;
  /** Reports how far the attempt is, 0 to 100; the last report is kept with the execution. */
  progress(percent: number, note?: string): void;
}

/** Where arguments hold a secret. */
export interface SecretArg {
  /** Members from the outside in, joined by dots; `*` stands for all members there. */
  path: string;
  /** Lower-case names `*` does not stand for. */
  except?: readonly string[];
  /** Only this part of a URL is secret. */
  part?: "userinfo";
}

/** A kind of background work: its name, the shape of its arguments, and what it does. */
export interface JobType<A = unknown> {
  /** Type-qualified name, such as `steward.echo`. */
  name: string;
  args: z.ZodType<A>;
  /** True where HTTP callers may enqueue it. */
  exposed: boolean;
  /**
   * True where its work is done with the rights of the job's creator. Only a person may ask for it then, since a key has
   * fewer rights than whoever made it, and running it again or changing it never lends it somebody else's rights.
   */
  actsForCreator?: true;
  /** What callers need to enqueue it, or to change what it does; absent: nothing. */
  permission?: string;
  /** Arguments that are stored as given and shown as `***` everywhere. */
  secretArgs?: readonly SecretArg[];
  /** Whom the secrets are for: a change of the arguments keeps them for the same receiver only. */
  receiver?(args: unknown): string;
  /** An attempt that takes longer is ended and counts as failed. */
  timeoutMs: number;
  /** Retries after the first attempt, unless the job says otherwise. */
  maxRetries: number;
  /** Most jobs of this type that run at once in the whole service; absent: no limit. */
  concurrency?: number;
  /**
   * Most of an instance's places that jobs of this type take, as a part of them, at least one job; absent: no limit. For
   * slow work, so that it leaves places for other jobs.
   */
  share?: number;
  /**
   * Places of a worker that one attempt takes; absent: one. Less for work that mostly waits for another server, so that
   * more of it runs at once. A power of two, so that sums are exact.
   */
  places?: number;
  /** Five-field cron expression (UTC) by which the service itself enqueues it with `{}`; absent: only when asked. */
  cron?: string;
  /** Does the work. It may run again after a crash, so it must do no harm twice. The result is kept as `output`. */
  run(args: A, context: JobContext): Promise<unknown>;
}

const DEFAULTS = { exposed: false, timeoutMs: 5 * 60_000, maxRetries: 3 };

/** Declares a job type; what is left out: not exposed, five minutes an attempt, three retries. */
export function defineJob<A>(
  spec: Pick<JobType<A>, "name" | "args" | "run"> & Partial<JobType<A>>,
): JobType<A> {
  return { ...DEFAULTS, ...spec };
}

/** Thrown by a job that cannot go on now through no fault of its own: it runs again after `delayMs`, however often. */
export class PostponeJob extends Error {
  override name = "PostponeJob";
  constructor(reason: string, readonly delayMs: number) {
    super(reason);
  }
}

/** How long a job waits for a dependency that is away before each further outage counts as a failed attempt. */
export const LONGEST_OUTAGE_MS = 24 * 3_600_000;

/**
 * Thrown by a job whose dependency does not answer now (a store, a mail server, a database): the job runs again after
 * growing pauses, from 2 s to 5 min, and maxRetries is not touched. After 24 h of outages in a row another one counts
 * as a failed attempt. Only for what ends by itself: a refusal is an ordinary error or a `HopelessJob`.
 */
export class DependencyAway extends Error {
  override name = "DependencyAway";
  /** Shortest pause the dependency asked for, in ms. */
  readonly retryAfterMs: number;
  constructor(reason: string, o: { retryAfterMs?: number; cause?: unknown } = {}) {
    super(reason, { cause: o.cause });
    this.retryAfterMs = o.retryAfterMs ?? 0;
  }
}

/** Thrown by a job for which no retry can help: it is dead-lettered at once. */
export class HopelessJob extends Error {
  override name = "HopelessJob";
}

/** A job type of any arguments; its own `args` prove them at run time. */
// deno-lint-ignore no-explicit-any -- types of different arguments live in one registry
export type AnyJobType = JobType<any>;

/**
 * Is the type's work done with the rights of the job's creator? One this instance does not know is taken for such a
 * type: a newer instance may know better, and the command line knows none.
 */
export const isForCreator = (type: AnyJobType | undefined): boolean =>
  type === undefined || type.actsForCreator === true;

const isLimited = (type: AnyJobType): boolean => type.concurrency !== undefined || type.share !== undefined;

/** What keeps jobs of this type together where it limits how many run at once; null where it does not. */
export const limitKeyOf = (type: AnyJobType | undefined): string | null =>
  type && isLimited(type) ? type.name : null;

/** The job types of a service, by name. */
export class JobTypes {
  #byName = new Map<string, AnyJobType>();
  /** Does any type limit how many of it run at once? Asked at every settling, so it is kept rather than looked up. */
  hasLimits = false;

  /** @throws Error when the name is taken. */
  register(...types: AnyJobType[]): void {
    for (const type of types) {
      if (this.#byName.has(type.name)) throw new Error(`two job types are called ${type.name}`);
      this.#byName.set(type.name, type);
      this.hasLimits ||= isLimited(type);
    }
  }

  get(name: string): AnyJobType | undefined {
    return this.#byName.get(name);
  }

  /** Types the service itself enqueues by their `cron`. */
  recurring(): (JobType & { cron: string })[] {
    return [...this.#byName.values()].filter((type): type is JobType & { cron: string } =>
      type.cron !== undefined
    );
  }

  /** Names HTTP callers may enqueue. */
  exposedNames(): string[] {
    return [...this.#byName.values()].filter((type) => type.exposed).map((type) => type.name).sort();
  }

  /** Names of those that limit how many of them run at once. */
  limitedNames(): string[] {
    return [...this.#byName.values()].filter(isLimited).map((type) => type.name);
  }
}
