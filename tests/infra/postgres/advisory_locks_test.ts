import assert from "node:assert/strict";
import { ADVISORY_LOCKS, NAMED_LOCKS, PAIRED_LOCKS } from "../../../infra/postgres/advisory_locks.ts";
import { transact } from "../../../infra/postgres/postgres.ts";
import type { HttpAnswer } from "../../support/http.ts";
import { countLockWaits } from "../../support/lock_waits.ts";
import { setupShared } from "../../support/setup.ts";
import { until } from "../../support/until.ts";

const t = await setupShared({ JOB_CONCURRENCY: "0" });
const { sql } = t.steward.platform;

/** The status of a request while an instance adds changes to the counters; null: the request waits for that. */
async function statusDuringFold(send: () => Promise<HttpAnswer>): Promise<number | null> {
  return await transact(sql, async (tx) => {
    await tx`select pg_advisory_xact_lock(${ADVISORY_LOCKS.countFolds})`;
    let status: number | null = null;
    send().then((answer) => status = answer.status);
    // asked by the transaction itself, so that Postgres does not end it as idle
    await until(async () => await countLockWaits(tx, "advisory") > 0 || status !== null);
    return status;
  });
}

Deno.test("a tenant is created while the counters are written", async () => {
  const create = () => t.systemAdmin.post("/api/v1/tenants", { name: crypto.randomUUID() });
  assert.equal(await statusDuringFold(create), 201);
});

Deno.test("a system administrator is deleted while the counters are written", async () => {
  const { userId } = await t.actor({ role: "SystemAdmin" });
  assert.equal(await statusDuringFold(() => t.systemAdmin.delete(`/api/v1/admin/users/${userId}`)), 200);
});

Deno.test("each advisory lock has a key of its own", () => {
  const keys = [ADVISORY_LOCKS, NAMED_LOCKS, PAIRED_LOCKS].flatMap((locks) => Object.values<number>(locks));
  assert.equal(new Set(keys).size, keys.length);
});
