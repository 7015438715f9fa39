// Workers of this process: places, shares, limits, turns, queues, pauses and their end.
import assert from "node:assert/strict";
import { z } from "zod";
import { insertJobs, type NewJob } from "../../../domain/jobs/enqueue.ts";
import {
  type AnyJobType,
  defineJob,
  type JobContext,
  JobTypes,
  limitKeyOf,
} from "../../../domain/jobs/job_type.ts";
import { pauseWork, resumeWork } from "../../../domain/jobs/limits/pauses.ts";
import { bucketOf } from "../../../domain/jobs/rate_limit.ts";
import { RateReleaser } from "../../../domain/jobs/limits/release_limited.ts";
import { operator } from "../../../domain/jobs/reach.ts";
import { Worker, type WorkerOptions } from "../../../domain/jobs/engine/worker.ts";
import { createLog } from "../../../infra/log.ts";
import { transact } from "../../../infra/postgres/postgres.ts";
import { setupFile } from "../../support/setup.ts";
import { until } from "../../support/until.ts";

const t = await setupFile({ JOB_CONCURRENCY: "0" }, { inThisProcess: true });
const { platform, sql } = t;

const typeOf = (
  name: string,
  run: (args: Record<string, never>, context: JobContext) => unknown = () => null,
  more: Partial<AnyJobType> = {},
) => defineJob({ name, args: z.any(), run: async (args, context) => await run(args, context), ...more });
const jobOf = (type: AnyJobType, more: Partial<NewJob> = {}): NewJob => ({
  jobTypeName: type.name,
  serializedArgs: "{}",
  maxRetries: 0,
  limitKey: limitKeyOf(type),
  ...more,
});
const jobsOf = (count: number, type: AnyJobType, more: Partial<NewJob> = {}) =>
  Array.from({ length: count }, () => jobOf(type, more));
/** @param worker is woken */
const enqueue = (jobs: NewJob[], worker?: Worker) =>
  transact(sql, (tx) => insertJobs({ wakeUps: { at: () => worker?.wake() } }, tx, jobs));
const statusesOf = async (type: AnyJobType): Promise<string[]> => {
  const rows = await sql<{ status: string }[]>`
    select status from jobs where job_type_name = ${type.name} order by status::text`;
  return rows.map(({ status }) => status);
};
const processing = async (type: AnyJobType) =>
  (await statusesOf(type)).filter((each) => each === "Processing").length;

async function startWorker(given: AnyJobType[], o: Partial<WorkerOptions> = {}) {
  const types = new JobTypes();
  types.register(...given);
  let settled = 0;
  const worker = await Worker.start({
    platform,
    sql,
    types,
    log: createLog("off"),
    host: "test",
    concurrency: 1,
    queues: null,
    pollMs: 50,
    onSettled: (jobs) => settled += jobs.length,
    ...o,
  });
  const hasSettled = (count: number) => until(() => settled >= count);
  return { worker, types, hasSettled, [Symbol.asyncDispose]: () => worker.stop(1_000) };
}

/** A handler that waits until its gate opens, and counts how many run at once. */
function gated() {
  const gate = Promise.withResolvers<void>();
  const count = { running: 0, most: 0, open: gate.resolve };
  const run = async () => {
    count.most = Math.max(count.most, ++count.running);
    await gate.promise;
    count.running--;
  };
  return { count, run };
}

Deno.test("four jobs with a share of a quarter run in one place, and others wait until a place is free", async () => {
  const { count, run } = gated();
  const light = typeOf("test.light", run, { places: 1 / 4 });
  const runningBeside: number[] = [];
  const whole = typeOf("test.whole", () => void runningBeside.push(count.running));
  await enqueue([...jobsOf(6, light, { priority: "High" }), jobOf(whole, { priority: "Low" })]);
  await using w = await startWorker([light, whole]);
  await until(() => count.running === 4);
  count.open();
  await w.hasSettled(7);
  assert.equal(count.most, 4);
  assert.ok(runningBeside.every((n) => n < 4), String(runningBeside));
});

