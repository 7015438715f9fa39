import assert from "node:assert/strict";
import { setup } from "../../support/setup.ts";
import { until } from "../../support/until.ts";
import { inEveryLanguage } from "../../support/worker_loops.ts";

const LEASE_SECONDS = 3;
const JOBS = 1_000;

const t = await setup({ JOB_LEASE_SECONDS: String(LEASE_SECONDS) });
Deno.test.afterAll(() => t.stop());

inEveryLanguage(t, "1,000 jobs succeed although the worker is killed in the middle", async (loop) => {
  const ids = await loop.enqueue(...Array.from({ length: JOBS }, (_, n) => ({ number: `A-${n}` })));
  await loop.start();
  await until(() => loop.counts(), ({ Succeeded = 0 }) => Succeeded >= JOBS / 10, { what: "a first part" });
  await loop.kill();
  const { Succeeded = 0 } = await loop.counts();
  await loop.start();
  await until(() => loop.counts(), ({ Succeeded }) => Succeeded === JOBS, { what: `${JOBS} succeeded jobs` });
  assert.ok(Succeeded < JOBS, "the worker was killed in the middle");
  const [execution] = await loop.executions(ids[0] ?? "");
  assert.equal(JSON.parse(execution.output).number, "A-0");
  const [row] = await t.steward.platform.sql<{ most: number; repeated: number }[]>`
    select max(attempts) as most, count(*) filter (where attempts > 1)::int as repeated
    from jobs where id = any(${ids}::uuid[])`;
  const { most, repeated } = row ?? assert.fail();
  assert.ok(most <= 2 && repeated <= 200, `${repeated} jobs ran again, at most ${most} times`);
  const claims = loop.front.of("claim").length;
  assert.ok(claims < JOBS, `${claims} claims for ${JOBS} jobs`);
  await loop.stop();
});
