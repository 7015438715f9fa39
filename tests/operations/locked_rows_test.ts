// Background work while another transaction holds a row lock for long, for example one of a frozen instance.
import assert from "node:assert/strict";
import { insertJobs } from "../../domain/jobs/enqueue.ts";
import { connectPostgres, transact, type Tx } from "../../infra/postgres/postgres.ts";
import { Receiver } from "../routes/events/receiver.ts";
import { setup } from "../support/setup.ts";
import { until } from "../support/until.ts";

// As many connections as by default, so that statements that wait for the locked table leave some for readiness.
const t = await setup({ OUTBOUND_ALLOW: "127.0.0.1", JOB_POLL_MS: "2000", DATABASE_POOL: "10" }, {
  inThisProcess: true,
});
const receiver = new Receiver();
const { sql, config } = t.steward.platform;
const other = connectPostgres(config.DATABASE_URL ?? "", { max: 1, work: "migration" });
Deno.test.afterAll(async () => {
  await other.end();
  await t.stop();
  await receiver.stop();
});

/** Runs `work` while another transaction holds the locks that `lock` takes. */
async function whileLocked(lock: (tx: Tx) => Promise<unknown>, work: () => Promise<unknown>): Promise<void> {
  await transact(other, async (tx) => {
    await lock(tx);
    const alive = setInterval(() => tx`select 1`, 2_000);
    await work().finally(() => clearInterval(alive));
  });
}

Deno.test("a locked message does not delay the messages sent with it, and is sent after the lock ends", async () => {
  const scheduledAt = new Date(Date.now() + 1_000).toISOString();
  const ids: string[] = [];
  for (let n = 0; n < 4; n++) {
    const recipients = [{ address: `r${n}@example.test` }];
    const notification = { channel: "Email", recipients, subject: "S", textBody: "T" };
    const { body } = await t.systemAdmin.post("/api/v1/notifications/schedule", {
      notification,
      scheduledAt,
    });
    assert.ok(body.notificationId, JSON.stringify(body));
    ids.push(body.notificationId);
  }
  const [held = "", ...others] = ids;
  const isSent = async (wanted: string[]) =>
    (await sql`select from notifications where id = any(${wanted}::uuid[]) and status <> 'Sent'`).length ===
      0;
  await whileLocked(
    (tx) => tx`select from notifications where id = ${held} for update`,
    () => until(() => isSent(others), Boolean, { what: "Sent for the others" }),
  );
  await until(() => isSent([held]), Boolean, { what: "Sent for the locked one" });
  const [job] = await sql`
    select j.failures from jobs j join notifications n on n.job_id = j.id where n.id = ${held}`;
  assert.equal(job?.failures, 0);
});

Deno.test("a row lock on an endpoint does not stop deliveries from finishing", async () => {
  const by = await t.actor({ permissions: ["manage:webhooks"] });
  const path = "/api/v1/webhook-endpoints";
  const { body: endpoint } = await by.post(path, { url: receiver.url(), eventTypes: "*" });
  for (const [answer, state] of [[500, "Pending"], [204, "Delivered"]] as const) {
    receiver.answers(() => new Response(null, { status: answer }));
    await sql`update webhook_endpoints set failing_since = now() where id = ${endpoint.id}`;
    const { body: ping } = await by.post(`${path}/${endpoint.id}/test`);
    await whileLocked(
      (tx) => tx`update webhook_endpoints set updated_at = now() where id = ${endpoint.id}`,
      () =>
        until(
          () =>
            sql`select from webhook_deliveries
              where id = ${ping.id} and status = ${state} and attempt_count = 1`,
          (rows) => rows.length === 1,
          { what: state },
        ),
    );
  }
});

Deno.test("a claimer that holds the limit lock does not stop jobs of other types from starting", async () => {
  const key = "events.deliver";
  await whileLocked(
    (tx) => tx`select pg_advisory_xact_lock(hashtextextended(${key}, 7315))`,
    async () => {
      await transact(sql, (tx) =>
        insertJobs(t.steward.platform, tx, [
          { jobTypeName: key, serializedArgs: "{}", maxRetries: 0, limitKey: key, priority: "Critical" },
        ]));
      const { body: job } = await t.systemAdmin.post("/api/v1/jobs", {
        jobTypeName: "steward.echo",
        serializedArgs: "{}",
      });
      await until(
        () => sql`select from jobs where id = ${job.id} and status = 'Succeeded'`,
        (rows) => rows.length === 1,
        { what: "Succeeded for another job" },
      );
    },
  );
});

Deno.test("readiness reports a failure while no job can start, and recovers by itself", async () => {
  const jobs = async () => {
    const { status, body } = await t.nobody.get("/readyz");
    return [status, body.checks.jobs, body.checks.postgres].join(" ");
  };
  await until(jobs, (state) => state === "200 ok ok");
  await whileLocked(
    (tx) => tx`lock table jobs`,
    () => until(jobs, (state) => state === "200 failed ok"),
  );
  await until(jobs, (state) => state === "200 ok ok");
  assert.ok(t.logs.some((line) => /no job could be claimed for \d+ s/.test(line)));
});
