import { keepsFiles } from "../../infra/areas.ts";
import { waitAtMost, withTimeout } from "../../infra/timeout.ts";
import type { Log } from "../../infra/log.ts";
import { type Sql, transact } from "../../infra/postgres/postgres.ts";
import type { Platform } from "../shared/platform.ts";

/** A dependency that readiness checks. */
export interface HealthCheck {
  name: string;
  /** If a required check fails, the instance is not ready; if another one fails, it is degraded. */
  required: boolean;
  /** Rejects if the dependency does not work. */
  check(): Promise<unknown>;
}

export interface CheckResult {
  name: string;
  required: boolean;
  works: boolean;
}

export interface HealthOptions {
  log: Log;
  /** True if only a new process can reach the database. */
  isStuck?: () => boolean;
  /** Settings that should differ in production, as sentences. */
  notices?: string[];
}

const CHECK_TIMEOUT_MS = 2_000;
const RECENT_WAIT_MS = 500;
const DISK_CHECK_INTERVAL_MS = 5_000;
/** Sorting this many rows needs more than 64 kB of memory, so the server writes them to disk. */
const SORTED_ROWS = 20_000;

/** The health of this instance: the state of its dependencies, and the need to replace its process. */
export class InstanceHealth {
  readonly notices: readonly string[];
  readonly #failing = new Set<string>();
  #running: Promise<readonly CheckResult[]> | null = null;
  #last: readonly CheckResult[] | null = null;

  constructor(private readonly checks: HealthCheck[], private readonly o: HealthOptions) {
    this.notices = o.notices ?? [];
  }

  /** True if only a new process can reach the database. */
  isStuck(): boolean {
    return this.o.isStuck?.() ?? false;
  }

  /**
   * Runs all checks, but waits for them at most half a second: the results are then those of the last run. So an
   * unavailable dependency does not delay a scrape of the metrics.
   */
  async recent(): Promise<readonly CheckResult[]> {
    const running = this.check();
    return await waitAtMost(RECENT_WAIT_MS, running) ?? this.#last ?? await running;
  }

  /** Runs all checks. Concurrent calls share one run, because anyone may call the route. Logs each change of state. */
  check(): Promise<readonly CheckResult[]> {
    return this.#running ??= this.#runAll().finally(() => this.#running = null);
  }

  async #runAll(): Promise<readonly CheckResult[]> {
    return this.#last = await Promise.all(this.checks.map((check) => this.#run(check)));
  }

  async #run({ name, required, check }: HealthCheck): Promise<CheckResult> {
    const failure = await failureOf(check);
    const works = failure === null;
    const { log } = this.o;
    if (works === this.#failing.has(name)) {
      if (works) log.info("a dependency works again", { check: name });
      else log.warn("a dependency does not work", { check: name, required, error: failure });
    }
    this.#failing[works ? "delete" : "add"](name);
    return { name, required, works };
  }
}

/**
 * The checks of an instance.
 * @param o.jobStallReason why no job can start on this instance; null if jobs can start, or if it runs no jobs
 */
export function instanceChecks(
  { config, sql, pointReads, objects, scanner, mail }: Pick<
    Platform,
    "config" | "sql" | "pointReads" | "objects" | "scanner" | "mail"
  >,
  o: { jobStallReason(): string | null },
): HealthCheck[] {
  const keeps = keepsFiles(config);
  return [
    { name: "postgres", required: true, check: () => Promise.all([sql`select 1`, pointReads`select 1`]) },
    ...keeps ? [{ name: "objectStore", required: true, check: () => objects.ping() }] : [],
    { name: "postgresDisk", required: false, check: cached(() => requireDiskSpace(sql)) },
    { name: "jobs", required: false, check: () => rejectIfSet(o.jobStallReason()) },
    ...keeps ? [{ name: "scanner", required: false, check: () => scanner.status() }] : [],
    ...mail.map((transport, index) => ({
      name: index === 0 ? "mail" : `mail-${index + 1}`,
      required: false,
      check: () => transport.ping(),
    })),
  ];
}

/**
 * Checks that the database server's disk has free space. The server writes a temporary file of some hundred kilobytes
 * and deletes it. Tables and the write-ahead log do not change.
 * @throws PostgresError when the disk is full
 */
async function requireDiskSpace(sql: Sql): Promise<void> {
  await transact(sql, async (tx) => {
    await tx`set local work_mem = '64kB'`;
    await tx`select count(*) from (select n from generate_series(1, ${SORTED_ROWS}::int) n order by n desc offset 0) sorted`;
  });
}

/** Keeps the result for five seconds: anyone may call the route, and the check costs the database some work. */
function cached(check: () => Promise<void>): () => Promise<void> {
  let checkedAt = -Infinity;
  let result = Promise.resolve();
  return () => {
    if (performance.now() - checkedAt > DISK_CHECK_INTERVAL_MS) {
      checkedAt = performance.now();
      result = check();
    }
    return result;
  };
}

/** Rejects with the reason, if there is one. */
const rejectIfSet = (reason: string | null): Promise<void> =>
  reason === null ? Promise.resolve() : Promise.reject(new Error(reason));

/** The error of a check that fails or does not answer in time; null if it succeeds. */
async function failureOf(check: () => Promise<unknown>): Promise<unknown> {
  const late = () => new Error(`no answer in ${CHECK_TIMEOUT_MS} ms`);
  return await withTimeout(CHECK_TIMEOUT_MS, Promise.try(check), late)
    .then(() => null, (error) => error ?? new Error("it failed"));
}
