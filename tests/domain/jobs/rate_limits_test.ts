import assert from "node:assert/strict";
import { z } from "zod";
import { insertJobs } from "../../../domain/jobs/enqueue.ts";
import { defineJob, JobTypes } from "../../../domain/jobs/job_type.ts";
import { bucketOf, nextTokenInMs, tokensOf } from "../../../domain/jobs/rate_limit.ts";
import { RateReleaser } from "../../../domain/jobs/rate_releaser.ts";
import { Worker } from "../../../domain/jobs/worker.ts";
import { createLog } from "../../../infra/log.ts";
import { type Pool, transact } from "../../../infra/postgres/postgres.ts";
import { setup } from "../../support/setup.ts";
import { until } from "../../support/until.ts";

const t = await setup({ JOB_CONCURRENCY: "0" }, { inThisProcess: true });
Deno.test.afterAll(() => t.stop());
const { platform } = t.steward;
const { sql } = platform;

Deno.test("a long line of a limited type keeps to the limit, is not rewritten and does not slow others", async () => {
  const WAITING = 5_000;
  const starts: number[] = [];
  const limited = defineJob({
    name: "test.limited",
    args: z.object({ customer: z.number() }),
    rateLimit: { count: 20, perSeconds: 1, key: "$.customer" },
    run: () => void starts.push(performance.now()),
  });
  const free = defineJob({ name: "test.free", args: z.object({}), run: () => {} });
  const types = new JobTypes();
  types.register(limited, free);
  const serializedArgs = '{"customer":1}';
  const bucket = bucketOf(limited, serializedArgs);
  const job = { jobTypeName: limited.name, serializedArgs, maxRetries: 0, bucket };
  const woken = { wakeUps: { at: () => worker?.wake() } };
  let worker: Worker | null = null;
  for (let n = 0; n < WAITING; n += 500) {
    await transact(sql, (tx) => insertJobs(woken, tx, Array.from({ length: 500 }, () => job)));
  }
  const places = async () => {
    const rows = await sql<{ id: string; place: string }[]>`
      select id, ctid::text as place from jobs where bucket = ${bucket} and lane > '§'`;
    return new Map(rows.map(({ id, place }) => [id, place]));
  };
  const before = await places();
  assert.equal(before.size, WAITING);
  let settled = 0;
  worker = await Worker.start({
    platform,
    sql,
    types,
    log: createLog("off"),
    host: "test",
    concurrency: 10,
    queues: null,
    pollMs: 1_000,
    onSettled: (jobs) => settled += jobs.length,
  });
  const releaser = new RateReleaser({ ...platform, jobTypes: types, wakeUps: woken.wakeUps }, 1_000);
  try {
    await until(() => starts.length >= 20);
    const others = Array.from({ length: 2_000 }, () => ({
      jobTypeName: free.name,
      serializedArgs: "{}",
      maxRetries: 0,
    }));
    await transact(sql, (tx) => insertJobs(woken, tx, others));
    await until(() => settled - starts.length >= 2_000);
    await until(() => starts.length >= 60);
    const span = ((starts[59] ?? 0) - (starts[0] ?? 0)) / 1000;
    assert.ok(span > 1.5 && span < 8, `40 further tokens came in ${span} s`);
    const after = await places();
    assert.ok(after.size > WAITING - 300);
    for (const [id, place] of after) assert.equal(place, before.get(id));
  } finally {
    await releaser.stop();
    await worker.stop(1_000);
  }
});

Deno.test("the bucket of a job is named by its type, the type's owner and the value of the key", () => {
  const rateLimit = { count: 1, perSeconds: 1 };
  const remote = { tenantId: "0198f1c2-7a3b-7c4d-8e5f-6a7b8c9d0e1f" };
  assert.equal(bucketOf({ name: "a.b" }, "{}"), null);
  assert.equal(bucketOf({ name: "a.b", rateLimit }, "{}"), "a.b");
  assert.equal(bucketOf({ name: "a.b", rateLimit, remote }, "{}"), `a.b@${remote.tenantId}`);
  const keyed = { name: "a.b", rateLimit: { ...rateLimit, key: "$.list.0.id" } };
  const of = (args: unknown) => bucketOf(keyed, JSON.stringify(args));
  assert.match(of({ list: [{ id: 1 }] }) ?? "", /^a\.b#[0-9a-f]{32}$/);
  assert.equal(of({ list: [{ id: 1 }] }), of({ list: [{ id: 1, x: 2 }, 3] }));
  assert.notEqual(of({ list: [{ id: 1 }] }), of({ list: [{ id: "1" }] }));
  assert.equal(of({}), of(null));
  assert.equal(of({ list: { constructor: 1 } }), of("text"));
});

Deno.test("tokens come one after another, and a bucket never has more than its capacity", () => {
  const limit = { count: 4, perSeconds: 2 };
  assert.deepEqual([-5, 0, 1, 500, 1_999, 2_000, 99_999].map((ms) => tokensOf(limit, ms)), [
    4,
    4,
    3,
    3,
    0,
    0,
    0,
  ]);
  assert.equal(nextTokenInMs(limit, 0, 4), 500);
  assert.equal(nextTokenInMs(limit, 2_000, 0), 500);
  assert.ok(nextTokenInMs(limit, 0, 3) <= 0);
});

Deno.test("a job type with an invalid rate limit cannot be registered", () => {
  for (
    const rateLimit of [{ count: 0, perSeconds: 1 }, { count: 1, perSeconds: 0.5 }, {
      count: 1,
      perSeconds: 1,
      key: "customer",
    }]
  ) {
    const type = defineJob({ name: "test.invalid", args: z.object({}), rateLimit, run: () => {} });
    assert.throws(() => new JobTypes().register(type), /invalid rateLimit/);
  }
});

Deno.test("while another instance has locked the buckets that are due, the releaser pauses between its tries", async () => {
  const types = new JobTypes();
  const rateLimit = { count: 1, perSeconds: 60 };
  types.register(defineJob({ name: "test.locked", args: z.object({}), rateLimit, run: () => {} }));
  await sql`insert into job_buckets (bucket, full_at, next_at) values ('test.locked', now(), now() - interval '1 s')`;
  let tries = 0;
  const counting = Object.assign((...args: Parameters<Pool>) => {
    if (args[0].join("").includes("min(next_at)")) tries++;
    return sql(...args);
  }, sql) as unknown as Pool;
  await transact(sql, async (tx) => {
    await tx`select from job_buckets where bucket = 'test.locked' for update`;
    const since = performance.now();
    const parts = { ...platform, sql: counting, jobTypes: types };
    const releaser = new RateReleaser(parts, 60_000);
    await until(() => tries >= 5);
    const tookMs = performance.now() - since;
    await releaser.stop();
    assert.ok(tookMs > 150, `five tries took ${tookMs} ms`);
  });
  await sql`delete from job_buckets where bucket = 'test.locked'`;
});
