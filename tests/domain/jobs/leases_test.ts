import assert from "node:assert/strict";
import { z } from "zod";
import type { EndedAttempt } from "../../../domain/jobs/ended_attempt.ts";
import { openLease, recoverLostJobs } from "../../../domain/jobs/engine/lease.ts";
import { LeaseKeeper } from "../../../domain/jobs/engine/lease_keeper.ts";
import { push, PushLease } from "../../../domain/jobs/engine/push.ts";
import { defineJob, JobTypes } from "../../../domain/jobs/job_type.ts";
import { RateReleaser } from "../../../domain/jobs/limits/release_limited.ts";
import { pauseWork, resumeWork } from "../../../domain/jobs/limits/pauses.ts";
import { RemoteWorkers } from "../../../domain/jobs/remote/remote_workers.ts";
import { operator } from "../../../domain/jobs/reach.ts";
import { newId } from "../../../domain/shared/ids.ts";
import { createLog } from "../../../infra/log.ts";
import { connectSeparately } from "../../../infra/postgres/driver_workarounds.ts";
import { mainPool, type Pool, type Sql, transact } from "../../../infra/postgres/postgres.ts";
import { jobContext } from "../../support/job_context.ts";
import { setupShared } from "../../support/setup.ts";
import { until } from "../../support/until.ts";

const t = await setupShared({ JOB_CONCURRENCY: "0" });
const { sql } = t;

/** Opens a lease of two seconds. `events` gets its callbacks in their order. */
async function openKeeper(): Promise<{ keeper: LeaseKeeper; events: string[] }> {
  const events: string[] = [];
  const keeper = new LeaseKeeper({
    connect: () => connectSeparately(mainPool(sql)),
    host: "lease test",
    leaseSeconds: 2,
    log: createLog("off"),
    onAtRisk: () => events.push("at risk"),
    onReplaced: () => events.push(`replaced, jobs ${keeper.isSafe ? "may" : "must not"} start`),
    onSafeAgain: () => events.push("safe again"),
  });
  await keeper.open();
  return { keeper, events };
}

const REPLACED = ["replaced, jobs must not start", "safe again"];

Deno.test("no job starts with a new lease before those of the lost lease are forgotten", async () => {
  const { keeper, events } = await openKeeper();
  const lost = keeper.id;
  await transact(sql, async (tx) => {
    await tx`delete from job_workers where id = ${lost}`; // each renewal waits for this row and times out
    await until(() => events, ([first]) => first === "at risk");
  });
  await until(() => events, (all) => all.includes("safe again"));
  assert.deepEqual(events, ["at risk", ...REPLACED]);
  assert.ok(keeper.isSafe && keeper.id !== lost);
  await keeper.close();
});

Deno.test("a lease that is opened while a pause is written waits for it, so that the new worker reads the pause", async () => {
  const parts = { ...t.platform, jobTypes: new JobTypes() };
  const target = { kind: "queue", name: "during" } as const;
  let opening: Promise<string> | undefined;
  await transact(sql, async (tx) => {
    await pauseWork({ ...parts, sql: tx }, operator(), target, null);
    opening = openLease(sql, "late");
    const waiting = () =>
      sql`select from pg_stat_activity
        where wait_event_type = 'Lock' and datname = current_database() and query like '%insert into job_workers%'`;
    await until(waiting, ({ length }) => length > 0);
  });
  const id = await opening;
  assert.equal((await sql`select from job_workers where id = ${id ?? null}`).length, 1);
  await resumeWork(parts, operator(), target);
});

/** A running attempt, as its worker has claimed it. @returns the id of the job */
async function running(): Promise<string> {
  const { body } = await t.systemAdmin.post("/api/v1/jobs", {
    jobTypeName: "steward.echo",
    serializedArgs: "{}",
  });
  await sql`update jobs set status = 'Processing', attempts = 1, worker_id = ${newId()}, started_at = now(),
    lease_until = now() + interval '1 minute', deadline = now() + interval '1 minute' where id = ${body.id}`;
  return body.id;
}

