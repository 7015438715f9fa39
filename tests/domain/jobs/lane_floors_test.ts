import assert from "node:assert/strict";
import postgres from "postgres";
import { Claimer } from "../../../domain/jobs/claimer.ts";
import { Places } from "../../../domain/jobs/places.ts";
import { insertJobs, type NewJob } from "../../../domain/jobs/enqueue.ts";
import { laneName, remoteKey } from "../../../domain/jobs/job_row.ts";
import { JobTypes } from "../../../domain/jobs/job_type.ts";
import { LaneFloors } from "../../../domain/jobs/lane_floors.ts";
import { claimSlots } from "../../../domain/jobs/remote/claim_slots.ts";
import { findDueLanes, lanePrefixes } from "../../../domain/jobs/remote/due_lanes.ts";
import { openLease } from "../../../domain/jobs/lease.ts";
import { connectPostgres, transact } from "../../../infra/postgres/postgres.ts";
import { createTestDatabase } from "../../support/cluster.ts";
import { until } from "../../support/until.ts";

/** Enough dead entries that a claim which reads them all takes some milliseconds on any machine. */
const ENDED = 120_000;
const url = await createTestDatabase();
const sql = connectPostgres(url, { max: 5 });
const one = connectPostgres(url, { max: 1 });
const holder = postgres(url, { max: 1 });
Deno.test.afterAll(async () => {
  await holder.end();
  await one.end();
  await sql.end();
});

const enqueue = (queue: string, o: Partial<NewJob> = {}) =>
  transact(sql, (tx) =>
    insertJobs({ wakeUps: { at() {} } }, tx, [
      { jobTypeName: "test.floors", serializedArgs: "{}", maxRetries: 0, queue, ...o },
    ]));

/** Jobs of the queue that are enqueued and end while the snapshot of `holder` is held. */
async function endJobs(queue: string, lane = laneName(queue)): Promise<void> {
  await sql`
    insert into jobs (id, job_type_name, serialized_args, type, status, priority, queue, lane, due_at, max_retries)
    select uuidv7(), 'test.floors', '{}', 'FireAndForget', 'Enqueued', 2, ${queue}, ${lane},
      now() - interval '1 minute', 3 from generate_series(1, ${ENDED})`;
  await sql`update jobs set status = 'Cancelled', completed_at = now() where queue = ${queue}`;
}

Deno.test("while a snapshot is held, claims do not read the entries of ended jobs, and miss no job", async () => {
  const held = await holdSnapshot();
  await endJobs("held");
  const workerId = await openLease(sql, "test");
  const claimer = new Claimer(sql, new JobTypes(), null, () => new Places(Infinity), () => {});
  const claim = async () => {
    claimer.searchAgain();
    return (await claimer.claim(workerId, new Places(1))).jobs[0]?.id;
  };
  const millisecondsOf = async (expected: string | undefined) => {
    const started = performance.now();
    assert.equal(await claim(), expected);
    return performance.now() - started;
  };
  let slow = 0;
  await until(
    async () => {
      const [id] = await enqueue("held");
      slow = Math.max(slow, await millisecondsOf(id));
      const times: number[] = [];
      for (let n = 0; n < 5; n++) times.push(await millisecondsOf((await enqueue("held"))[0]));
      return Math.min(...times) < slow / 3;
    },
    Boolean,
    { what: "a claim that skips the ended jobs" },
  );

  // Other priorities, other lanes around the slow one, and jobs that were due long before.
  const [low] = await enqueue("held", { priority: "Low" });
  const [critical] = await enqueue("held", { priority: "Critical" });
  assert.deepEqual([await claim(), await claim()], [critical, low]);
  const others = [...await enqueue("first"), ...await enqueue("iron")];
  assert.deepEqual(new Set([await claim(), await claim()]), new Set(others));
  const [old] = await enqueue("held");
  await sql`update jobs set due_at = now() - interval '1 hour' where id = ${old ?? ""}`;
  assert.equal(await until(claim), old);

  await held[Symbol.asyncDispose]();
  const [last] = await enqueue("held");
  assert.equal(await until(claim), last);
});

