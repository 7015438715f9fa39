import assert from "node:assert/strict";
import { z } from "zod";
import { runAttempt, SharedTimeouts } from "../../../domain/jobs/engine/attempt.ts";
import type { AttemptLog } from "../../../domain/jobs/engine/attempt_log.ts";
import { defineJob, type JobContext, JobTypes } from "../../../domain/jobs/job_type.ts";
import type { Settlement } from "../../../domain/jobs/engine/settle.ts";
import { openLease } from "../../../domain/jobs/engine/lease.ts";
import { firstIdOf, newId } from "../../../domain/shared/ids.ts";
import {
  ObjectNotFound,
  ObjectStoreRefused,
  ObjectStoreUnavailable,
} from "../../../infra/objectstore/objectstore.ts";
import { connectPostgres, type Sql } from "../../../infra/postgres/postgres.ts";
import { createTestDatabase } from "../../support/cluster.ts";
import { GivenClock } from "../../support/given_clock.ts";
import { claimedJob, NO_PLATFORM } from "../../support/job_context.ts";

const job = claimedJob({ jobTypeName: "test.answer" });
const takeWorker = () => Promise.resolve(null);
const unused = {} as AttemptLog;

async function settle(run: () => Promise<unknown>): Promise<Settlement> {
  const types = new JobTypes();
  types.register(defineJob({ name: "test.answer", args: z.object({}), run }));
  return await runAttempt(job, { types, attemptLog: unused, platform: NO_PLATFORM, takeWorker }).settlement ??
    assert.fail();
}

Deno.test("recurring work of the service itself runs on the pool for upkeep, other jobs on the main one", async () => {
  const types = new JobTypes();
  const run = (_: unknown, { db, platform }: JobContext) =>
    Promise.resolve([db === platform.sql, db === upkeep]);
  const upkeep = {} as Sql;
  types.register(defineJob({ name: "test.answer", args: z.object({}), run }));
  types.register(defineJob({ name: "test.sweep", args: z.object({}), run, cron: "* * * * *" }));
  const o = {
    types,
    attemptLog: unused,
    platform: NO_PLATFORM,
    upkeepPlatform: { ...NO_PLATFORM, sql: upkeep },
    takeWorker,
  };
  const outputOf = async (jobTypeName: string) =>
    (await runAttempt({ ...job, jobTypeName }, o).settlement)?.output;
  assert.deepEqual([await outputOf("test.answer"), await outputOf("test.sweep")], [
    "[true,false]",
    "[true,true]",
  ]);
});

Deno.test("a job type with an invalid rate limit cannot be registered", () => {
  const limit = { count: 1, perSeconds: 1 };
  for (const wrong of [{ count: 0 }, { perSeconds: 0.5 }, { key: "x" }]) {
    const rateLimit = { ...limit, ...wrong };
    const type = defineJob({ name: "test.invalid", args: z.object({}), rateLimit, run: () => {} });
    assert.throws(() => new JobTypes().register(type), /invalid rateLimit/);
  }
});

Deno.test("code that throws, or an output that cannot be serialized as JSON, fails the attempt, not the process", async () => {
  const atOnce = () => {
    throw new Error("at once");
  };
  const cases: [run: () => Promise<unknown>, error: RegExp][] = [
    [() => Promise.resolve({ count: 1n }), /BigInt/],
    [() => Promise.reject(Object.create(null)), /^The job threw a value that cannot be converted to text\.$/],
    [atOnce, /^at once$/],
  ];
  for (const [run, expected] of cases) {
    const { next, error } = await settle(run);
    assert.equal(next, "DeadLettered");
    assert.match(error ?? "", expected);
  }
});

Deno.test("an object store that does not answer or refuses the service, or an unreachable, full or busy database, is not counted as the job's failure", async () => {
  const sql = connectPostgres(await createTestDatabase({ empty: true }), { max: 1 });
  const refused = connectPostgres("postgres://nobody@127.0.0.1:1/nothing", { max: 1 });
  const raising = (code: string) => () => sql.unsafe(`do $$ begin raise sqlstate '${code}'; end $$`);
  const troubles = ["40001", "40P01", "55P03", "57014", "53100", "53200", "58030", "57P03"].map(raising);
  const noStore = () => Promise.reject(new ObjectStoreUnavailable("reading an object: timeout"));
  const refusals = ([[403, "AccessDenied"], [404, "NoSuchBucket"], [400, "ExpiredToken"]] as const)
    .map(([status, code]) => () => Promise.reject(new ObjectStoreRefused("no", status, code)));
  for (const run of [...troubles, () => refused`select 1`, noStore, ...refusals]) {
    const { next, countsAsFailure, delayMs } = await settle(run);
    assert.deepEqual([next, countsAsFailure], ["Failed", false]);
    assert.ok(delayMs >= 1_600 && delayMs <= 2_400, String(delayMs));
  }
  assert.equal(
    (await settle(refusals[0]!)).error,
    "The object store refuses the service (403 AccessDenied).",
    "an operator sees what is wrong",
  );
  for (const error of [new ObjectNotFound("gone"), new ObjectStoreRefused("bad", 400, "InvalidArgument")]) {
    assert.equal((await settle(() => Promise.reject(error))).next, "DeadLettered", error.name);
  }
  assert.equal((await settle(raising("23505"))).next, "DeadLettered");
  const elsewhere = () => fetch("http://127.0.0.1:1/");
  assert.equal((await settle(elsewhere)).next, "DeadLettered", "an outage of another server counts");
  await sql.end();
});

/** Settles an old job whose type is not registered anywhere and whose retries are used up. */
async function settleUnknown(minutes: number, platform = NO_PLATFORM): Promise<Settlement> {
  const id = firstIdOf(new Date(Date.now() - minutes * 60_000));
  const old = { ...job, id, attempts: 4, failures: 3, maxRetries: 3 };
  const o = { types: new JobTypes(), attemptLog: unused, platform, takeWorker };
  return await runAttempt(old, o).settlement ?? assert.fail();
}

Deno.test("a job of a type this instance does not know waits for one that does, and is dead-lettered after 15 minutes unless instances differ", async () => {
  const { execution, countsAsFailure, delayMs, waitReason, ...young } = await settleUnknown(1);
  assert.deepEqual([execution, young.next, countsAsFailure, delayMs > 0], [null, "Scheduled", false, true]);
  assert.match(waitReason ?? "", /no job type has the name test\.answer in this instance/);
  const sql = connectPostgres(await createTestDatabase(), { max: 1 });
  const platform = { ...NO_PLATFORM, sql };
  await openLease(sql, "host");
  const { next, error } = await settleUnknown(16, platform);
  assert.deepEqual([next, error], ["DeadLettered", "no job type has the name test.answer"]);
  await openLease(sql, "host", newId(), new Set(["jobs"]));
  assert.equal((await settleUnknown(16, platform)).next, "Scheduled");
  await sql.end();
});

Deno.test("calls of shared timers come at their times, those of the same time with one timer, and cancelled ones never", () => {
  using clock = new GivenClock("setTimeout");
  const timeouts = new SharedTimeouts();
  const called: string[] = [];
  const start = (ms: number, name: string) => timeouts.start(ms, () => called.push(name));
  start(150, "long");
  const cancel = start(40, "cancelled");
  start(40, "first");
  clock.tick(25);
  start(40, "second");
  cancel();
  const seen = [14, 1, 24, 1, 84, 1].map((ms) => {
    clock.tick(ms);
    return called.join(" ");
  });
  assert.deepEqual(seen, ["", "first", "first", "first second", "first second", "first second long"]);
});
