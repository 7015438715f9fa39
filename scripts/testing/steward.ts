// The real service for the tests of a product: with an embedded Postgres, and a clock, jobs and an outbox in the test's hands.
import { setTimeout as pause } from "node:timers/promises";
import { Parser } from "htmlparser2";
import type { JobRow } from "../../domain/jobs/job_row.ts";
import { finishDirectMessages } from "../../domain/notifications/sending/direct.ts";
import type { Clock } from "../../infra/clock.ts";
import { processEnv, readConfig } from "../../infra/config.ts";
import { createLog } from "../../infra/log.ts";
import { startSteward as startService, type Steward } from "../../main.ts";
import type { OutboxMessage } from "../../infra/mail/outbox.ts";
import { DatabaseClock } from "../../infra/postgres/database_clock.ts";
import { type Sql, transact } from "../../infra/postgres/postgres.ts";
import { clockFunctions, takeDatabase } from "./database.ts";
import {
  createTenant,
  createUser,
  type NewTenant,
  type NewUser,
  openTestSession,
  refuseProduction,
  type TestUser,
} from "./people.ts";

/** Due jobs that no worker takes for this time are left. */
const UNTAKEN_MS = 2_000;
/** Running jobs are awaited for this time. */
const RUNNING_MS = 60_000;

export type JobState = Pick<JobRow, "id" | "jobTypeName" | "status" | "attempts" | "lastError">;

export interface Drained {
  /** Jobs that have succeeded since the last call, without the service's own recurring ones. */
  ran: JobState[];
  /** Jobs whose last attempt has failed since the last call: waiting for a retry (`Failed`) or `DeadLettered`. */
  failed: JobState[];
  /** Due jobs that no worker took, such as those of a remote type without a worker, and jobs that did not end. */
  left: JobState[];
}

/** A message that was sent. */
export interface SentMessage
  extends Pick<OutboxMessage, "id" | "channel" | "to" | "subject" | "attachments" | "sentAt"> {
  text: string | null;
  html: string | null;
  /** The addresses of the links in the HTML, or else in the text. */
  links: string[];
}

export interface TestSteward extends AsyncDisposable {
  url: string;
  clock: {
    /**
     * Moves the service's time: due jobs, schedules, expiry of tokens and retention see it. It goes on from there.
     * @param by such as `3 days`
     * @returns the new time
     */
    advance(by: string): Promise<Date>;
  };
  jobs: {
    /** Runs all that is due, also the jobs that these jobs enqueue, until nothing runs. */
    drain(): Promise<Drained>;
  };
  outbox: {
    /** The last mail, SMS or push message that was sent; null: none was. @param o.to one of its recipients */
    last(o?: { to?: string; channel?: OutboxMessage["channel"] }): Promise<SentMessage | null>;
  };
  users: {
    create(o?: NewUser): Promise<TestUser>;
    /** A new token, for example after the clock moved beyond the end of the former one. */
    token(user: Pick<TestUser, "id" | "tenantId">): Promise<string>;
  };
  tenants: { create(o?: NewTenant): Promise<{ id: string }> };
  /** Stops the service, and removes its database and files. The Postgres server ends with the process. */
  stop(): Promise<void>;
}

/**
 * Starts the service with a database of its own. The first start with a version of the schema takes some seconds more.
 * @param env settings, such as `{ STEWARD_EXTENSIONS: "./acme/mod.ts" }`. Those of the process do not count.
 * @throws Error if this looks like production
 */
export async function startSteward(env: Record<string, string> = {}): Promise<TestSteward> {
  refuseProduction(env.STEWARD_ENV);
  if (env.DATABASE_URL) throw new Error("this service has a database of its own; DATABASE_URL cannot be set");
  const database = await takeDatabase();
  const config = readConfig({
    TMPDIR: processEnv().TMPDIR,
    DATABASE_URL: database.url,
    DATA_DIR: database.folder,
    PORT: "0",
    DATABASE_POOL: "4",
    LOG_LEVEL: "error",
    ...env,
  });
  const log = createLog(config.LOG_LEVEL, (line) => console.error(line.trimEnd())); // stdout is the tests'
  const steward = await startService(config, { log, isPrepared: !config.STEWARD_EXTENSIONS });
  async function stop() {
    await steward.stop(2_000);
    await database.drop();
  }
  return { url: steward.url, ...controlsOf(steward), stop, [Symbol.asyncDispose]: stop };
}

