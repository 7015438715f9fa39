// What the other instances do while one instance is frozen in open transactions.
import assert from "node:assert/strict";
import { setTimeout as pause } from "node:timers/promises";
import { connectPostgres } from "../../infra/postgres/postgres.ts";
import { HttpClient } from "../support/http.ts";
import { startInstances } from "../support/instances.ts";
import { type ServiceProcess, signInAdministrator } from "../support/service_process.ts";
import { until } from "../support/until.ts";
import { keepRenaming, servesAgain } from "./serves_again.ts";

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
  const stopped = new AbortController();
  const sendMail = (by: HttpClient) =>
    by.post("/api/v1/notifications/send", {
      channel: "Email",
      recipients: [{ address: "someone@example.test" }],
      subject: "S",
      textBody: "T",
    });
  const load = Array.from({ length: 6 }, async () => {
    const renaming = keepRenaming(victim.url, path, atVictim, stopped.signal);
    while (!stopped.signal.aborted) await sendMail(atVictim).catch(() => {}); // fails when the process ends
    await renaming;
  });
  await freezeInTransaction(victim);
  const sent = sendMail(atOther);
  const isSent = async () =>
    (await sql`select from notifications where id = ${(await sent).body.notificationId} and status = 'Sent'`)
      .length === 1;
  const hasRecovered = async () => await isSent() && await heldByFrozen() === 0;
  await servesAgain(atOther, path, { sql, hasRecovered });
  stopped.abort();
  victim.kill("SIGCONT");
  await Promise.all(load);
  const back = new HttpClient(victim.url, token);
  await until(() => back.get("/readyz"), ({ status }) => status === 200);
  assert.equal((await back.put(path, { name: "Back" })).status, 200);
});
