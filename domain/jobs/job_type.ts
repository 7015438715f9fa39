import type { z } from "zod";
import type { Log } from "../../infra/log.ts";
import type { Sql, Tx } from "../../infra/postgres/postgres.ts";
import type { Platform } from "../shared/platform.ts";
import type { EndedAttempt, OnEnded } from "./ended_attempt.ts";
import { remoteKey, type SettledJob } from "./job_row.ts";
import { type RateLimit, requireRateLimit } from "./rate_limit.ts";

/** The second argument of a job handler: the running attempt and the service. */
export interface JobContext<P = Platform> extends Attempt {
  /** The service that runs the job: configuration, stores, providers. */
  platform: P;
  /**
   * Waits until no other job runs on this worker. No further job starts until the returned function is called or the attempt
   * has ended.
   * @returns null if the other jobs have not ended within `waitMs`
   * @throws PostponeJob while another attempt has taken the worker
   */
  takeWorker(waitMs: number): Promise<(() => void) | null>;
}

/** A running attempt of a job. */
export interface Attempt {
  /** The pool of the service's database. */
  db: Sql;
  jobId: string;
  /** Tenant of the job; null for the service's own jobs. */
  tenantId: string | null;
  createdBy: string | null;
  /** W3C trace id of the request that enqueued the job; null if no request did. */
  traceId: string | null;
  /** Number of this attempt, from 1. A job whose worker crashed runs again under the next number. */
  attempt: number;
  /** Number of failed attempts before this one. When it equals `maxRetries`, this attempt is the last. */
  failures: number;
  maxRetries: number;
  /**
   * True while the job may wait for an unavailable dependency: the handler may throw `DependencyUnavailable`. False
   * after 24 hours of consecutive outages: another one counts as a failure, and the handler should treat it as one.
   */
  waitsForDependencies: boolean;
  /** Number of workers that lost their lease while they ran this job, because of a crash, a freeze or a lost database. */
  lostLeases: number;
  /** Aborted when the attempt times out, its lease is lost, or the service stops. */
  signal: AbortSignal;
  /** Writes to the service's log. The lines are also stored with the execution. */
  log: Log;
  /** Reports progress, 0 to 100. The last report is stored with the execution. */
  progress(percent: number, note?: string): void;
}

/** Location of a secret in a job's arguments. */
export interface SecretArg {
  /** Member names from the root, joined by dots; `*` matches every member at its level. */
  path: string;
  /** Lower-case member names that `*` does not match. */
  except?: readonly string[];
  /** Only this part of a URL is secret. */
  part?: "userinfo";
}

/**
 * A kind of background work: its name, the schema of its arguments, and its handler.
 * `C` is the type of the handler's second argument.
 */
