import assert from "node:assert/strict";
import postgres from "postgres";
import { Claimer } from "../../../domain/jobs/engine/claimer.ts";
import { Places } from "../../../domain/jobs/engine/places.ts";
import { laneName, remoteKey } from "../../../domain/jobs/job_row.ts";
import { JobTypes } from "../../../domain/jobs/job_type.ts";
import { LaneFloors } from "../../../domain/jobs/engine/lane_floors.ts";
import { openLease } from "../../../domain/jobs/engine/lease.ts";
import { claimSlots } from "../../../domain/jobs/remote/claim_slots.ts";
import { findDueLanes } from "../../../domain/jobs/engine/due_lanes.ts";
import { lanePrefixes } from "../../../domain/jobs/remote/served.ts";
import { newId } from "../../../domain/shared/ids.ts";
import { connectPostgres, type Pool } from "../../../infra/postgres/postgres.ts";
import { createTestDatabase } from "../../support/cluster.ts";
import { until } from "../../support/until.ts";

const ENDED = 3_000;
const url = await createTestDatabase();
const sql = connectPostgres(url, { max: 2 });
const one = connectPostgres(url, { max: 1 });
const holder = postgres(url, { max: 1 });
const { now } = performance;
let aheadMs = 0;
performance.now = () => now.call(performance) + aheadMs;
Deno.test.afterAll(async () => {
  Reflect.deleteProperty(performance, "now");
  for (const pool of [holder, one, sql]) await pool.end();
});

/** The connection `one` to a database that seems slow: a claim takes 20 ms, and a check 10 ms. */
const slow = Object.assign((...args: Parameters<Pool>) => {
  const text = String(args[0]);
  if (text.includes("set status = 'Processing'")) aheadMs += 20;
  const query = one(...args);
  if (!text.includes("as took_ms")) return query;
  return query.then((rows) => rows.map((row) => ({ ...row, tookMs: 10 })));
}, one) as unknown as Pool;

interface Given {
  priority?: number;
  /** How long ago it became due. */
  age?: string;
  queue?: string;
  lane?: string;
}

async function enqueue(
  { priority = 2, age = "0", queue = "default", lane = laneName(queue) }: Given,
): Promise<string> {
  const id = newId();
  await sql`
    insert into jobs (id, job_type_name, serialized_args, type, status, priority, queue, lane, due_at, max_retries)
    values (${id}, 'test.floors', '{}', 'FireAndForget', 'Enqueued', ${priority}, ${queue}, ${lane},
      now() - ${age}::interval, 3)`;
  return id;
}

/** Holds a snapshot, and then enqueues and ends jobs in a lane: their index entries stay. */
async function endJobs(lane: string) {
  const connection = await holder.reserve();
  await connection`begin isolation level repeatable read`;
  await connection`select count(*) from users`;
  await one`
    insert into jobs (id, job_type_name, serialized_args, type, status, priority, queue, lane, due_at, max_retries)
    select uuidv7(), 'test.floors', '{}', 'FireAndForget', 'Enqueued', 2, 'default', ${lane},
      now() - interval '1 minute', 3 from generate_series(1, ${ENDED})`;
  await one`update jobs set status = 'Cancelled', completed_at = now() where lane = ${lane}`;
  let hasEnded = false;
  const end = async () => {
    if (hasEnded) return;
    hasEnded = true;
    await connection`commit`;
    connection.release();
  };
  return { end, [Symbol.asyncDispose]: end };
}

/** How many index entries of `jobs` the statements of `work` on the connection `one` read. */
async function readsOf(work: () => Promise<void>): Promise<number> {
  const read = async () => {
    await one`select pg_stat_force_next_flush()`;
    const [row] = await one<{ n: number }[]>`
      select sum(idx_tup_read)::int as n from pg_stat_user_indexes where relname = 'jobs'`;
    return row?.n ?? 0;
  };
  const before = await read();
  await work();
  return await read() - before;
}