Deno.test("slow jobs of a type with a share leave the other places of a worker to small jobs", async () => {
  const { count, run } = gated();
  const slow = typeOf("test.slow", run, { share: 1 / 2 });
  const small = typeOf("test.small");
  await enqueue([...jobsOf(20, slow), ...jobsOf(60, small)]);
  await using w = await startWorker([slow, small], { concurrency: 4 });
  await w.hasSettled(60);
  assert.deepEqual([count.running, count.most], [2, 2]);
  assert.equal(await processing(slow), 2, "the worker claims no slow job that it cannot start");
  count.open();
  await w.hasSettled(80);
  assert.equal(count.most, 2);
});

Deno.test("a type's limit of concurrent jobs holds across workers", async () => {
  const gates: (() => void)[] = [];
  let most = 0;
  const limited = typeOf("test.limited", async () => {
    const gate = Promise.withResolvers<void>();
    most = Math.max(most, gates.push(gate.resolve));
    await gate.promise;
  }, { concurrency: 2 });
  const free = typeOf("test.free");
  await enqueue(jobsOf(6, limited));
  await using one = await startWorker([limited, free], { concurrency: 3, queues: ["default", "one"] });
  await using two = await startWorker([limited, free], { concurrency: 3, queues: ["default", "two"] });
  for (let round = 1; round <= 3; round++) {
    await until(() => gates.length === 2);
    for (const [queue, { worker }] of Object.entries({ one, two })) {
      await enqueue([jobOf(free, { queue })], worker);
    }
    await until(async () =>
      (await statusesOf(free)).filter((status) => status === "Succeeded").length === 2 * round
    );
    for (const open of gates.splice(0)) open();
  }
  await until(async () => (await statusesOf(limited)).every((status) => status === "Succeeded"));
  assert.equal(most, 2);
});

/**
 * Jobs of one tenant take all places of a limited type; then the other one comes, and jobs end one by one until two of the
 * other one have started. @returns who started, in order
 */
async function startedInTurn(name: string, more: Partial<AnyJobType>) {
  const [busy, quiet] = [crypto.randomUUID(), crypto.randomUUID()];
  const [gates, started]: [(() => void)[], (string | null)[]] = [[], []];
  const limited = typeOf(name, async (_, { tenantId }) => {
    started.push(tenantId);
    const gate = Promise.withResolvers<void>();
    gates.push(gate.resolve);
    await gate.promise;
  }, { concurrency: 4, ...more });
  const hasTurned = () => started.filter((tenantId) => tenantId === quiet).length >= 2;
  await enqueue(jobsOf(20, limited, { tenantId: busy }));
  await using w = await startWorker([limited], { concurrency: 8 });
  await until(() => started.length === 4);
  await enqueue(jobsOf(4, limited, { tenantId: quiet }), w.worker);
  if (more.isConcurrencySoft) await until(hasTurned);
  for (let count = 5; !hasTurned(); count++) {
    gates.shift()?.();
    await until(() => started.length === count);
  }
  const first = started.map((tenantId) => tenantId === busy ? "busy" : "quiet").join(" ");
  await until(() => {
    for (const open of gates.splice(0)) open();
    return started.length === 24;
  });
  for (const open of gates) open();
  await w.hasSettled(24);
  return first;
}

Deno.test("of a type's concurrency too, a tenant gets no more than half while others wait", async () => {
  // Claims that run while the other tenant's jobs come may take more of the first tenant's.
  assert.match(await startedInTurn("test.strict", {}), /^(busy ){4,12}quiet quiet$/);
  const soft = { isConcurrencySoft: true } as const;
  assert.equal(await startedInTurn("test.soft", soft), "busy busy busy busy quiet quiet");
});