export interface JobType<A = unknown, C = JobContext> {
  /** Qualified name, such as `steward.echo`. */
  name: string;
  args: z.ZodType<A>;
  /** True if HTTP callers may enqueue it. */
  exposed: boolean;
  /**
   * True if the job runs with the rights of its creator. Only users can enqueue such a job: an API key has fewer rights
   * than the user who created it. A retry keeps the creator; a change of the arguments makes the editor the creator.
   */
  actsForCreator?: true;
  /** Permission that callers need to enqueue it or to change its arguments; absent: none. */
  permission?: string;
  /** Arguments that are stored as given and always shown as `***`. */
  secretArgs?: readonly SecretArg[];
  /**
   * Paths of arguments by whose values jobs can be found: `customer.id`. The values are numbers, booleans, texts of at
   * most 200 characters, or lists of these. At most ten; secret arguments are left out.
   */
  searchableArgs?: readonly string[];
  /** Identifies the receiver of the secrets. Changed arguments keep stored secrets only for the same receiver. */
  receiver?(args: unknown): string;
  /** An attempt that takes longer is aborted and counts as failed. */
  timeoutMs: number;
  /** Retries after the first attempt; a job may override it. */
  maxRetries: number;
  /** Maximum number of jobs of this type that run at once in the whole service; absent: no limit. */
  concurrency?: number;
  /**
   * True: `concurrency` only saves resources. It is exceeded, at most twofold, for tenants whose jobs would otherwise wait
   * for the jobs of another tenant.
   */
  isConcurrencySoft?: true;
  /** Maximum rate at which its jobs start in the whole service. Further jobs wait. Absent: no limit. */
  rateLimit?: RateLimit;
  /**
   * Maximum fraction of an instance's places that jobs of this type take; at least one job runs. Absent: no limit. Set
   * it for slow work, so that places remain for other jobs.
   */
  share?: number;
  /**
   * Worker places that one attempt takes; absent: one. Use a fraction for work that mostly waits for another server, so
   * that more of it runs at once. Must be a power of two: then sums of fractions are exact.
   */
  places?: number;
  /** Five-field cron expression (UTC) at which the service enqueues it with the arguments `{}`; absent: no schedule. */
  cron?: string;
  /** Seconds after which each tick of `cron` runs the job once more: a cron expression counts in minutes. */
  repeatAfterSeconds?: number;
  /** Set if callers declared the type and run it in their own processes. */
  remote?: {
    /** Id of its row. */
    id: string;
    /** The tenant that declared it; null: declared for all tenants. */
    tenantId: string | null;
  };
  /** Does the work. Must be idempotent: it may run again after a crash. The result is stored as `output`. */
  run: (args: A, context: C) => Promise<unknown>;
}

const DEFAULTS = { exposed: false, timeoutMs: 5 * 60_000, maxRetries: 3 };

/** The declaration of a job type. Its `run` returns the output or a promise of it. */
export type JobSpec<A, C> =
  & Pick<JobType<A, C>, "name" | "args">
  & Partial<Omit<JobType<A, C>, "run" | "remote">>
  & { run: (args: A, context: C) => unknown };

/** Declares a job type. Defaults: not exposed, a time-out of five minutes per attempt, three retries. */
export function defineJob<A, C = JobContext>(spec: JobSpec<A, C>): JobType<A, C> {
  return { ...DEFAULTS, ...spec, run: async (args, context) => await spec.run(args, context) };
}

/** Thrown by a job that cannot continue yet and did not fail. It runs again after `delayMs`, without a retry limit. */
export class PostponeJob extends Error {
  override name = "PostponeJob";
  constructor(reason: string, readonly delayMs: number) {
    super(reason);
  }
}

/** Thrown by a job whose receiver settles it later: the attempt continues without this worker. */
export class HandedOver extends Error {
  override name = "HandedOver";
}

/** Time for which a job waits for an unavailable dependency. After it, each further outage counts as a failed attempt. */
export const MAX_OUTAGE_MS = 24 * 3_600_000;

/**
 * Thrown by a job whose dependency (object store, mail server, database) is unavailable or refuses the service's credentials.
 * The job runs again after growing delays, from 2 s to 5 min, and uses up no retries. After 24 h of consecutive outages,
 * each further one counts as a failed attempt. Use it only for outages that end without an action of the job's owner. For a
 * refusal of the request, throw an ordinary error or `PermanentJobFailure`.
 */
export class DependencyUnavailable extends Error {
  override name = "DependencyUnavailable";
  /** Minimum delay that the dependency asked for, in ms. */
  readonly retryAfterMs: number;
  constructor(reason: string, o: { retryAfterMs?: number; cause?: unknown } = {}) {
    super(reason, { cause: o.cause });
    this.retryAfterMs = o.retryAfterMs ?? 0;
  }
}

/** Thrown by a job that no retry can help. It becomes a dead letter at once. */
export class PermanentJobFailure extends Error {
  override name = "PermanentJobFailure";
}

/** A job type with any arguments, whose handler uses at most the platform `P`. `args` checks arguments at run time. */
// deno-lint-ignore no-explicit-any -- one registry holds types with different arguments
export type AnyJobType<P = any> = JobType<any, JobContext<P>>;

