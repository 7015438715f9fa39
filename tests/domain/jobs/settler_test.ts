import assert from "node:assert/strict";
import { claimFromLanes } from "../../../domain/jobs/claim.ts";
import { insertJobs } from "../../../domain/jobs/enqueue.ts";
import { laneName } from "../../../domain/jobs/job_row.ts";
import { JobTypes, PermanentJobFailure } from "../../../domain/jobs/job_type.ts";
import { openLease } from "../../../domain/jobs/lease.ts";
import { failed, succeeded } from "../../../domain/jobs/settle.ts";
import { Settler } from "../../../domain/jobs/settler.ts";
import { createLog } from "../../../infra/log.ts";
import { transact } from "../../../infra/postgres/postgres.ts";
import { setupShared } from "../../support/setup.ts";
import { until } from "../../support/until.ts";

const t = await setupShared({ JOB_CONCURRENCY: "0" });
Deno.test.afterAll(() => t.stop());
const { sql } = t.steward.platform;

Deno.test("a result that the database refuses in every form is tried again, and delays no other result", async () => {
  const workerId = await openLease(sql, "test");
  const newJob = { jobTypeName: "test.settler", serializedArgs: "{}", maxRetries: 0, queue: "settler" };
  await transact(
    sql,
    (tx) => insertJobs({ wakeUps: { at() {} } }, tx, Array.from({ length: 3 }, () => newJob)),
  );
  const { jobs } = await claimFromLanes(sql, workerId, { lanes: [laneName("settler")], take: 3 });
  const [refused, dead, done] = jobs;
  assert.ok(refused && dead && done);
  let isBroken = true;
  const types = new JobTypes();
  types.onDeadLettered = async (tx, letters) => {
    if (isBroken && letters.some(({ jobId }) => jobId === refused.id)) await tx`select 1 / 0`;
  };
  const settler = new Settler({
    sql,
    log: createLog("off"),
    types,
    workerId: () => workerId,
    onChanged() {},
  });
  const times = { startedAt: performance.now(), endedAt: performance.now() };
  settler.add(failed(refused, new PermanentJobFailure("no"), times));
  settler.add(failed(dead, new PermanentJobFailure("no"), times));
  settler.add(succeeded(done, null, times));
  const statuses = async () => {
    const rows = await sql<
      { id: string; status: string }[]
    >`select id, status from jobs where queue = 'settler'`;
    const statusOf = new Map(rows.map(({ id, status }) => [id, status]));
    return [refused, dead, done].map(({ id }) => statusOf.get(id));
  };
  await until(() => settler.unwritten().length === 1);
  assert.deepEqual(await statuses(), ["Processing", "DeadLettered", "Succeeded"]);
  assert.deepEqual(settler.unwritten(), [refused.id]);
  isBroken = false;
  await until(() => settler.unwritten().length === 0);
  assert.deepEqual(await statuses(), ["DeadLettered", "DeadLettered", "Succeeded"]);
  const [row] = await sql`select last_error from jobs where id = ${refused.id}`;
  assert.equal(row?.lastError, "the result could not be stored: division by zero");
});
