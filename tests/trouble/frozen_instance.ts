// What the other instances do while one instance is frozen in open transactions.
import assert from "node:assert/strict";
import { setTimeout as pause } from "node:timers/promises";
import { connectPostgres } from "../../infra/postgres/postgres.ts";
import { HttpClient } from "../support/http.ts";
import { startInstances } from "../support/instances.ts";
import { type ServiceProcess, signInAdministrator } from "../support/service_process.ts";

const WITHIN_S = 15;
const instances = await startInstances(2, { JOB_LEASE_SECONDS: "5", JOB_CONCURRENCY: "8" });
const sql = connectPostgres(instances.databaseUrl, { max: 2 });
Deno.test.afterAll(async () => {
  for (const process of instances.processes) process.kill("SIGCONT"); // a frozen process would not stop
  await sql.end();
  await instances.stop();
});

/** How many of the clients' transactions are open, idle and hold a row lock. */
async function heldByFrozen(): Promise<number> {
  const [row] = await sql<{ n: number }[]>`
    select count(distinct a.pid)::int as n from pg_stat_activity a join pg_locks l on l.pid = a.pid
    where a.datname = current_database() and a.application_name = 'steward' and a.state like 'idle in transaction%'
      and l.mode = 'RowExclusiveLock' and a.state_change < now() - interval '200 ms'`;
  return row?.n ?? 0;
}

/** Freezes the instance at a moment when it has open transactions that have written. */
async function freezeInTransaction(process: ServiceProcess): Promise<void> {
  for (let attempt = 0; attempt < 200; attempt++) {
    process.kill("SIGSTOP");
    await pause(300);
    if (await heldByFrozen() > 0) return;
    process.kill("SIGCONT");
    await pause(20 + attempt % 17);
  }
  throw new Error("the instance never had an open transaction");
}

Deno.test("while one instance is frozen in open transactions, the other serves all requests again within 15 seconds", async () => {
  const [other, victim] = instances.processes as [ServiceProcess, ServiceProcess];
  const token = await signInAdministrator(other.url);
  const [atOther, atVictim] = [other, victim].map(({ url }) => new HttpClient(url, token));
  assert.ok(atOther && atVictim);
  const { body: tenant } = await atOther.post("/api/v1/tenants", { name: "Frozen", type: "Standard" });
  const path = `/api/v1/tenants/${tenant.id}`;
  let isLoading = true;
  const load = Array.from({ length: 6 }, async (_, n) => {
    while (isLoading) {
      await atVictim.put(path, { name: `Frozen ${n}` }).catch(() => {}); // fails when the process ends
      await atVictim.post("/api/v1/notifications/send", {
        channel: "Email",
        recipients: [{ address: `r${n}@example.test` }],
        subject: "S",
        textBody: "T",
      }).catch(() => {});
    }
  });
  await freezeInTransaction(victim);
  const since = performance.now();
  const seconds = () => (performance.now() - since) / 1000;

  const refusals: number[] = [];
  for (;;) {
    const { status, body } = await atOther.put(path, { name: "Thawed" });
    if (status === 200) break;
    assert.deepEqual([status, body.code], [503, "DATABASE_BUSY_UNAVAILABLE"]);
    refusals.push(status);
    assert.ok(seconds() < WITHIN_S, `still locked after ${seconds()} s`);
  }
  const { body: job } = await atOther.post("/api/v1/jobs", {
    jobTypeName: "steward.echo",
    serializedArgs: "{}",
  });
  const { body: sent } = await atOther.post("/api/v1/notifications/send", {
    channel: "Email",
    recipients: [{ address: "after@example.test" }],
    subject: "S",
    textBody: "T",
  });
  const unfinished = async () =>
    await sql`
      select from jobs where id = ${job.jobId ?? job.id} and status <> 'Succeeded'
      union all select from notifications where id = ${sent.notificationId} and status <> 'Sent'`;
  while ((await unfinished()).length > 0) {
    assert.ok(seconds() < WITHIN_S, `jobs still wait after ${seconds()} s`);
    await pause(50);
  }
  assert.equal(await heldByFrozen(), 0);
  console.log(`recovered after ${seconds().toFixed(1)} s, ${refusals.length} requests refused`);
  isLoading = false;
  victim.kill("SIGCONT");
  await Promise.all(load);
  const back = new HttpClient(victim.url, token);
  while ((await back.get("/readyz")).status !== 200) await pause(100);
  assert.equal((await back.put(path, { name: "Back" })).status, 200);
});
