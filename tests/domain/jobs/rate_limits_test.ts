import assert from "node:assert/strict";
import { z } from "zod";
import { defineJob, JobTypes } from "../../../domain/jobs/job_type.ts";
import { bucketOf, nextTokenInMs, tokensOf } from "../../../domain/jobs/rate_limit.ts";
import { RateReleaser } from "../../../domain/jobs/limits/release_limited.ts";
import { type Pool, transact } from "../../../infra/postgres/postgres.ts";
import { setupShared } from "../../support/setup.ts";
import { until } from "../../support/until.ts";

const t = await setupShared({ JOB_CONCURRENCY: "0" });
const { platform } = t.steward;
const { sql } = platform;

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
  const withId = (id: string) => bucketOf(keyed, `{"list":[{"id":${id}}]}`);
  assert.notEqual(withId("9007199254740993"), withId("9007199254740992"));
  assert.equal(withId("1e2"), withId("100"));
  assert.equal(of({ list: { constructor: 1 } }), of("text"));
});

Deno.test("tokens come one after another, and a bucket never has more than its capacity", () => {
  const limit = { count: 4, perSeconds: 2 };
  const tokens = [-5, 0, 1, 500, 1_999, 2_000, 99_999].map((ms) => tokensOf(limit, ms));
  assert.deepEqual(tokens, [4, 4, 3, 3, 0, 0, 0]);
  assert.equal(nextTokenInMs(limit, 0, 4), 500);
  assert.equal(nextTokenInMs(limit, 2_000, 0), 500);
  assert.ok(nextTokenInMs(limit, 0, 3) <= 0);
});

Deno.test("a job type with an invalid rate limit cannot be registered", () => {
  const invalid = [{ count: 0, perSeconds: 1 }, { count: 1, perSeconds: 0.5 }, {
    count: 1,
    perSeconds: 1,
    key: "x",
  }];
  for (const rateLimit of invalid) {
    const type = defineJob({ name: "test.invalid", args: z.object({}), rateLimit, run: () => {} });
    assert.throws(() => new JobTypes().register(type), /invalid rateLimit/);
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
      const releaser = new RateReleaser({ ...platform, sql: counting, jobTypes: types }, 60_000);
      await until(() => tries >= 3);
      await releaser.stop();
      assert.ok(pauses >= tries - 1, `${tries} tries, ${pauses} pauses`);
    });
  } finally {
    Object.assign(globalThis, { setTimeout: start });
  }
  await sql`delete from job_buckets where bucket = 'test.locked'`;
});