Deno.test("if several tenants hold all places, a job of each other tenant starts nevertheless, up to as many again", async () => {
  const { count, run } = gated();
  const long = typeOf("test.endless", run);
  const tenants = Array.from({ length: 8 }, () => crypto.randomUUID());
  await using w = await startWorker([long], { concurrency: 4 });
  for (const [i, tenantId] of tenants.entries()) {
    await enqueue(jobsOf(6, long, { tenantId }), w.worker);
    await until(() => count.running === [4, 6, 7, 8][Math.min(i, 3)]);
  }
  count.open();
  await w.hasSettled(48);
});

Deno.test("claims alternate between tenants whatever the priorities; within a tenant priority goes before due time", async () => {
  const started: string[] = [];
  const [busy, quiet] = [crypto.randomUUID(), crypto.randomUUID()].sort();
  const turn = typeOf("test.turn", ({ name }) => void started.push(name!));
  const named = (name: string, priority: NewJob["priority"], tenantId?: string) =>
    jobOf(turn, { priority, tenantId, serializedArgs: JSON.stringify({ name }) });
  await enqueue([
    ...Array.from({ length: 10 }, () => named("busy critical", "Critical", busy)),
    named("quiet low", "Low", quiet),
    named("quiet normal", "Normal", quiet),
    named("quiet high", "High", quiet),
  ]);
  await using w = await startWorker([turn], { concurrency: 2 });
  await w.hasSettled(13);
  assert.deepEqual(started.filter((name) => name.startsWith("quiet")), [
    "quiet high",
    "quiet normal",
    "quiet low",
  ]);
  assert.ok(started.lastIndexOf("quiet low") < 8, started.join());
});

Deno.test("a worker that has no free place does not hold long jobs behind a burst of short ones", async () => {
  const { count, run } = gated();
  const [short, long] = [typeOf("test.short"), typeOf("test.long", run)];
  await enqueue([...jobsOf(120, short, { priority: "High" }), ...jobsOf(20, long)]);
  await using w = await startWorker([short, long], { concurrency: 4 });
  await w.hasSettled(120);
  await until(async () => count.running === 4 && await processing(long) === 4);
  count.open();
  await w.hasSettled(140);
});

Deno.test("a tenant holds at most half of a type's share while others wait, and the worker tells that it is stalled", async () => {
  const [busy, quiet] = [crypto.randomUUID(), crypto.randomUUID()];
  const gate = Promise.withResolvers<void>();
  const running: (string | null)[] = [];
  const silent = typeOf("test.silent", async (_, { tenantId }) => {
    running.push(tenantId);
    await gate.promise;
  }, { places: 1 / 4, share: 1 / 2 });
  const count = (tenantId: string) => running.filter((id) => id === tenantId).length;
  await enqueue(jobsOf(10, silent, { tenantId: busy }));
  await using w = await startWorker([silent], { concurrency: 2 });
  await until(() => count(busy) === 4);
  assert.equal(w.worker.stallReason(), null);
  const expected = /^4 jobs run, others may wait, and none has started or ended for/;
  await until(() => expected.test(reasonIn(31_000, w.worker) ?? ""));
  await enqueue(jobsOf(10, silent, { tenantId: quiet }), w.worker);
  await until(() => count(quiet) === 2);
  assert.equal(count(busy), 4);
  gate.resolve();
  await w.hasSettled(20);
});

/** Why the worker is stalled if nothing changes for this time. */
function reasonIn(ms: number, worker: Worker): string | null {
  const { now } = performance;
  performance.now = () => now.call(performance) + ms;
  try {
    return worker.stallReason();
  } finally {
    performance.now = now;
  }
}