/** The members of a job type that limit the places of its jobs. */
export type PlaceLimits = Pick<JobType, "share" | "places">;

/** The members of a job type that limit how many of its jobs run at once. */
type Limits = Pick<JobType, "name" | "concurrency" | "share" | "remote">;

/**
 * True if jobs of the type run with the rights of their creator. Also true for an unknown type: a newer instance may
 * have registered it with `actsForCreator`, and the command line registers no types.
 */
export const isForCreator = (type: AnyJobType | undefined): boolean =>
  type === undefined || type.actsForCreator === true;

/**
 * The key under which running jobs of this type are counted; null if the type has no limit. Remote types always have
 * one, so that their jobs wait in lanes of their own.
 */
export function limitKeyOf(type: Limits | undefined): string | null {
  if (type?.remote) return remoteKey(type.name, type.remote.tenantId);
  return type && (type.concurrency ?? type.share) !== undefined ? type.name : null;
}

/** A job that has just become a dead letter. */
export interface DeadLetterNotice {
  /** Id of the dead letter. */
  id: string;
  jobId: string;
  tenantId: string | null;
  jobTypeName: string;
  queue: string;
  serializedArgs: string;
  attempts: number;
  errorMessage: string | null;
}

/** Called in the transaction that writes dead letters. */
export type OnDeadLettered = (tx: Tx, deadLetters: DeadLetterNotice[]) => Promise<void>;

/** Called in the transaction in which a caller cancels a job that has not started or waits for its retry. */
export type OnCancelled = (
  tx: Tx,
  job: { id: string; jobTypeName: string; serializedArgs: string },
) => Promise<void>;

/** Events of ended attempts. */
export interface AttemptEvents {
  /** Resolves to true if events of jobs of one of these tenants are wanted. The answer usually comes from memory. */
  areWanted(tenantIds: (string | null)[]): Promise<boolean>;
  /** Emits the events in the transaction that writes the ends. */
  emit(tx: Tx, ended: EndedAttempt[]): Promise<void>;
}

/** The hooks that are called when the ends of attempts are written. */
export interface SettleHooks {
  attemptEvents?: AttemptEvents;
  onDeadLettered?: OnDeadLettered;
  onEnded?: OnEnded;
  /** Called with every job whose status a settlement of a remote worker changed. */
  onChanged?: (jobs: SettledJob[]) => void;
}

/** The job types of a service, by name. */
export class JobTypes implements SettleHooks {
  #byName = new Map<string, AnyJobType>();
  hasRateLimits = false;
  /** This hook and the next two are registered with the types. */
  onDeadLettered?: OnDeadLettered;
  onCancelled?: OnCancelled;
  attemptEvents?: AttemptEvents;
  /** Registered by the job engine. */
  onEnded?: OnEnded;
  onChanged?: (jobs: SettledJob[]) => void;

  /** @throws Error when two types have the same name */
  register(...types: AnyJobType[]): void {
    for (const type of types) {
      if (this.#byName.has(type.name)) throw new Error(`two job types have the name ${type.name}`);
      this.#byName.set(type.name, type);
      if (type.rateLimit) requireRateLimit(type.name, type.rateLimit);
      this.hasRateLimits ||= type.rateLimit !== undefined;
    }
  }

  get(name: string): AnyJobType | undefined {
    return this.#byName.get(name);
  }

  /** Types that the service enqueues by their `cron` expression. */
  recurring(): (JobType & { cron: string })[] {
    return [...this.#byName.values()].filter((type): type is JobType & { cron: string } =>
      type.cron !== undefined
    );
  }

  /** Names of the types that HTTP callers may enqueue, sorted. */
  exposedNames(): string[] {
    return [...this.#byName.values()].filter((type) => type.exposed).map((type) => type.name).sort();
  }

  names(): string[] {
    return [...this.#byName.keys()];
  }

  /** Names of the types that callers cannot enqueue, because the service does. */
  internalNames(): string[] {
    return [...this.#byName.values()].filter((type) => !type.exposed).map((type) => type.name);
  }
}
