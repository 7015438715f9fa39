// The real service for the tests of a product: with an embedded Postgres, and a clock, jobs and an outbox in the test's hands.
import { setTimeout as pause } from "node:timers/promises";
import { finishDirectMessages } from "../../domain/notifications/sending/direct.ts";
import { processEnv, readConfig } from "../../infra/config.ts";
import { createLog } from "../../infra/log.ts";
import type { OutboxMessage } from "../../infra/mail/outbox.ts";
import { startSteward as startService, type Steward } from "../../main.ts";
import { advanceClock } from "./clock.ts";
import { createDatabase } from "./cluster.ts";
import {
  createTenant,
  createUser,
  type NewTenant,
  type NewUser,
  openTestSession,
  type TestUser,
} from "./people.ts";

/** Due jobs that no worker takes for this time are left. */
const UNTAKEN_MS = 2_000;
/** Running jobs are awaited for this time. */
const RUNNING_MS = 60_000;

export interface JobState {
  id: string;
  jobTypeName: string;
  status: string;
  attempts: number;
  lastError: string | null;
}

export interface Drained {
  /** Jobs whose last attempt failed, with each attempt only once: waiting for a retry (`Failed`) or `DeadLettered`. */
  failed: JobState[];
  /** Due jobs that no worker took, such as those of a remote type without a worker, and jobs that did not end. */
  left: JobState[];
}

/** What a test does with a running service. */
export interface TestControls {
  clock: {
    /** Moves the service's time: due jobs, schedules, expiry of tokens and retention see it. @param by such as `3 days` */
    advance(by: string): Promise<void>;
  };
  jobs: {
    /** Waits until all due jobs have run, also those that they enqueue. */
    drain(): Promise<Drained>;
  };
  outbox: {
    /** The last mail, text or push message that was sent; null: none was. @param o.to one of its recipients */
    last(o?: { to?: string; channel?: OutboxMessage["channel"] }): Promise<OutboxMessage | null>;
  };
  users: {
    create(o?: NewUser): Promise<TestUser>;
    /** A new token, for example after the clock moved beyond the end of the former one. */
    token(user: Pick<TestUser, "id" | "tenantId">): Promise<string>;
  };
  tenants: { create(o?: NewTenant): Promise<{ id: string }> };
}

export interface TestSteward extends TestControls, AsyncDisposable {
  url: string;
  stop(): Promise<void>;
}

/** The database of the next service. It is made while the tests of the former one run. */
let next: Promise<string> | undefined;

/**
 * Starts the service with a database of its own. The first start on a machine prepares the template for some seconds.
 * @param env settings, such as `{ STEWARD_EXTENSIONS: "./acme/mod.ts" }`. Those of the process do not count.
 */
export async function startSteward(env: Record<string, string> = {}): Promise<TestSteward> {
  const dataDir = await Deno.makeTempDir({ prefix: "steward-test-" });
  const database = await (next ?? createDatabase());
  const following = next = createDatabase();
  following.catch(() => next = undefined);
  const config = readConfig({
    TMPDIR: processEnv().TMPDIR,
    DATABASE_URL: database,
    DATA_DIR: dataDir,
    PORT: "0",
    DATABASE_POOL: "6",
    LOG_LEVEL: "error",
    ...env,
  });
  const log = createLog(config.LOG_LEVEL, (line) => console.error(line.trimEnd())); // stdout is the tests'
  const steward = await startService(config, { log });
  async function stop() {
    await steward.stop(2_000);
    await following.catch(() => {}); // nothing of a test runs on after it
    await Deno.remove(dataDir, { recursive: true });
  }
  return { url: steward.url, ...controlsOf(steward), stop, [Symbol.asyncDispose]: stop };
}

export function controlsOf(steward: Steward): TestControls {
  const { platform } = steward;
  const { sql } = platform;
  const reported = new Map<string, number>();

  const due = async () => [
    ...await sql<JobState[]>`
      select id, job_type_name, status, attempts, last_error from jobs
      where status = 'Processing' or status in ('Enqueued', 'Scheduled', 'Failed') and due_at <= now() order by id`,
  ];

  /** Waits until no job is due or the jobs do not change for long; returns those that were due at first and at last. */
  async function settle(): Promise<{ first: JobState[]; last: JobState[] }> {
    const first = await due();
    let [last, since] = [first, performance.now()];
    for (;;) {
      const limit = last.some(({ status }) => status === "Processing") ? RUNNING_MS : UNTAKEN_MS;
      if (last.length === 0 || performance.now() - since > limit) return { first, last };
      await pause(10);
      const next = await due();
      if (JSON.stringify(next) !== JSON.stringify(last)) since = performance.now();
      last = next;
    }
  }

  return {
    clock: { advance: (by) => advanceClock(platform, by) },
    jobs: {
      async drain() {
        let last: JobState[];
        for (let first: JobState[];;) {
          await steward.sweep();
          await finishDirectMessages(platform);
          ({ first, last } = await settle());
          if (first.length === 0 || last.length > 0) break;
        }
        const failing = await sql<JobState[]>`
          select id, job_type_name, status, attempts, last_error from jobs
          where status in ('Failed', 'DeadLettered') order by id`;
        const failed = failing.filter(({ id, attempts }) => reported.get(id) !== attempts);
        for (const { id, attempts } of failed) reported.set(id, attempts);
        return { failed, left: last };
      },
    },
    outbox: {
      async last({ to, channel } = {}) {
        const sent = await platform.outbox?.list() ?? [];
        return sent.find((message) =>
          (channel === undefined || message.channel === channel) &&
          (to === undefined || message.to.some((each) => each.toLowerCase() === to.toLowerCase()))
        ) ?? null;
      },
    },
    users: {
      create: (o) => createUser(platform, o),
      token: async ({ id, tenantId }) => (await openTestSession(platform, sql, id, tenantId)).token,
    },
    tenants: { create: async (o) => ({ id: await createTenant(sql, o) }) },
  };
}
