// Answers of the service while the database, the object store or Deno KV is unavailable.
import assert from "node:assert/strict";
import { join } from "node:path";
import { connectPostgres } from "../../infra/postgres/postgres.ts";
import { createTestDatabase } from "../support/cluster.ts";
import { startObjectStore } from "../support/object_store.ts";
import { setup } from "../support/setup.ts";
import { TcpProxy } from "../support/tcp_proxy.ts";
import { until } from "../support/until.ts";

const folder = await Deno.makeTempDir({ prefix: "steward-test-" });
const KV_PATH = join(folder, "kv.sqlite");
await Deno.writeTextFile(KV_PATH, "this is no database ".repeat(100));
const databaseUrl = await createTestDatabase();
const { proxy, url } = await TcpProxy.forDatabase(databaseUrl);
const { store, settings } = await startObjectStore(folder);
const t = await setup({ DATABASE_URL: url, KV_PATH, ...settings });
const actor = await t.actor({ permissions: ["read:users", "upload:files"] });
Deno.test.afterAll(async () => {
  await t.stop();
  await proxy.refuse();
  await Deno.remove(folder, { recursive: true });
});

Deno.test("while the database is unreachable, requests are answered 503; afterwards, they succeed again", async () => {
  await proxy.refuse();
  const { status, body, headers } = await actor.get("/api/v1/auth/me");
  assert.deepEqual([status, body.code, headers.get("retry-after")], [503, "DATABASE_UNAVAILABLE", "1"]);
  const address = /127\.0\.0\.1:(?!\d+\/problems)/;
  assert.doesNotMatch(JSON.stringify(body), address, "no address of the database");
  assert.equal((await t.nobody.get("/healthz")).status, 200);
  // a request may share checks that began before the outage
  await until(() => t.nobody.get("/readyz"), ({ body }) => body.checks.postgres === "failed");
  await proxy.pass();
  await until(() => t.nobody.get("/readyz"), ({ status }) => status === 200);
  assert.equal((await actor.get("/api/v1/auth/me")).status, 200);
  const job = await actor.post("/api/v1/jobs", { jobTypeName: "steward.echo", serializedArgs: "{}" });
  assert.equal(await t.settled(job.body.id), "Succeeded");
});

const FULL = ["DATABASE_UNAVAILABLE", "10", "the database has run out of disk space, memory or another"];
const UNREACHABLE = ["DATABASE_UNAVAILABLE", "1", "the database is unreachable"];
const BUSY = ["DATABASE_BUSY_UNAVAILABLE", "2"];
/** By SQLSTATE: the code, Retry-After and the text in the log. */
const FAILURES: Record<string, string[]> = {
  "53100": FULL, // disk full
  "53200": FULL, // out of memory
  "53400": FULL, // configuration limit exceeded
  "58030": FULL, // I/O error
  "53300": UNREACHABLE, // too many connections
  "57P03": UNREACHABLE, // cannot connect now
  "55P03": BUSY, // lock timeout
  "57014": BUSY, // statement timeout
};

Deno.test("a request whose write fails for lack of a resource, or takes too long, is answered 503 with the time to wait", async () => {
  const sql = connectPostgres(databaseUrl, { max: 1 });
  const write = () => t.systemAdmin.post("/api/v1/roles", { name: crypto.randomUUID() });
  await sql.unsafe("create function fail() returns trigger language plpgsql as 'begin return new; end'");
  await sql.unsafe("create trigger failing before insert on roles for each row execute function fail()");
  for (const [state, [code, retryAfter, logged = ""]] of Object.entries(FAILURES)) {
    await sql.unsafe(`create or replace function fail() returns trigger language plpgsql
      as 'begin raise sqlstate ''${state}''; end'`);
    const { status, body, headers } = await write();
    assert.deepEqual([status, body.code, headers.get("retry-after")], [503, code, retryAfter], state);
    assert.ok(t.logs.some((line) => line.includes(logged) && line.includes(body.traceId)), state);
  }
  await sql.unsafe("drop trigger failing on roles");
  assert.equal((await write()).status, 201);
  await sql.end();
});

Deno.test("without a readable Deno KV file, and while the object store is unreachable, requests that need the store get 503 immediately, and others work", async () => {
  assert.ok(t.logs.some((line) => line.includes("Deno KV could not be opened")));
  const scheduledAt = new Date(Date.now() + 300).toISOString();
  const args = { jobTypeName: "steward.echo", serializedArgs: "{}", scheduledAt };
  const job = await actor.post("/api/v1/jobs", args);
  await store.stop();
  await until(() => t.nobody.get("/readyz"), ({ body }) => body.checks.objectStore === "failed");
  const report = await actor.post("/api/v1/reports/generate", { templateId: "users", format: 3 });
  assert.deepEqual([report.status, report.body.code], [503, "FILE_STORAGE_UNAVAILABLE"]);
  assert.equal((await actor.get("/api/v1/users")).status, 200);
  assert.equal(await t.settled(job.body.id), "Succeeded");
});
