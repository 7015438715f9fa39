import assert from "node:assert/strict";
import { PushLease } from "../../../domain/jobs/remote/push_lease.ts";
import { newId } from "../../../domain/shared/ids.ts";
import type { Sql } from "../../../infra/postgres/postgres.ts";
import { setupShared } from "../../support/setup.ts";

const t = await setupShared({ JOB_CONCURRENCY: "0" });
Deno.test.afterAll(() => t.stop());
const { sql } = t.steward.platform;

/** A running attempt, as its worker has claimed it. @returns the id of the job */
async function running(): Promise<string> {
  const { body } = await t.systemAdmin.post("/api/v1/jobs", {
    jobTypeName: "steward.echo",
    serializedArgs: "{}",
  });
  await sql`update jobs set status = 'Processing', attempts = 1, worker_id = ${newId()}, started_at = now(),
    lease_until = now() + interval '1 minute', deadline = now() + interval '1 minute' where id = ${body.id}`;
  return body.id;
}

Deno.test("a renewal that reaches the database after the hand-over does not shorten the receiver's lease", async () => {
  const jobId = await running();
  const isSent = Promise.withResolvers<void>();
  const arrives = Promise.withResolvers<void>();
  const isDone = Promise.withResolvers<void>();
  const late = async (query: PromiseLike<unknown>) => {
    isSent.resolve();
    await arrives.promise;
    await query;
    isDone.resolve();
  };
  let statements = 0;
  // the second statement is the first renewal
  const db =
    ((parts: TemplateStringsArray, ...values: string[]) =>
      ++statements === 2 ? late(sql(parts, ...values)) : sql(parts, ...values)) as unknown as Sql;
  const lease = new PushLease(db, { jobId, attempt: 1, receiverId: newId(), leaseSeconds: 3 });
  await lease.open(600_000);
  await isSent.promise;
  lease.close();
  await lease.handOver();
  arrives.resolve();
  await isDone.promise;
  const [row] = await sql`select lease_until = deadline as is_whole from jobs where id = ${jobId}`;
  assert.equal(row?.isWhole, true);
});