Deno.test("a worker waits when no job of its queues is due; it stops when its running jobs have ended, and gives back the others", async () => {
  const { count, run } = gated();
  const held = typeOf("test.held", run);
  const hasClaimed = Promise.withResolvers<void>();
  const o = { concurrency: 2, queues: ["held"], pollMs: 60_000, onClaimed: () => hasClaimed.resolve() };
  const other = typeOf("test.other");
  await enqueue([jobOf(other)]);
  const { worker } = await startWorker([held, other], o);
  assert.equal(worker.state, "Claiming");
  await hasClaimed.promise;
  assert.equal(worker.state, "Waiting");
  await enqueue(jobsOf(10, held, { queue: "held" }), worker);
  await until(() => worker.busy === 2 && count.running === 2);
  const stopped = worker.stop(60_000);
  assert.equal(worker.state, "Draining");
  worker.wake();
  assert.equal(worker.state, "Draining");
  count.open();
  await stopped;
  assert.equal(worker.state, "Stopped");
  assert.deepEqual(await statusesOf(held), [...Array(8).fill("Enqueued"), "Succeeded", "Succeeded"]);
  const [kept] =
    await sql`select (select count(*) from jobs where job_type_name = ${held.name} and status = 'Enqueued'
    and attempts > 0) as jobs, (select count(*) from job_workers where host = 'test') as leases`;
  assert.deepEqual({ ...kept }, { jobs: 0, leases: 0 });
  assert.deepEqual(await statusesOf(other), ["Enqueued"]);
  await sql`delete from jobs where job_type_name in (${held.name}, ${other.name})`;
});

Deno.test("no prefetched job starts after its queue or type was paused, and each job runs once", async () => {
  const JOBS = 400;
  const started: string[] = [];
  const quick = typeOf("test.quick", (_, { jobId }) => {
    started.push(jobId);
    return new Promise((resolve) => setTimeout(resolve, 1));
  });
  await enqueue(jobsOf(JOBS, quick));
  await using w = await startWorker([quick], { concurrency: 4 });
  const parts = { ...platform, jobTypes: w.types };
  let interrupted = 0;
  const targets = [{ kind: "queue", name: "default" }, { kind: "type", name: quick.name }] as const;
  for (const target of [...targets, ...targets]) {
    const before = started.length;
    await until(() => started.length > before + 50 || started.length === JOBS);
    await pauseWork(parts, operator(), target, null);
    const startedBefore = started.length;
    await until(async () => await processing(quick) === 0);
    assert.equal(started.length, startedBefore);
    if (startedBefore < JOBS) interrupted++;
    await resumeWork(parts, operator(), target);
  }
  assert.ok(interrupted > 0);
  await w.hasSettled(JOBS);
  assert.equal(new Set(started).size, JOBS);
  assert.equal(started.length, JOBS);
});

Deno.test("a prefetched job that a caller asks to stop is cancelled, also if the database first refuses that", async () => {
  await sql.unsafe(`create function refuse_change() returns trigger language plpgsql as
    $$ begin raise exception 'refused'; end $$;
    create trigger refuses before update of status on jobs for each row
      when (old.status = 'Processing' and new.status = 'Cancelled') execute function refuse_change()`);
  let asked: string | undefined;
  const quick: AnyJobType = typeOf("test.asked", async (_, { jobId }) => {
    await new Promise((resolve) => setTimeout(resolve, 1));
    if (asked !== undefined) return;
    const [held] = await sql<{ id: string }[]>`
      update jobs set cancel_requested_at = now() where id = (select max(id::text)::uuid from jobs
        where job_type_name = ${quick.name} and status = 'Processing' and id > ${jobId}
          and started_at = (select started_at from jobs where id = ${jobId})) returning id`; // of the same claim: held
    asked = held?.id;
    if (asked === undefined) return;
    await w.worker.checkCancelRequests().catch(() => {});
    await sql.unsafe("drop trigger refuses on jobs");
  });
  await using w = await startWorker([quick]);
  await enqueue(jobsOf(200, quick), w.worker);
  await until(async () => (await statusesOf(quick)).every((each) => /^Succeeded|Cancelled$/.test(each)));
  const [job] = await sql`select status, attempts from jobs where id = ${asked!}`;
  assert.deepEqual({ ...job }, { status: "Cancelled", attempts: 0 });
});

