// What callers of the service ask for, chosen by the seed.
import { addToBatch, cancelBatch, createBatch } from "../../domain/jobs/control/batches.ts";
import { retryDeadLetter, retryJob } from "../../domain/jobs/control/dead_letters.ts";
import {
  enqueueRequestedJob,
  enqueueRequestedJobs,
  type RequestedJob,
} from "../../domain/jobs/control/enqueue_requested.ts";
import { cancelJob, requestCancel, retryJobNow } from "../../domain/jobs/control/job_control.ts";
import type { RemoteWorkPlatform } from "../../domain/jobs/remote/work_polls.ts";
import { pauseWork, resumeWork } from "../../domain/jobs/limits/pauses.ts";
import { type JobActor, operator } from "../../domain/jobs/reach.ts";
import { createRecurringJob, setRecurringPause } from "../../domain/jobs/recurring/recurring.ts";
import { Problem } from "../../domain/problems/problem.ts";
import { ENDED } from "./change_rules.ts";
import { TENANTS } from "./database.ts";
import type { Model, Row } from "./model.ts";
import type { Random } from "./random.ts";
import type { VirtualTime } from "./virtual_time.ts";

/** What the jobs of a seed are about. Each seed has some of them, so that they meet often. */
export const FEATURES = [
  "limited",
  "rated",
  "remote",
  "unique",
  "parents",
  "batches",
  "recurring",
  "pauses",
  "cancels",
  "dead letters",
] as const;
export type Feature = typeof FEATURES[number];

export interface CallWorld {
  random: Random;
  time: VirtualTime;
  model: Model;
  features: ReadonlySet<Feature>;
  platform: RemoteWorkPlatform;
  /** Ids of jobs that callers were told about; each must be in the database. */
  acknowledged: Set<string>;
  openBatches: Set<string>;
  recurringIds: Set<string>;
  lastNumber: number;
}

type Call = (w: CallWorld) => Promise<unknown>;

const actorIn = (tenantId: string | null): JobActor => operator(tenantId);
const actorOf = (w: CallWorld): JobActor => actorIn(w.random.pick([TENANTS[0], TENANTS[0], TENANTS[1]]));

/** The job types of the seed. */
function typesOf({ features }: CallWorld): string[] {
  const types = ["sim.plain"];
  if (features.has("limited")) types.push("sim.limited", "sim.limited");
  if (features.has("rated")) types.push("sim.rated", "sim.rated");
  if (features.has("remote")) {
    types.push("remote.plain", "remote.plain", features.has("limited") ? "remote.limited" : "remote.plain");
  }
  return types;
}

function jobOf(w: CallWorld, o: Partial<RequestedJob> & { tag?: string } = {}): RequestedJob {
  const { random, time } = w;
  const { tag, ...rest } = o;
  const n = ++w.lastNumber;
  const isLater = random.chance(0.2);
  return {
    jobTypeName: random.pick(typesOf(w)),
    serializedArgs: JSON.stringify(tag ? { n, tag } : { n }),
    argsTypeName: null,
    priority: random.pick(["Critical", "High", "Normal", "Normal", "Normal", "Low"]),
    queue: random.pick(["default", "default", "slow"]),
    scheduledAt: isLater ? new Date(time.clock.now().getTime() + random.between(-500, 30_000)) : null,
    maxRetries: random.chance(0.3) ? random.between(0, 1) : null,
    parentJobId: null,
    parentJobIds: [],
    uniqueKey: null,
    uniqueFor: "unfinished",
    ...rest,
  };
}

/** A job that is known to callers, if possible one with a matching row. */
function someJob(w: CallWorld, matches: (job: Row) => boolean): Row | null {
  const jobs = [...w.model.jobs.values()].filter(matches);
  return jobs.length === 0 ? null : w.random.pick(jobs);
}

async function enqueue(w: CallWorld, o: Partial<RequestedJob> = {}, actor = actorOf(w)): Promise<void> {
  const { job } = await enqueueRequestedJob(w.platform, actor, jobOf(w, o));
  w.acknowledged.add(job.id);
}

