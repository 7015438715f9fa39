import assert from "node:assert/strict";
import { BATCH_STATUSES, readBatch } from "../../../domain/jobs/batches/batch_row.ts";
import { addToBatch, cancelBatch } from "../../../domain/jobs/control/batches.ts";
import { followStrandedJobs } from "../../../domain/jobs/batches/end_batches.ts";
import { claimFromLanes } from "../../../domain/jobs/engine/claim.ts";
import { foldCounts } from "../../../domain/jobs/statistics/fold_counts.ts";
import { openLease } from "../../../domain/jobs/engine/lease.ts";
import { pruneJobs } from "../../../domain/jobs/built_in/prune_jobs.ts";
import { operator } from "../../../domain/jobs/reach.ts";
import { failed, settleJobs, succeeded } from "../../../domain/jobs/engine/settle.ts";
import { PermanentJobFailure } from "../../../domain/jobs/job_type.ts";
import { Problem } from "../../../domain/problems/problem.ts";
import { newId } from "../../../domain/shared/ids.ts";
import { setupShared } from "../../support/setup.ts";

const t = await setupShared({ JOB_CONCURRENCY: "0" });
const { platform, sql } = t;
const caller = operator();
const times = { startedAt: 0, endedAt: 0 };
const FOLLOWER = { jobTypeName: "steward.echo", serializedArgs: "{}", maxRetries: 0, scheduledAt: null };

const readme = await Deno.readTextFile(new URL("../../../domain/jobs/README.md", import.meta.url));
const [, , diagram = ""] = readme.split("```mermaid");
const drawn = Array.from(
  diagram.matchAll(/^ {2}(\w+) --> (\w+) : (.+)$/gm),
  ([, from, to, action]) => ({ from, to, action }),
);

interface Subject {
  id: string;
  lane: string;
  tag: string;
}

/** A batch with this status and `jobs` due jobs, in a lane of its own. */
async function batchIn(status: string, jobs = 1): Promise<Subject> {
  const [id, tag] = [newId(), newId()];
  const lane = `none||${id}`;
  const follower = JSON.stringify({ ...FOLLOWER, queue: `q-${tag}` });
  await sql`
    insert into job_batches (id, status, on_all_succeeded, on_any_failed, ended_at)
    values (${id}, ${status}, ${follower}::text::jsonb, ${follower}::text::jsonb,
      ${status === "Open" || status === "Running" ? null : new Date()})`;
  await sql`
    insert into jobs (id, job_type_name, serialized_args, type, status, priority, queue, lane, due_at, max_retries, batch_id)
    select given.id, 'steward.echo', '{}', 'FireAndForget', 'Enqueued', 2, 'default', ${lane}, now(), 3, ${id}
    from unnest(${Array.from({ length: jobs }, newId)}::uuid[]) given (id)`;
  return { id, lane, tag };
}

const statusOf = async ({ id }: Subject) => (await readBatch(sql, { everything: true }, id)).status;
const followers = async ({ tag }: Subject) =>
  (await sql`select id from jobs where queue = ${`q-${tag}`}`).length;
/** Claims all jobs, each by its own worker. */
async function claimEach({ lane }: Subject) {
  const claims = [];
  for (;;) {
    const workerId = await openLease(sql, "test");
    const { jobs: [job] } = await claimFromLanes(sql, workerId, { lanes: [lane], take: 1 });
    if (!job) return claims;
    claims.push({ workerId, job });
  }
}

const ACTIONS: Record<string, (subject: Subject) => Promise<unknown>> = {
  "close": ({ id }) => addToBatch(platform, caller, id, { jobs: [], close: true }),
  "all jobs succeed": async (subject) => {
    for (const { workerId, job } of await claimEach(subject)) {
      await settleJobs(sql, workerId, [succeeded(job, null, times)]);
    }
  },
  "a job is lost": async (subject) => {
    for (const { workerId, job } of await claimEach(subject)) {
      await settleJobs(sql, workerId, [failed(job, new PermanentJobFailure("no"), times)]);
    }
  },
  "cancel": ({ id }) => cancelBatch(platform, caller, id),
};

Deno.test("the diagram names every status and every action", () => {
  assert.deepEqual(new Set(drawn.flatMap(({ from, to }) => [from, to])), new Set(BATCH_STATUSES));
  assert.deepEqual(new Set(drawn.map(({ action }) => action)), new Set(Object.keys(ACTIONS)));
});

