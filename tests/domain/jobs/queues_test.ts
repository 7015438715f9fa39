import assert from "node:assert/strict";
import { insertJobs } from "../../../domain/jobs/enqueue.ts";
import { readQueues } from "../../../domain/jobs/queues.ts";
import type { JobReach } from "../../../domain/jobs/reach.ts";
import { transact } from "../../../infra/postgres/postgres.ts";
import { setup } from "../../support/setup.ts";

const t = await setup({ JOB_CONCURRENCY: "0" });
Deno.test.afterAll(() => t.stop());
const { platform } = t.steward;

Deno.test("every queue shows since when its oldest job waits, also with more queues than one scan step finds", async () => {
  const queues = Array.from({ length: 1_100 }, (_, n) => `q${n}`);
  await transact(platform.sql, (tx) =>
    insertJobs(
      { wakeUps: { at() {} } },
      tx,
      queues.map((queue) => ({ jobTypeName: "steward.echo", serializedArgs: "{}", maxRetries: 0, queue })),
    ));
  const found = (await readQueues(platform, { everything: true })).filter(({ queue }) =>
    queue.startsWith("q")
  );
  assert.equal(found.length, queues.length);
  assert.ok(found.every(({ oldestDueAt }) => oldestDueAt !== null));
});

Deno.test("behind 20,001 waiting jobs, queues show the oldest one of each, and lists find the jobs that have ended", async () => {
  const { sql } = platform;
  const [actor, other] = [await t.actor(), await t.actor()];
  const insert = (status: string, count: number, tenantId: string | null) =>
    sql`insert into jobs (id, tenant_id, job_type_name, serialized_args, type, status, priority, queue, lane, due_at,
        completed_at, max_retries)
      select uuidv7(), ${tenantId}, 'steward.echo', '{}', 'FireAndForget', ${status}::job_status, n % 4, 'long',
        'long||' || ${tenantId}::text, now() - make_interval(mins => n), case when ${status} = 'Succeeded' then now() end, 0
      from generate_series(1, ${count}::int) n`;
  await insert("Succeeded", 3_000, actor.tenantId);
  await insert("Enqueued", 20_001, actor.tenantId);
  await insert("Enqueued", 5, other.tenantId);
  const oldest = async (reach: JobReach) => {
    const found = (await readQueues(platform, reach)).find(({ queue }) => queue === "long");
    return [found?.waiting, Math.round((Date.now() - (found?.oldestDueAt?.getTime() ?? 0)) / 60_000)];
  };
  const of = ({ tenantId }: { tenantId: string | null }) => ({
    everything: false as const,
    tenantId: tenantId ?? "",
  });
  assert.deepEqual(await oldest({ everything: true }), [20_006, 20_001]);
  assert.deepEqual(await oldest(of(actor)), [20_001, 20_001]);
  assert.deepEqual(await oldest(of(other)), [5, 5]);
  const { body } = await actor.get("/api/v1/jobs?status=Succeeded");
  assert.deepEqual([body.totalCount, body.items.length], [3_000, 20]);
});
