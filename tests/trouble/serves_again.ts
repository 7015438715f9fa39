import assert from "node:assert/strict";
import { setTimeout as pause } from "node:timers/promises";
import type { Sql } from "../../infra/postgres/postgres.ts";
import type { HttpClient } from "../support/http.ts";

/** An idle machine takes 10 to 15 s. Without the checks of connections it takes minutes. */
const WITHIN_S = 30;

/** Changes the tenant at `path` again and again at `url`, as a client that never gives up, until the signal aborts. */
export async function keepRenaming(
  url: string,
  path: string,
  by: HttpClient,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    await fetch(url + path, {
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
export async function servesAgain(
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