for (const [action, act] of Object.entries(ACTIONS)) {
  Deno.test(`"${action}" changes batches as in the diagram, and enqueues one job at their end`, async () => {
    for (const from of BATCH_STATUSES) {
      const subject = await batchIn(from);
      await act(subject).catch((error) => assert.ok(error instanceof Problem, String(error)));
      const expected = drawn.find((line) => line.from === from && line.action === action)?.to ?? from;
      assert.equal(await statusOf(subject), expected, `from ${from}`);
      const hasEnded = expected !== from && expected !== "Running";
      assert.equal(await followers(subject), hasEnded ? 1 : 0, `from ${from}`);
    }
  });
}

Deno.test("a batch is pruned with its jobs and counts", async () => {
  const subject = await batchIn("Running", 2);
  await ACTIONS["all jobs succeed"]?.(subject);
  await foldCounts(sql, { always: true });
  await pruneJobs(t.steward.platform, { retentionDays: 1, now: new Date(Date.now() + 2 * 86_400_000) });
  const [left] = await sql`select (select count(*) from jobs where batch_id = ${subject.id}) as jobs,
    (select count(*) from job_batches where id = ${subject.id}) as batches,
    (select count(*) from job_batch_counts where batch_id = ${subject.id}) as counts`;
  assert.deepEqual({ ...left }, { jobs: 0, batches: 0, counts: 0 }, "it ended long ago");
});

Deno.test("a crash at any statement that ends a batch leaves it to the sweep, which ends it once", async () => {
  for (const statement of ["update on job_batches", "insert on jobs"]) {
    const subject = await batchIn("Running", 2);
    const claims = await claimEach(subject);
    await sql.unsafe(`
      create function crash() returns trigger language plpgsql as $$ begin raise exception 'crash'; end $$;
      create trigger crash before ${statement} for each statement execute function crash()`);
    const last = claims.length - 1;
    for (const [n, { workerId, job }] of claims.entries()) {
      const settling = settleJobs(sql, workerId, [succeeded(job, null, times)]);
      await (n === last ? assert.rejects(settling, /crash/) : settling);
    }
    await sql.unsafe(`drop function crash() cascade`);
    assert.equal(await statusOf(subject), "Running");
    assert.equal(await followers(subject), 0);
    assert.equal(await followStrandedJobs(sql), 1);
    assert.equal(await followStrandedJobs(sql), 0);
    assert.equal(await statusOf(subject), "Succeeded");
    assert.equal(await followers(subject), 1);
  }
});

Deno.test("jobs that end at the same time on several workers end their batch exactly once", async () => {
  for (let round = 0; round < 2; round++) {
    const subject = await batchIn("Running", 3);
    const isLost = (n: number) => round === 0 && n > 1;
    const claims = await claimEach(subject);
    assert.equal(claims.length, 3);
    const results = await Promise.all(
      claims.map(({ workerId, job }, n) =>
        settleJobs(sql, workerId, [
          isLost(n) ? failed(job, new PermanentJobFailure("no"), times) : succeeded(job, null, times),
        ])
      ),
    );
    assert.equal(results.flatMap(({ released }) => released).length, 1);
    assert.equal(await statusOf(subject), round === 0 ? "Failed" : "Succeeded");
    assert.equal(await followers(subject), 1);
  }
});

Deno.test("a batch that is closed or cancelled while its jobs end, ends exactly once", async () => {
  for (let round = 0; round < 2; round++) {
    const subject = await batchIn(round % 2 ? "Open" : "Running", 3);
    const claims = await claimEach(subject);
    await Promise.all([
      ...claims.map(({ workerId, job }) => settleJobs(sql, workerId, [succeeded(job, null, times)])),
      round % 2
        ? addToBatch(platform, caller, subject.id, { jobs: [], close: true })
        : cancelBatch(platform, caller, subject.id).catch((error) => assert.ok(error instanceof Problem)),
    ]);
    const status = await statusOf(subject);
    assert.ok(round % 2 ? status === "Succeeded" : ["Succeeded", "Cancelled"].includes(status), status);
    assert.equal(await followers(subject), 1);
  }
});

Deno.test("several sweeps at the same time end a stranded batch once", async () => {
  const subjects = await Promise.all([1, 2].map(() => batchIn("Running", 2)));
  const ids = subjects.map(({ id }) => id);
  await sql`update jobs set status = 'Succeeded', completed_at = now() where batch_id = any(${ids}::uuid[])`;
  const done = await Promise.all([1, 2, 3, 4].map(() => followStrandedJobs(sql)));
  assert.equal(done.reduce((sum, n) => sum + n), 2);
  for (const subject of subjects) assert.equal(await followers(subject), 1);
});