async function holdSnapshot(): Promise<AsyncDisposable> {
  const connection = await holder.reserve();
  await connection`begin isolation level repeatable read`;
  await connection`select count(*) from users`;
  return {
    async [Symbol.asyncDispose]() {
      await connection`commit`;
      connection.release();
    },
  };
}

Deno.test("a check lowers the floor to a late job, and a claim under way does not raise it again", async () => {
  await using _held = await holdSnapshot();
  await endJobs("left");
  const lane = laneName("left");
  let found = 0;
  const floors = new LaneFloors(sql, () => found++);
  const ageOf = () => floors.agesOf(lane)[2] ?? 0;
  const claimedNow = (jobs: number) => new Map([[lane, Array(jobs).fill({ priority: 2, waitedMs: 0 })]]);
  floors.note(claimedNow(20_000), performance.now());
  await until(ageOf, (age) => age > 0, { what: "a slow lane" });
  const [late] = await enqueue("left");
  await sql`update jobs set due_at = now() - interval '40 seconds' where id = ${late ?? ""}`;

  floors.note(claimedNow(1), performance.now());
  assert.ok(ageOf() < 30_000);
  const queriedAt = performance.now();
  await until(async () => (await floors.check(), ageOf()), (age) => age > 30_000, {
    what: "a lowered floor",
  });
  floors.note(claimedNow(1), queriedAt);
  assert.ok(ageOf() > 30_000);
  assert.ok(found > 0);
});

Deno.test("remote workers do not read the entries of ended jobs either, and miss no job", async () => {
  const type = "test.remote-floors";
  const tenantId = crypto.randomUUID();
  const lane = laneName("default", remoteKey(type, null), tenantId);
  await using _held = await holdSnapshot();
  await endJobs("remote", lane);
  const workerId = crypto.randomUUID();
  let found = 0;
  const floors = new LaneFloors(sql, () => found++);
  const enqueueRemote = async (o: { priority?: number; age?: string } = {}): Promise<string> => {
    const [job] = await sql<{ id: string }[]>`
      insert into jobs (id, job_type_name, serialized_args, type, status, priority, queue, lane, due_at, max_retries)
      values (uuidv7(), ${type}, '{}', 'FireAndForget', 'Enqueued', ${o.priority ?? 2}, 'remote', ${lane},
        now() - ${o.age ?? "0"}::interval, 3) returning id`;
    return job?.id ?? "";
  };
  const prefixes = lanePrefixes([type], { tenantIds: [tenantId] });
  const claim = async (): Promise<string | undefined> => {
    void floors.check();
    const lanes = await findDueLanes(one, prefixes, 10, "", floors);
    const taker = { max: 1, workerId, requestId: null };
    const slots = lanes.map(({ lane }) => ({ lane, n: 1, taker }));
    const [row] = await sql<{ n: number }[]>`select n from job_pause_version`;
    const claimed = await claimSlots(one, slots, {
      timeoutOf: () => 60,
      leaseSeconds: 60,
      pauseVersion: row?.n ?? 0,
      floors,
    });
    return [...claimed.values()].flat()[0]?.id;
  };
  const claimNew = async () => {
    const id = await enqueueRemote();
    assert.equal(await claim(), id);
  };
  const reading = await readsOf(claimNew);
  assert.ok(reading > ENDED / 2, `without floors ${reading} index entries were read`);
  await until(
    async () => {
      await claimNew();
      return floors.slow.includes(lane);
    },
    Boolean,
    { what: "a lane that is known to be slow" },
  );

  const skipping = await readsOf(claimNew);
  assert.ok(skipping < ENDED / 100, `${skipping} index entries were read`);
  const [low, critical] = [await enqueueRemote({ priority: 3 }), await enqueueRemote({ priority: 0 })];
  assert.deepEqual([await claim(), await claim(), await claim()], [critical, low, undefined]);
  const old = await enqueueRemote({ age: "1 hour" });
  assert.equal(await until(claim), old);
  assert.ok(found > 0);
});

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