const CALLS: { [F in Feature | "plain"]?: Call[] } = {
  plain: [
    (w) => enqueue(w),
    async (w) => {
      const items = Array.from({ length: w.random.between(2, 5) }, () => jobOf(w));
      const { results } = await enqueueRequestedJobs(w.platform, actorOf(w), items, false);
      for (const { id } of results) w.acknowledged.add(id);
    },
    async (w) => {
      const job = someJob(
        w,
        ({ status, wait_reason }) => status === "Failed" || status === "Scheduled" && wait_reason !== null,
      );
      if (job) await retryJobNow(w.platform, actorIn(job.tenant_id), job.id);
      else await enqueue(w);
    },
  ],
  unique: [
    (w) =>
      enqueue(w, { uniqueKey: w.random.pick(["a", "b"]), jobTypeName: "sim.plain" }, actorIn(TENANTS[0])),
    (w) => enqueue(w, { uniqueKey: "c", uniqueFor: 20, jobTypeName: "sim.plain" }, actorIn(TENANTS[0])),
  ],
  parents: [
    async (w) => {
      const parent = someJob(w, ({ status }) => !ENDED.includes(status) || w.random.chance(0.1));
      await enqueue(w, { parentJobId: parent?.id ?? null }, parent ? actorIn(parent.tenant_id) : actorOf(w));
    },
    async (w) => {
      const first = someJob(w, ({ status }) => !ENDED.includes(status));
      if (!first) return await enqueue(w);
      const others = [0, 0].map(() =>
        someJob(
          w,
          (job) => job.tenant_id === first.tenant_id && (!ENDED.includes(job.status) || w.random.chance(0.2)),
        )
      );
      const ids = [...new Set([first, ...others].flatMap((job) => job?.id ?? []))];
      await enqueue(w, { parentJobIds: ids }, actorIn(first.tenant_id));
    },
  ],
  batches: [
    async (w) => {
      const jobs = Array.from(
        { length: w.random.between(1, 3) },
        () => jobOf(w, { jobTypeName: "sim.plain" }),
      );
      const tag = `batch-${++w.lastNumber}`;
      const onEnd = (how: string) =>
        jobOf(w, { tag: `${tag}-${how}`, jobTypeName: "sim.plain", scheduledAt: null });
      const open = w.random.chance(0.4);
      const request = { name: tag, jobs, onAllSucceeded: onEnd("ok"), onAnyFailed: onEnd("lost"), open };
      const batch = await createBatch(w.platform, actorIn(TENANTS[0]), request);
      if (open) w.openBatches.add(batch.id);
    },
    async (w) => {
      const [id] = w.openBatches;
      if (!id) return await enqueue(w);
      await closeBatch(w, id, w.random.chance(0.5) ? [jobOf(w, { jobTypeName: "sim.plain" })] : []);
    },
    async (w) => {
      const batches = [...w.model.batches.keys()];
      if (w.random.chance(0.3) && batches.length > 0) {
        await cancelBatch(w.platform, actorIn(TENANTS[0]), w.random.pick(batches));
      } else await enqueue(w);
    },
  ],
  recurring: [
    async (w) => {
      if (w.recurringIds.size >= 2) return await enqueue(w);
      const jobId = `tick-${++w.lastNumber}`;
      w.recurringIds.add(jobId);
      await createRecurringJob(w.platform, actorIn(TENANTS[0]), {
        jobId,
        jobTypeName: "sim.plain",
        cronExpression: "* * * * *",
        timeZoneId: "UTC",
        queue: "default",
        serializedArgs: JSON.stringify({ n: ++w.lastNumber }),
        argsTypeName: null,
      });
    },
  ],
  pauses: [
    (w) => pauseWork(w.platform, actorIn(w.random.pick([null, TENANTS[0]])), targetOf(w), null),
    (w) => pauseWork(w.platform, actorIn(null), targetOf(w), null),
    (w) => resumeWork(w.platform, actorIn(w.random.pick([null, TENANTS[0]])), targetOf(w)),
  ],
  cancels: [
    async (w) => {
      const job = someJob(w, ({ status }) => !ENDED.includes(status) || w.random.chance(0.1));
      if (!job) return await enqueue(w);
      if (job.status === "Processing") await requestCancel(w.platform.sql, actorIn(null), job.id);
      else await cancelJob(w.platform, actorIn(null), job.id);
    },
    async (w) => {
      const job = someJob(w, ({ status }) => status === "Processing" || status === "Enqueued");
      if (job) await requestCancel(w.platform.sql, actorIn(null), job.id);
      else await enqueue(w);
    },
  ],
  "dead letters": [
    (w) => enqueue(w, { maxRetries: 0 }),
    async (w) => {
      const letters = [...w.model.deadLetters.values()].filter(({ serialized_args }) =>
        !/tag/.test(serialized_args)
      );
      if (letters.length === 0) return await enqueue(w, { maxRetries: 0 });
      const letter = w.random.pick(letters);
      const job = await retryDeadLetter(w.platform, actorIn(null), letter.id);
      w.acknowledged.add(job.id);
    },
    async (w) => {
      const job = someJob(
        w,
        ({ status, serialized_args }) => ENDED.includes(status) && !/tag/.test(serialized_args),
      );
      if (!job) return await enqueue(w);
      const retried = await retryJob(w.platform, actorIn(null), job.id, null);
      w.acknowledged.add(retried.id);
    },
  ],
};

const targetOf = (w: CallWorld) =>
  w.random.pick(
    [
      { kind: "queue", name: "slow" },
      { kind: "queue", name: "default" },
      { kind: "type", name: "sim.plain" },
      { kind: "type", name: w.features.has("remote") ? "remote.plain" : "sim.limited" },
    ] as const,
  );

async function closeBatch(w: CallWorld, id: string, jobs: RequestedJob[]): Promise<void> {
  w.openBatches.delete(id);
  await addToBatch(w.platform, actorIn(TENANTS[0]), id, { jobs, close: true });
}

/** The next call of the seed. Refusals that the API documents are fine. */
export async function nextCall(w: CallWorld): Promise<void> {
  const feature = w.random.pick(["plain", ...w.features] as const);
  await allowed((w.random.pick(CALLS[feature] ?? CALLS.plain ?? []) as Call)(w));
}

/** Ends what would wait forever: pauses, schedules and open batches. */
export async function endWaits(w: CallWorld): Promise<void> {
  const { sql } = w.platform;
  for (
    const { kind, name, tenantId } of await sql<
      { kind: "queue" | "type"; name: string; tenantId: string | null }[]
    >`
    select kind, name, tenant_id from job_pauses order by kind, name, tenant_id`
  ) {
    await resumeWork(w.platform, actorIn(tenantId), { kind, name });
  }
  for (const jobId of w.recurringIds) {
    await allowed(setRecurringPause(w.platform, actorIn(TENANTS[0]), { id: jobId }, true));
  }
  for (const [id, { status }] of w.model.batches) if (status === "Open") await allowed(closeBatch(w, id, []));
}

async function allowed(call: Promise<unknown>): Promise<void> {
  await call.catch((error) => {
    if (!(error instanceof Problem)) throw error;
  });
}