/** Claims begin at the last claimed job, and find jobs of other priorities and those that were due long before. */
async function assertSkips(claim: () => Promise<string | undefined>, lane: string): Promise<void> {
  const claimNew = async () => {
    const id = await enqueue({ lane });
    assert.equal(await claim(), id);
  };
  const reading = await readsOf(claimNew);
  assert.ok(reading > ENDED / 2, `without floors ${reading} index entries were read`);
  await until(() => readsOf(claimNew), (n) => n < ENDED / 20, { what: "a claim that skips the ended jobs" });
  const [low, critical] = [await enqueue({ lane, priority: 3 }), await enqueue({ lane, priority: 0 })];
  assert.deepEqual([await claim(), await claim(), await claim()], [critical, low, undefined]);
  const old = await enqueue({ lane, age: "1 hour" });
  assert.equal(await until(claim), old);
}

Deno.test("while a snapshot is held, claims do not read the entries of ended jobs, and miss no job", async () => {
  await using held = await endJobs(laneName("held"));
  const workerId = await openLease(sql, "test");
  const claimer = new Claimer(slow, new JobTypes(), null, () => new Places(Infinity), () => {});
  const claim = async () => {
    claimer.searchAgain();
    return (await claimer.claim(workerId, new Places(1))).jobs[0]?.id;
  };
  await assertSkips(claim, laneName("held"));
  const others = [await enqueue({ queue: "first" }), await enqueue({ queue: "iron" })];
  assert.deepEqual(new Set([await claim(), await claim()]), new Set(others), "lanes around the slow one");
  await held.end();
  const last = await enqueue({ queue: "held" });
  assert.equal(await until(claim), last);
});

Deno.test("remote workers do not read the entries of ended jobs either, and miss no job", async () => {
  const tenantId = newId();
  const lane = laneName("default", remoteKey("test.floors", null), tenantId);
  await using _held = await endJobs(lane);
  let found = 0;
  const floors = new LaneFloors(slow, () => found++);
  const prefixes = lanePrefixes(["test.floors"], { tenantIds: [tenantId] });
  const taker = { max: 1, workerId: newId(), requestId: null };
  const claim = async (): Promise<string | undefined> => {
    void floors.check();
    const lanes = await findDueLanes(slow, prefixes, 10, "", floors);
    const [row] = await sql<{ n: number }[]>`select n from job_pause_version`;
    const o = { timeoutOf: () => 60, leaseSeconds: 60, pauseVersion: row?.n ?? 0, floors };
    const claimed = await claimSlots(slow, lanes.map(({ lane }) => ({ lane, n: 1, taker })), o);
    return [...claimed.values()].flat()[0]?.id;
  };
  await assertSkips(claim, lane);
  assert.ok(found > 0);
});

Deno.test("a check lowers the floor to a late job, and a claim under way does not raise it again", async () => {
  const lane = laneName("left");
  let found = 0;
  const floors = new LaneFloors(slow, () => found++);
  const ageOf = () => floors.agesOf(lane)[2] ?? 0;
  const claimedNow = (jobs: number) => new Map([[lane, Array(jobs).fill({ priority: 2, waitedMs: 0 })]]);
  floors.recordClaim(claimedNow(20_000), performance.now());
  await until(ageOf, (age) => age > 0, { what: "a slow lane" });
  await enqueue({ lane, age: "1 hour" });
  floors.recordClaim(claimedNow(1), performance.now());
  assert.ok(ageOf() < 3_000_000);
  const queriedAt = performance.now();
  const checkedLater = async () => {
    aheadMs += 1_000;
    await floors.check();
    return ageOf();
  };
  await until(checkedLater, (age) => age > 3_000_000, { what: "a lowered floor" });
  floors.recordClaim(claimedNow(1), queriedAt);
  assert.ok(ageOf() > 3_000_000);
  assert.ok(found > 0);
});
