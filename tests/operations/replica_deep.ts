// Reads from a real standby of Postgres. Its replay can be paused, so that its data is visibly old.
import assert from "node:assert/strict";
import { connectPostgres, type Pool } from "../../infra/postgres/postgres.ts";
import { openBrowserSession } from "../../domain/access/sign_in/browser_session.ts";
import { csrfToken } from "../../routes/console/shared/cookies.ts";
import { setup, type TestService } from "../support/setup.ts";
import { startSystemPostgres, systemPostgresInstalled } from "../support/system_postgres.ts";
import { until } from "../support/until.ts";

const STALE = { "cache-control": "max-stale" };
const MAX_LAG_SECONDS = 10;

Deno.test({
  name: "a read replica answers reports and reads that may be old, and the primary everything else",
  ignore: !systemPostgresInstalled,
  async fn(context) {
    const postgres = await startSystemPostgres();
    const url = await postgres.database("steward");
    const standby = await postgres.standby("steward");
    const standbySql = connectPostgres(standby.url, { max: 1 });
    const t = await setup({
      DATABASE_URL: url,
      DATABASE_REPLICA_URL: standby.url,
      DATABASE_REPLICA_MAX_LAG_SECONDS: String(MAX_LAG_SECONDS),
    });
    try {
      await tryReplica(context, t, standbySql, standby.stop);
    } finally {
      await t.stop();
      await standbySql.end();
      await postgres.stop();
    }
  },
});

async function tryReplica(
  context: Deno.TestContext,
  t: TestService,
  standby: Pool,
  stopStandby: () => Promise<void>,
): Promise<void> {
  const { replica } = t.steward.platform;
  assert.ok(replica);
  const actor = await t.actor({
    permissions: ["manage:settings", "read:users", "upload:files", "read:files"],
  });
  const keys = async (headers: Record<string, string> = {}): Promise<string[]> => {
    const { status, body } = await actor.get("/api/v1/settings?pageSize=100", headers);
    assert.equal(status, 200);
    return body.items.map(({ key }: { key: string }) => key);
  };
  const create = async (key: string) => {
    assert.equal((await actor.post("/api/v1/settings", { key, value: "1" })).status, 201);
  };
  const isUsed = (expected: boolean) =>
    until(() => replica.pool() !== null, (used) => used === expected, { what: `replica used: ${expected}` });
  const pause = () => standby`select pg_wal_replay_pause()`;
  const resume = () => standby`select pg_wal_replay_resume()`;

  await context.step("only a request that accepts stale data is answered from the replica", async () => {
    await isUsed(true);
    await create("before");
    await until(() => keys(STALE), (found) => found.includes("before"));
    await pause();
    await create("after");
    assert.deepEqual(await keys(STALE), ["before"]);
    assert.deepEqual(await keys({ "cache-control": "no-cache, max-stale=60" }), ["before"]);
    assert.deepEqual((await keys()).toSorted(), ["after", "before"]);
    assert.deepEqual((await keys({ "cache-control": "max-stale=0" })).toSorted(), ["after", "before"]);
  });

  await context.step("the lag is a metric", async () => {
    const { body } = await actor.get("/metrics");
    assert.match(body, /^steward_database_replica_lag_seconds \d/m);
  });

  await context.step("a report reads the replica", async () => {
    await t.actor({ tenantId: actor.tenantId ?? "" });
    assert.equal(await rowsOfUsersReport(), 1, "the replica does not have the tenant's second user yet");
  });

  await context.step("above the maximum lag, the primary answers", async () => {
    await isUsed(false);
    assert.deepEqual((await keys(STALE)).toSorted(), ["after", "before"]);
    assert.equal(await rowsOfUsersReport(), 2);
    await resume();
    await isUsed(true);
    assert.deepEqual((await keys(STALE)).toSorted(), ["after", "before"]);
  });

  await context.step("a list of the console shows the viewer's own change at once", async () => {
    const secret = await openBrowserSession(t.steward.platform, actor.token ?? "");
    const cookies = new Map([["steward_console", secret]]);
    const visit = async (path: string, form?: Record<string, string>): Promise<string> => {
      const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join("; ");
      const answer = await fetch(`${t.url}/console/${path}`, {
        headers: { cookie, origin: new URL(t.steward.platform.baseUrl()).origin },
        redirect: "manual",
        ...form ? { method: "POST", body: new URLSearchParams({ csrf: csrfToken(secret), ...form }) } : {},
      });
      for (const line of answer.headers.getSetCookie()) {
        const [, name = "", value = ""] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
        cookies.set(name, value);
      }
      return await answer.text();
    };
    await pause();
    assert.match(await visit("settings"), />after</);
    await create("hidden");
    assert.doesNotMatch(await visit("settings"), />hidden</, "the list is read from the replica");
    await visit("settings/new", { key: "own", value: "1" });
    assert.match(await visit("settings"), />own</);
    await resume();
    await isUsed(true);
  });

  await context.step("without the replica, the primary answers the same request", async () => {
    await isUsed(true);
    await stopStandby();
    assert.deepEqual((await keys(STALE)).toSorted(), ["after", "before", "hidden", "own"]);
    assert.equal(replica.pool(), null);
    await until(() => t.logs.some((line) => line.includes("the database replica is not used")));
  });

  async function rowsOfUsersReport(): Promise<number> {
    const { status, body } = await actor.post("/api/v1/reports/generate", { templateId: "users", format: 3 });
    assert.equal(status, 201, JSON.stringify(body));
    const [execution] = await t.steward.platform.sql<{ rowCount: number }[]>`
      select row_count from report_executions where id = ${body.id}`;
    return execution?.rowCount ?? -1;
  }
}
