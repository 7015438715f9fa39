// A process that erases a user is killed in the middle of it. Another one finishes the erasure.
import assert from "node:assert/strict";
import { newId } from "../../../domain/shared/ids.ts";
import { startBeside } from "../../support/service_process.ts";
import { setupFile } from "../../support/setup.ts";
import { until } from "../../support/until.ts";
import { CLERK, columnsWith } from "./support.ts";

const MESSAGES = 1_000;
const t = await setupFile({ JOB_CONCURRENCY: "0", JOB_LEASE_SECONDS: "2" });
const { sql } = t;
const startWorker = () => startBeside(t, { JOB_LEASE_SECONDS: "2" });

Deno.test("an erasure whose process is killed is finished by another", async () => {
  const clerk = await t.actor({ permissions: CLERK });
  const email = `${crypto.randomUUID()}@personal.example`;
  const { body: user } = await clerk.post("/api/v1/users", { email, password: "violet harbour 91 lantern" });
  const ids = Array.from({ length: MESSAGES }, newId);
  await sql`with message as (
      insert into notifications (id, tenant_id, channel, status, text_body, recipient_count)
      select id, ${clerk.tenantId}, 'Email', 'Sent', 'Kumquat of ' || ${email}, 1
      from unnest(${ids}::uuid[]) id returning id)
    insert into notification_recipients (id, notification_id, address, status, sent_at)
    select id, id, ${email}, 'Sent', now() from message`;
  let worker = await startWorker();
  try {
    const { status, body } = await clerk.post(`/api/v1/users/${user.id}/erase`, { reason: "asked" });
    assert.equal(status, 202);
    const left = async () => {
      const [row] = await sql<{ n: number }[]>`
        select count(*)::int as n from notification_recipients where address = ${email}`;
      return row?.n ?? 0;
    };
    const atKill = await until(left, (n) => n < MESSAGES);
    worker.kill("SIGKILL");
    await worker.ended;
    assert.ok(atKill > 0 && await left() > 0, "the kill came too late");
    assert.equal((await clerk.get(body.statusUrl)).body.status, "Running");
    worker = await startWorker();
    await until(async () => {
      await t.steward.sweep(); // finds the lost job, as the one of each minute does
      return (await clerk.get(body.statusUrl)).body.status === "Completed";
    });
    assert.deepEqual(await columnsWith(sql, [email, "Kumquat"]), []);
    const [job] = await sql`select attempts from jobs where id = (
      select job_id from data_requests where id = ${body.id})`;
    assert.equal(job?.attempts, 2);
  } finally {
    await worker.stop();
  }
});
