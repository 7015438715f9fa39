import assert from "node:assert/strict";
import { z } from "zod";
import { defineJob, JobTypes } from "../../../domain/jobs/job_type.ts";
import { RateReleaser } from "../../../domain/jobs/limits/release_limited.ts";
import { type Pool, transact } from "../../../infra/postgres/postgres.ts";
import { setupShared } from "../../support/setup.ts";
import { until } from "../../support/until.ts";

const t = await setupShared({ JOB_CONCURRENCY: "0" });
const { platform } = t.steward;
const { sql } = platform;

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
