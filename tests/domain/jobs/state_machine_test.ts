import assert from "node:assert/strict";
import { cancelJob, retryJobNow } from "../../../domain/jobs/control/job_control.ts";
import { type ClaimedJob, claimFromLanes, promoteDueJobs } from "../../../domain/jobs/engine/claim.ts";
import { releaseContinuations } from "../../../domain/jobs/continuations.ts";
import { JOB_STATUSES } from "../../../domain/jobs/job_row.ts";
import { PermanentJobFailure } from "../../../domain/jobs/job_type.ts";
import { operator } from "../../../domain/jobs/reach.ts";
import { recoverLostJobs } from "../../../domain/jobs/engine/lease.ts";
import { requestCancel } from "../../../domain/jobs/control/request_cancel.ts";
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

const t = await setupShared({ JOB_CONCURRENCY: "0" });
const { platform, sql } = t;
const tenantId = await t.tenant();
const caller = operator(tenantId);

/** The diagram of the README: the resulting state of each action in each state. */
const readme = await Deno.readTextFile(new URL("../../../domain/jobs/README.md", import.meta.url));
const [, diagram = ""] = readme.split("```mermaid");
const drawn = Array.from(
  diagram.matchAll(/^ {2}(\w+) --> (\w+) : (.+)$/gm),
  ([, from, to, action]) => ({ from, to, action }),
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

Deno.test("the diagram names every status and every action", () => {
  assert.deepEqual(new Set(drawn.flatMap(({ from, to }) => [from, to])), new Set(JOB_STATUSES));
  assert.deepEqual(new Set(drawn.map(({ action }) => action)), new Set(Object.keys(ACTIONS)));
});

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