Deno.test("a renewal that reaches the database after the hand-over does not shorten the receiver's lease", async () => {
  const jobId = await running();
  const isSent = Promise.withResolvers<void>();
  const arrives = Promise.withResolvers<void>();
  const isDone = Promise.withResolvers<void>();
  const late = async (query: PromiseLike<unknown>) => {
    isSent.resolve();
    await arrives.promise;
    await query;
    isDone.resolve();
  };
  let statements = 0;
  // the second statement is the first renewal
  const db =
    ((parts: TemplateStringsArray, ...values: string[]) =>
      ++statements === 2 ? late(sql(parts, ...values)) : sql(parts, ...values)) as unknown as Sql;
  const lease = new PushLease(db, { jobId, attempt: 1, receiverId: newId(), leaseSeconds: 3 });
  await lease.open(600_000);
  await isSent.promise;
  lease.close();
  await lease.handOver();
  arrives.resolve();
  await isDone.promise;
  const [row] = await sql`select lease_until = deadline as is_whole from jobs where id = ${jobId}`;
  assert.equal(row?.isWhole, true);
});

Deno.test("a push whose secrets cannot be read opens no lease, which nothing would end", async () => {
  const jobId = await running();
  const leaseOf = async () => ({
    ...(await sql`select lease_until, deadline from jobs where id = ${jobId}`)[0],
  });
  const before = await leaseOf();
  const type = defineJob({ name: "test.push", args: z.unknown(), run: () => {} });
  const receiver = { typeId: "no id", url: "http://127.0.0.1:1" };
  await assert.rejects(push(type, receiver, {}, jobContext(t.steward.platform, { jobId })));
  assert.deepEqual(await leaseOf(), before);
});

Deno.test("an attempt past its deadline is counted once its end has committed", async () => {
  const jobId = await running();
  await sql`update jobs set lease_until = now() - interval '1 ms', deadline = now() - interval '1 ms' where id = ${jobId}`;
  let ended = 0;
  const onEnded = (attempts: EndedAttempt[]) => {
    ended += attempts.filter((attempt) => attempt.jobId === jobId).length;
  };
  const rolledBack = transact(sql, async (tx) => {
    await recoverLostJobs(tx, 60, { onEnded });
    throw new Error("rolled back");
  });
  await assert.rejects(rolledBack, /rolled back/);
  assert.equal(ended, 0);
  await recoverLostJobs(sql, 60, { onEnded });
  assert.equal(ended, 1);
});

Deno.test("workers are listed while new ones keep calling", async () => {
  const workers = new RemoteWorkers({ sql, log: createLog("off"), waiting: () => [] });
  const first = newId();
  workers.called(first, { name: "first", program: null });
  const others = setInterval(() => workers.called(newId(), { name: "other", program: null }), 10);
  try {
    await until(() => sql`select from job_workers where id = ${first}`, (rows) => rows.length === 1);
  } finally {
    clearInterval(others);
    workers.stop();
  }
});

Deno.test("while another instance has locked the buckets that are due, the releaser pauses between its tries", async () => {
  const types = new JobTypes();
  const rateLimit = { count: 1, perSeconds: 60 };
  types.register(defineJob({ name: "test.locked", args: z.object({}), rateLimit, run: () => {} }));
  await sql`insert into job_buckets (bucket, full_at, next_at) values ('test.locked', now(), now() - interval '1 s')`;
  let [tries, pauses] = [0, 0];
  const counting = Object.assign((...args: Parameters<Pool>) => {
    if (args[0].join("").includes("min(next_at)")) tries++;
    return sql(...args);
  }, sql) as unknown as Pool;
  const { setTimeout: start } = globalThis;
  const counted = (...args: Parameters<typeof setTimeout>) => {
    if (args[1] === 50) pauses++;
    return start(...args);
  };
  Object.assign(globalThis, { setTimeout: counted });
  try {
    await transact(sql, async (tx) => {
      await tx`select from job_buckets where bucket = 'test.locked' for update`;
      const releaser = new RateReleaser({ ...t.platform, sql: counting, jobTypes: types }, 60_000);
      await until(() => tries >= 3);
      await releaser.stop();
      assert.ok(pauses >= tries - 1, `${tries} tries, ${pauses} pauses`);
    });
  } finally {
    Object.assign(globalThis, { setTimeout: start });
  }
  await sql`delete from job_buckets where bucket = 'test.locked'`;
});
