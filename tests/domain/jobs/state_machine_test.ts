// The states of jobs and of batches, as the README draws them.
import assert from "node:assert/strict";
import { cancelJob, requestCancel, retryJobNow } from "../../../domain/jobs/control/job_control.ts";
import { type ClaimedJob, claimFromLanes, promoteDueJobs } from "../../../domain/jobs/engine/claim.ts";
import { releaseContinuations } from "../../../domain/jobs/continuations.ts";
import { JOB_STATUSES } from "../../../domain/jobs/job_row.ts";
import { PermanentJobFailure } from "../../../domain/jobs/job_type.ts";
import { operator } from "../../../domain/jobs/reach.ts";
import { openLease, recoverLostJobs } from "../../../domain/jobs/engine/lease.ts";
import {
  failed,
  giveBackJobs,
  postponed,
  settleJobs,
  succeeded,
} from "../../../domain/jobs/engine/settle.ts";
import { Problem } from "../../../domain/problems/problem.ts";
import { newId } from "../../../domain/shared/ids.ts";
import { transact } from "../../../infra/postgres/postgres.ts";
import { claimedJob } from "../../support/job_context.ts";
import { setupShared } from "../../support/setup.ts";
import { BATCH_STATUSES, readBatch } from "../../../domain/jobs/batches/batch_row.ts";
import { addToBatch, cancelBatch } from "../../../domain/jobs/control/batches.ts";
import { followStrandedJobs } from "../../../domain/jobs/batches/end_batches.ts";
import { foldCounts } from "../../../domain/jobs/statistics/fold_counts.ts";
import { pruneJobs } from "../../../domain/jobs/built_in/prune_jobs.ts";

const t = await setupShared({ JOB_CONCURRENCY: "0" });
const { platform, sql } = t;
const tenantId = await t.tenant();
const caller = operator(tenantId);

/** The diagrams of the README, of jobs and of batches: the resulting state of each action in each state. */
const readme = await Deno.readTextFile(new URL("../../../domain/jobs/README.md", import.meta.url));
const [drawn = [], drawnOfBatches = []] = readme.split("```mermaid").slice(1).map((diagram) =>
  Array.from(
    diagram.matchAll(/^ {2}(\w+) --> (\w+) : (.+)$/gm),
    ([, from, to, action]) => ({ from, to, action }),
  )
);

interface Subject {
  job: ClaimedJob;
  parentId: string;
  workerId: string;
  lane: string;
}
const times = { startedAt: 0, endedAt: 0 };
const settle = ({ workerId }: Subject, settlement: ReturnType<typeof failed>) =>
  settleJobs(sql, workerId, [settlement]);
const endParent = ({ parentId }: Subject, status: string) =>
  transact(sql, (tx) => releaseContinuations(tx, [{ id: parentId, status }]));

const ACTIONS: Record<string, (subject: Subject) => Promise<unknown>> = {
  "claim": ({ workerId, lane }) => claimFromLanes(sql, workerId, { lanes: [lane], take: 10 }),
  "come due": () => promoteDueJobs(sql),
  "retry now": ({ job }) => retryJobNow(platform, caller, job.id),
  "parent succeeds": (subject) => endParent(subject, "Succeeded"),
  "parent is lost": (subject) => endParent(subject, "DeadLettered"),
  "succeed": (subject) => settle(subject, succeeded(subject.job, null, times)),
  "fail": (subject) => settle(subject, failed(subject.job, new Error("no"), times)),
  "postpone": (subject) => settle(subject, postponed(subject.job, "not yet", 60_000, times)),
  "fail for the last time": (subject) =>
    settle(subject, failed(subject.job, new PermanentJobFailure("no"), times)),
  "give back": ({ workerId, job }) => giveBackJobs(sql, workerId, [job]),
  "lose the lease": async ({ workerId }) => {
    await sql`delete from job_workers where id = ${workerId}`;
    await recoverLostJobs(sql);
  },
  "cancel": ({ job }) => cancelJob(platform, caller, job.id),
  "fail after a cancel request": async (subject) => {
    await requestCancel(sql, caller, subject.job.id);
    await ACTIONS.fail?.(subject);
  },
};