Deno.test("a long line of a limited type keeps to the limit, is not rewritten and does not slow others", async () => {
  let starts = 0;
  const rateLimit = { count: 20, perSeconds: 3_600, key: "$.customer" };
  const rated = typeOf("test.rated", () => void starts++, { rateLimit });
  const free = typeOf("test.beside");
  const serializedArgs = '{"customer":1}';
  const bucket = bucketOf(rated, serializedArgs);
  await enqueue(jobsOf(200, rated, { serializedArgs, bucket }));
  const places = async () => {
    const rows = await sql<{ id: string; place: string }[]>`
      select id, ctid::text as place from jobs where bucket = ${bucket} and lane > '§'`;
    return new Map(rows.map(({ id, place }) => [id, place]));
  };
  const before = await places();
  assert.equal(before.size, 200);
  await using w = await startWorker([rated, free], { concurrency: 10 });
  const wakeUps = { at: () => w.worker.wake() };
  const releaser = new RateReleaser({ ...platform, jobTypes: w.types, wakeUps }, 50);
  await w.hasSettled(20);
  await enqueue(jobsOf(100, free), w.worker);
  await w.hasSettled(120);
  assert.equal(starts, 20);
  await until(async () => (await sql`select from job_bucket_events`).length === 0); // a fold takes these tokens later
  await sql`update job_buckets set full_at = full_at - interval '1 hour', next_at = now() - interval '1 ms' where bucket = ${bucket}`;
  await w.hasSettled(140);
  await releaser.stop();
  assert.equal(starts, 40);
  const after = await places();
  assert.equal(after.size, 160);
  for (const [id, place] of after) assert.equal(place, before.get(id));
});

Deno.test("an attempt that takes the worker waits for the running jobs, and no other job starts until it leaves", async () => {
  const { run, count: beside } = gated();
  const [leaves, asks] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const events: string[] = [];
  const slow = typeOf("test.beside", run);
  const lone = typeOf("test.lone", async (_, { takeWorker }) => {
    assert.equal(await takeWorker(1), null, "the other job has not ended");
    asks.resolve();
    const leave = await takeWorker(600_000);
    events.push(`taken, ${beside.running} beside`);
    await leaves.promise;
    leave?.();
  });
  const next = typeOf("test.next", () => void events.push("next"));
  await using w = await startWorker([slow, lone, next], { concurrency: 4 });
  await enqueue([jobOf(slow)], w.worker);
  await until(() => beside.running === 1);
  await enqueue([jobOf(lone)], w.worker);
  await asks.promise;
  await enqueue(jobsOf(3, next), w.worker);
  beside.open();
  await until(() => events.length === 1);
  w.worker.wake();
  await w.hasSettled(1);
  await until(() => processing(next).then((count) => count === 0)); // a claim on its way gives its jobs back
  assert.deepEqual([events, w.worker.busy], [["taken, 0 beside"], 1]);
  leaves.resolve();
  await w.hasSettled(5);
  assert.deepEqual(events.slice(1), ["next", "next", "next"]);
});

Deno.test("a second attempt that wants the worker is postponed; the worker is free again when the first one has ended", async () => {
  const [taken, wants] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const ends = Promise.withResolvers<void>();
  const first = typeOf("test.first-taker", async (_, { takeWorker }) => {
    void takeWorker(600_000);
    setTimeout(taken.resolve, 0); // the worker is taken in a microtask
    await ends.promise;
  });
  const second = typeOf("test.second-taker", async (_, { takeWorker, attempt }) => {
    if (attempt === 1) await wants.promise;
    await takeWorker(600_000);
  });
  await using w = await startWorker([first, second], { concurrency: 2 });
  await enqueue([jobOf(second)], w.worker);
  await until(() => processing(second).then((count) => count === 1));
  await enqueue([jobOf(first)], w.worker);
  await taken.promise;
  wants.resolve();
  await until(async () => (await statusesOf(second))[0] === "Scheduled");
  ends.resolve();
  await sql`update jobs set due_at = now() - interval '1 ms', status = 'Enqueued' where job_type_name = ${second.name}`;
  await until(async () => (await statusesOf(second))[0] === "Succeeded");
});
