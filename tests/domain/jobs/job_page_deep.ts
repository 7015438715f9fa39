import assert from "node:assert/strict";
import { readQueues } from "../../../domain/jobs/lists/queues.ts";
import type { JobReach } from "../../../domain/jobs/reach.ts";
import { setup } from "../../support/setup.ts";

const t = await setup({ JOB_CONCURRENCY: "0" });
Deno.test.afterAll(() => t.stop());
const { sql } = t.steward.platform;
const other = await t.tenant();
const everything = { everything: true } as const;

Deno.test("behind 20,001 waiting jobs, queues show the oldest one of each, and lists find the jobs that have ended", async () => {
  const actor = await t.actor();
  const insert = (status: string, count: number, tenantId: string | null) =>
    sql`insert into jobs (id, tenant_id, job_type_name, serialized_args, type, status, priority, queue, lane, due_at,
        completed_at, max_retries)
      select uuidv7(), ${tenantId}, 'steward.echo', '{}', 'FireAndForget', ${status}::job_status, n % 4, 'long',
        'long||' || ${tenantId}::text, now() - make_interval(mins => n), case when ${status} = 'Succeeded' then now() end, 0
      from generate_series(1, ${count}::int) n`;
  await insert("Succeeded", 3_000, actor.tenantId);
  await insert("Enqueued", 20_001, actor.tenantId);
  await insert("Enqueued", 5, other);
  const oldest = async (reach: JobReach) => {
    const found = (await readQueues(t.steward.platform, reach)).find(({ queue }) => queue === "long");
    return [found?.waiting, Math.round((Date.now() - (found?.oldestDueAt?.getTime() ?? 0)) / 60_000)];
  };
  const of = (tenantId: string | null) => ({ everything: false as const, tenantId: tenantId ?? "" });
  assert.deepEqual(await oldest(everything), [20_006, 20_001]);
  assert.deepEqual(await oldest(of(actor.tenantId)), [20_001, 20_001]);
  assert.deepEqual(await oldest(of(other)), [5, 5]);
  const { body } = await actor.get("/api/v1/jobs?status=Succeeded");
  assert.deepEqual([body.totalCount, body.items.length], [3_000, 20]);
});