/** A job with this status that is due, in a lane and held by its own worker. */
async function subjectIn(status: string): Promise<Subject> {
  const [id, parentId, workerId] = [newId(), newId(), newId()];
  const lane = `default||${id}`;
  await sql`insert into job_workers (id, host) values (${workerId}, 'test')`;
  await sql`
    insert into jobs (id, tenant_id, job_type_name, serialized_args, type, status, priority, queue, lane, due_at, attempts,
      max_retries, parent_job_id, worker_id, started_at)
    values (${id}, ${tenantId}, 'steward.echo', '{}', 'Continuation', ${status}, 2, 'default', ${lane},
      now() - interval '1 minute', 1, 3, ${parentId}, ${status === "Processing" ? workerId : null}, now())`;
  const job = claimedJob({ id, tenantId, jobTypeName: "steward.echo", maxRetries: 3 });
  return { job, parentId, workerId, lane };
}

for (const [action, act] of Object.entries(ACTIONS)) {
  Deno.test(`"${action}" changes jobs as in the diagram, and no other jobs`, async () => {
    for (const from of JOB_STATUSES) {
      const subject = await subjectIn(from);
      await act(subject).catch((error) => assert.ok(error instanceof Problem, String(error)));
      const [row] = await sql`select status, worker_id from jobs where id = ${subject.job.id}`;
      const expected = drawn.find((line) => line.from === from && line.action === action)?.to ?? from;
      assert.equal(row?.status, expected, `from ${from}`);
      await sql`delete from jobs where id = ${subject.job.id}`;
    }
  });
}

const everyone = operator();
const FOLLOWER = { jobTypeName: "steward.echo", serializedArgs: "{}", maxRetries: 0, scheduledAt: null };

interface Batch {
  id: string;
  lane: string;
  tag: string;
}

/** A batch with this status and `jobs` due jobs, in a lane of its own. */
async function batchIn(status: string, jobs = 1): Promise<Batch> {
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

const statusOf = async ({ id }: Batch) => (await readBatch(sql, { everything: true }, id)).status;
const followers = async ({ tag }: Batch) =>
  (await sql`select id from jobs where queue = ${`q-${tag}`}`).length;
/** Claims all jobs, each by its own worker. */
async function claimEach({ lane }: Batch) {
  const claims = [];
  for (;;) {
    const workerId = await openLease(sql, "test");
    const { jobs: [job] } = await claimFromLanes(sql, workerId, { lanes: [lane], take: 1 });
    if (!job) return claims;
    claims.push({ workerId, job });
  }
}

const BATCH_ACTIONS: Record<string, (subject: Batch) => Promise<unknown>> = {
  "close": ({ id }) => addToBatch(platform, everyone, id, { jobs: [], close: true }),
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
  "cancel": ({ id }) => cancelBatch(platform, everyone, id),
};

Deno.test("the diagram names every status and every action", () => {
  const all = [[drawn, JOB_STATUSES, ACTIONS], [drawnOfBatches, BATCH_STATUSES, BATCH_ACTIONS]] as const;
  for (const [lines, statuses, actions] of all) {
    assert.deepEqual(new Set(lines.flatMap(({ from, to }) => [from, to])), new Set(statuses));
    assert.deepEqual(new Set(lines.map(({ action }) => action)), new Set(Object.keys(actions)));
  }
});

for (const [action, act] of Object.entries(BATCH_ACTIONS)) {
  Deno.test(`"${action}" changes batches as in the diagram, and enqueues one job at their end`, async () => {
    for (const from of BATCH_STATUSES) {
      const subject = await batchIn(from);
      await act(subject).catch((error) => assert.ok(error instanceof Problem, String(error)));
      const expected = drawnOfBatches.find((line) => line.from === from && line.action === action)?.to ??
        from;
      assert.equal(await statusOf(subject), expected, `from ${from}`);
      const hasEnded = expected !== from && expected !== "Running";
      assert.equal(await followers(subject), hasEnded ? 1 : 0, `from ${from}`);
    }
  });
}

Deno.test("a batch is pruned with its jobs and counts", async () => {
  const subject = await batchIn("Running", 2);
  await BATCH_ACTIONS["all jobs succeed"]?.(subject);
  await foldCounts(sql, { always: true });
  await pruneJobs(platform, { retentionDays: 1, now: new Date(Date.now() + 2 * 86_400_000) });
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
        ? addToBatch(platform, everyone, subject.id, { jobs: [], close: true })
        : cancelBatch(platform, everyone, subject.id).catch((error) => assert.ok(error instanceof Problem)),
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
