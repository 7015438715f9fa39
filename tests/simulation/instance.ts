// A simulated instance of the service: the real engine on a simulated pool, with virtual time.
import { jobWork, watchDueTimes } from "../../domain/jobs/instance/due_times.ts";
import { followStrandedJobs } from "../../domain/jobs/batches/end_batches.ts";
import { JobWriter } from "../../domain/jobs/enqueue.ts";
import { foldCounts } from "../../domain/jobs/statistics/fold_counts.ts";
import { JobTypes } from "../../domain/jobs/job_type.ts";
import { recoverLostJobs } from "../../domain/jobs/engine/lease.ts";
import type { SettledJob } from "../../domain/jobs/job_row.ts";
import { RateReleaser } from "../../domain/jobs/limits/release_limited.ts";
import { moveOrphans } from "../../domain/jobs/instance/engine.ts";
import { type RemoteWorkPlatform, WorkPolls } from "../../domain/jobs/remote/work_polls.ts";
import { Worker } from "../../domain/jobs/engine/worker.ts";
import type { Log } from "../../infra/log.ts";
import type { Pool } from "../../infra/postgres/postgres.ts";
import { type HandlerWorld, simulatedTypes } from "./handlers.ts";
import { type Host, inHost, type VirtualTime } from "./virtual_time.ts";

export const LEASE_SECONDS = 60;
const POLL_MS = 15_000;
const SWEEP_MS = 30_000;
const PLACES = 3;

export interface InstanceOptions {
  name: string;
  time: VirtualTime;
  handlers: HandlerWorld;
  openPool: (host: Host) => Pool;
  /** Wakes all instances at a time; some wake-ups are lost. */
  wakeAt: (time: Date) => void;
  note: (line: string) => void;
}

/** Parts of the platform that the engine uses. */
export function simulatedPlatform(o: InstanceOptions, host: Host): RemoteWorkPlatform {
  const sql = o.openPool(host);
  const jobTypes = new JobTypes();
  jobTypes.register(...simulatedTypes(o.handlers));
  const log = logOf(`${host.name}: `, o.note);
  const wakeUps = { at: o.wakeAt };
  const workPolls = new WorkPolls({ sql, log, leaseSeconds: LEASE_SECONDS, onClaimed() {} });
  const platform = {
    sql,
    jobTypes,
    log,
    workPolls,
    clock: o.time.clock,
    jobWriter: new JobWriter(sql, { wakeUps }),
    wakeUps,
    config: { JOB_LEASE_SECONDS: LEASE_SECONDS },
  };
  return platform as unknown as RemoteWorkPlatform;
}

/** A running instance. */
export class Instance {
  readonly host: Host;
  readonly platform: RemoteWorkPlatform;
  worker: Worker | null = null;
  #releaser: RateReleaser | null = null;
  #dueTimes: ReturnType<typeof watchDueTimes> | null = null;
  isStopping = false;
  isStopped = false;

  constructor(private readonly o: InstanceOptions) {
    this.host = { name: o.name, isDead: false, frozenUntil: 0 };
    this.platform = inHost(this.host, () => simulatedPlatform(o, this.host));
  }

  /** Starts the engine as `startJobEngine` does. Ends when the lease is open. */
  start(): Promise<void> {
    return inHost(this.host, () => this.#start());
  }

  async #start(): Promise<void> {
    const { platform } = this;
    const { jobTypes, workPolls, clock } = platform;
    const later = (inMs: number) => this.o.wakeAt(new Date(clock.now().getTime() + inMs));
    jobTypes.onChanged = (jobs) => {
      for (const { status, dueInMs } of jobs) if (isWaiting(status)) later(Math.max(20, dueInMs));
      if (jobs.some(({ status }) => status === "Enqueued")) this.o.wakeAt(clock.now());
      else workPolls.wake();
    };
    this.#dueTimes = watchDueTimes(platform, jobWork(platform, LEASE_SECONDS), POLL_MS);
    this.#releaser = new RateReleaser(platform, POLL_MS);
    setInterval(() => this.#sweep(), SWEEP_MS);
    const worker = await Worker.start({
      platform,
      sql: platform.sql,
      types: jobTypes,
      log: platform.log,
      host: this.host.name,
      concurrency: PLACES,
      queues: null,
      leaseSeconds: LEASE_SECONDS,
      pollMs: POLL_MS,
      connect: () => this.o.openPool(this.host),
      onDueLater: later,
      onSettled: (jobs: SettledJob[]) => {
        if (jobs.some(({ status }) => status === "Enqueued")) workPolls.wake();
      },
    });
    this.worker = worker;
    setInterval(() => {
      workPolls.wake();
      worker.checkCancelRequests().catch(() => {});
    }, POLL_MS);
  }

  /** Searches for due jobs now. */
  wake(): void {
    inHost(this.host, () => {
      this.worker?.wake();
      this.platform.workPolls.wake();
      this.#releaser?.wake();
    });
  }

  /** Does the work that has become due. */
  checkDueTimes(): void {
    inHost(this.host, () => this.#dueTimes?.check().catch(() => {})); // logged
  }

  /** Ends as a deployment does: gives running jobs some time, and gives back the others. */
  async drain(graceMs: number): Promise<void> {
    this.isStopping = true;
    const { workPolls } = this.platform;
    await inHost(
      this.host,
      () =>
        Promise.all([
          this.#releaser?.stop(),
          workPolls.stop(),
          this.worker?.stop(graceMs),
          this.#dueTimes?.stop(),
        ]),
    );
    this.isStopped = true;
  }

  async #sweep(): Promise<void> {
    const { platform } = this;
    try {
      await this.#releaser?.sweep();
      await foldCounts(platform.sql, { always: true });
      if (await followStrandedJobs(platform.sql) > 0) this.o.wakeAt(platform.clock.now());
      if (await moveOrphans(platform.sql) > 0) this.o.wakeAt(platform.clock.now());
      const recovered = await recoverLostJobs(platform.sql, LEASE_SECONDS, platform.jobTypes);
      if (recovered > 0) this.o.wakeAt(platform.clock.now());
    } catch (error) {
      platform.log.error("the sweep failed; it is retried", { error });
    }
  }
}

const isWaiting = (status: string) => status === "Failed" || status === "Scheduled";

function logOf(prefix: string, note: (line: string) => void): Log {
  const emit = (level: string) => (message: string, fields?: Record<string, unknown>) =>
    note(`${prefix}[${level}] ${message}${fields?.error ? `: ${(fields.error as Error).message}` : ""}`);
  return {
    debug: () => {},
    info: () => {},
    warn: emit("warn"),
    error: emit("error"),
    with: () => logOf(prefix, note),
  };
}