function controlsOf(steward: Steward): Omit<TestSteward, "url" | "stop" | typeof Symbol.asyncDispose> {
  const { platform } = steward;
  const { sql } = platform;
  const reported = new Set<string>();

  const due = async () => [
    ...await sql<JobState[]>`
      select id, job_type_name, status, attempts, last_error from jobs
      where status = 'Processing' or status in ('Enqueued', 'Scheduled', 'Failed') and due_at <= now() order by id`,
  ];

  /** Waits until no job is due or the jobs do not change for long. @returns the jobs that are due */
  async function settle(jobs: JobState[]): Promise<JobState[]> {
    let [last, since] = [jobs, performance.now()];
    for (;;) {
      const limit = last.some(({ status }) => status === "Processing") ? RUNNING_MS : UNTAKEN_MS;
      if (last.length === 0 || performance.now() - since > limit) return last;
      await pause(10);
      const next = await due();
      if (JSON.stringify(next) !== JSON.stringify(last)) since = performance.now();
      last = next;
    }
  }

  /** The jobs whose last attempt ended since the last call. */
  async function ended(): Promise<JobState[]> {
    const jobs = await sql<JobState[]>`
      select id, job_type_name, status, attempts, last_error from jobs
      where status in ('Failed', 'DeadLettered') or status = 'Succeeded'
        and not (tenant_id is null and created_by is null and recurring_job_id is not null)
      order by completed_at, id`;
    const keyOf = ({ id, status, attempts }: JobState) => `${id} ${status} ${attempts}`;
    const recent = jobs.filter((job) => !reported.has(keyOf(job)));
    for (const job of recent) reported.add(keyOf(job));
    return recent;
  }

  return {
    clock: {
      async advance(by) {
        await advanceClock(platform, by);
        await steward.sweep();
        return platform.clock.now();
      },
    },
    jobs: {
      async drain() {
        let left: JobState[];
        let isIdle: boolean;
        do {
          await steward.sweep();
          await finishDirectMessages(platform);
          const jobs = await due();
          isIdle = jobs.length === 0;
          left = await settle(jobs);
        } while (!isIdle && left.length === 0);
        const jobs = await ended();
        const hasRun = ({ status }: JobState) => status === "Succeeded";
        return { ran: jobs.filter(hasRun), failed: jobs.filter((job) => !hasRun(job)), left };
      },
    },
    outbox: {
      async last({ to, channel } = {}) {
        const sent = await platform.outbox?.list() ?? [];
        const isTo = (address: string) => address.toLowerCase() === to?.toLowerCase();
        const found = sent.find((message) =>
          (channel === undefined || message.channel === channel) &&
          (to === undefined || message.to.some(isTo))
        );
        if (!found) return null;
        const { textBody: text, htmlBody: html, messageId: _, ...message } = found;
        return { ...message, text, html, links: linksOf(text, html) };
      },
    },
    users: {
      create: (o) => createUser(platform, o),
      token: async ({ id, tenantId }) => (await openTestSession(platform, sql, id, tenantId)).token,
    },
    tenants: { create: async (o) => ({ id: await createTenant(sql, o) }) },
  };
}

function linksOf(text: string | null, html: string | null): string[] {
  if (html === null) return text?.match(/https?:\/\/[^\s<>"]*[^\s<>".,;:!?)]/g) ?? [];
  const links = new Set<string>();
  new Parser({ onopentag: (_, { href }) => href && links.add(href) }).end(html);
  return [...links];
}

/**
 * Moves the time of the database and of the service by an interval, such as `3 days`. Leases move along, so that running
 * jobs are not lost. The service's own recurring jobs, such as those that delete old data, become due.
 * @throws Error if `by` is no interval, or would move the time back
 */
async function advanceClock(p: { sql: Sql; clock: Clock }, by: string): Promise<void> {
  await transact(p.sql, async (tx) => {
    const [offset] = await tx<{ seconds: number; isBack: boolean }[]>`
      select extract(epoch from now() + ${by}::text::interval - pg_catalog.now())::float8 as seconds,
        ${by}::text::interval < interval '0' as is_back`;
    if (offset?.isBack !== false) { // null: `by` is absent
      throw new Error(`the clock cannot move by ${by}; expected such as "3 days"`);
    }
    await tx.unsafe(clockFunctions(offset.seconds));
    await tx`update job_workers set heartbeat_at = heartbeat_at + ${by}::text::interval`;
    await tx`update jobs set lease_until = lease_until + ${by}::text::interval,
      deadline = deadline + ${by}::text::interval where lease_until is not null`;
    await tx`update recurring_jobs set next_run_at = now()
      where tenant_id is null and created_by is null and next_run_at > now()`;
  });
  if (p.clock instanceof DatabaseClock) await p.clock.start(p.sql);
}
