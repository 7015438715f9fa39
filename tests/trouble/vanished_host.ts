import assert from "node:assert/strict";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { connectPostgres, type Sql } from "../../infra/postgres/postgres.ts";
import { HttpClient } from "../support/http.ts";
import { startObjectStore } from "../support/object_store.ts";
import { succeeds } from "../support/processes.ts";
import { signInAdministrator, startServiceProcess } from "../support/service_process.ts";
import { startSystemPostgres, systemPostgresInstalled } from "../support/system_postgres.ts";

// The other host is a network namespace, connected to this one by a virtual cable that can be cut. Creating one needs root.
/** True if this process may create one; the test is skipped otherwise. */
const canMakeHosts = Deno.build.os === "linux" && Deno.uid() === 0 && await mayMake();

let made = 0;

async function makeFarHost() {
  const id = `${Deno.pid % 100_000}-${made++}`;
  const [name, near, far] = [`far-${id}`, `n${id}`, `f${id}`];
  const net = `10.${200 + made % 50}.${Deno.pid % 250}`;
  const ip = async (...args: string[]) => {
    if (!await succeeds("ip", ...args)) throw new Error(`ip ${args.join(" ")} failed`);
  };
  await ip("netns", "add", name);
  await ip("link", "add", near, "type", "veth", "peer", "name", far, "netns", name);
  await ip("address", "add", `${net}.1/24`, "dev", near);
  await ip("link", "set", near, "up");
  await ip("-n", name, "address", "add", `${net}.2/24`, "dev", far);
  for (const device of ["lo", far]) await ip("-n", name, "link", "set", device, "up");
  return {
    hostAddress: `${net}.1`, // of this side
    address: `${net}.2`,
    /** Stands before a command that runs on the other host. */
    prefix: ["ip", "netns", "exec", name],
    /** Cuts the cable: every packet in either direction is lost. */
    vanish: () => ip("-n", name, "link", "set", far, "down"),
    async [Symbol.asyncDispose]() {
      await succeeds("ip", "link", "delete", near);
      await ip("netns", "delete", name);
    },
  };
}

async function mayMake(): Promise<boolean> {
  const name = `far-${Deno.pid}-try`;
  return await succeeds("ip", "netns", "add", name) && await succeeds("ip", "netns", "delete", name);
}

/** An idle machine takes 10 to 15 s. Without the checks of connections it takes minutes. */
const WITHIN_S = 30;

/** Changes the tenant again and again, as a client that never gives up, until the signal aborts. */
async function keepRenaming(by: HttpClient, path: string, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    await fetch(by.baseUrl + path, {
      method: "PUT",
      signal,
      body: JSON.stringify({ name: `Changed ${crypto.randomUUID()}` }),
      headers: { authorization: `Bearer ${by.token}`, "content-type": "application/json" },
    }).then((response) => response.text()).catch(() => {}); // fails when the instance ends
  }
}

/**
 * Waits until an instance has changed the tenant and run a job, although another one holds locks and has gone.
 * @param o.hasRecovered true if nothing is held any more
 */
async function servesAgain(
  by: HttpClient,
  path: string,
  o: { sql: Sql; hasRecovered: () => Promise<boolean> },
): Promise<void> {
  const since = performance.now();
  const seconds = () => (performance.now() - since) / 1000;
  for (let status = 0; status !== 200;) {
    const answer = await by.put(path, { name: "Served again" });
    status = answer.status;
    if (status !== 200) assert.deepEqual([status, answer.body.code], [503, "DATABASE_BUSY_UNAVAILABLE"]);
    assert.ok(seconds() < WITHIN_S, `still locked after ${seconds()} s`);
  }
  const { body: job } = await by.post("/api/v1/jobs", { jobTypeName: "steward.echo", serializedArgs: "{}" });
  const hasRun = async () =>
    (await o.sql`select from jobs where id = ${job.id} and status = 'Succeeded'`).length === 1;
  while (!await hasRun() || !await o.hasRecovered()) {
    assert.ok(seconds() < WITHIN_S, `jobs or locks still wait after ${seconds()} s`);
    await pause(50);
  }
  console.log(`recovered after ${seconds().toFixed(1)} s`);
}

const isPossible = canMakeHosts && systemPostgresInstalled;
const name =
  "when an instance's host vanishes under load, the other instance serves all requests again within 15 seconds";

Deno.test({
  name: isPossible ? name : `${name} (skipped: needs root, ip and Debian's Postgres)`,
  ignore: !isPossible,
  async fn() {
    await using host = await makeFarHost();
    const folder = await Deno.makeTempDir({ prefix: "steward-test-" });
    const { store, settings } = await startObjectStore(folder);
    const postgres = await startSystemPostgres({ host: host.hostAddress });
    const databaseUrl = await postgres.database("steward");
    const env = {
      DATABASE_URL: databaseUrl,
      DATA_DIR: join(folder, "data"),
      JOB_LEASE_SECONDS: "5",
      ...settings,
    };
    const near = await startServiceProcess(env);
    // Its bucket is out of reach, so it embeds its own store and does not run jobs that need the shared bucket.
    const far = await startServiceProcess(
      {
        DATABASE_URL: databaseUrl,
        DATA_DIR: join(folder, "far"),
        HOST: host.address,
        JOB_LEASE_SECONDS: "5",
      },
      { prefix: host.prefix },
    );
    const sql = connectPostgres(databaseUrl, { max: 2 });
    const [atNear, atFar] = await Promise.all(
      [near, far].map(async ({ url }) => new HttpClient(url, await signInAdministrator(url))),
    );
    assert.ok(atNear && atFar);
    const { body: tenant } = await atNear.post("/api/v1/tenants", { name: "Vanished", type: "Standard" });
    const path = `/api/v1/tenants/${tenant.id}`;
    const stopped = new AbortController();
    const load = Array.from({ length: 6 }, () => keepRenaming(atFar, path, stopped.signal));
    await pause(500);
    await host.vanish();
    const hasRecovered = async () =>
      (await sql`
        select from pg_stat_activity where client_addr = ${host.address}::inet and state like 'idle in transaction%'`)
        .length === 0;
    await servesAgain(atNear, path, { sql, hasRecovered });
    stopped.abort();
    far.kill("SIGKILL");
    await Promise.all([...load, far.ended]);
    await sql.end();
    await near.stop();
    await postgres.stop();
    await store.stop();
    await Deno.remove(folder, { recursive: true });
  },
});
