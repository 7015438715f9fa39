// Answers of the service while the database, the object store or Deno KV is unavailable.
import assert from "node:assert/strict";
import { join } from "node:path";
import { connectPostgres } from "../../infra/postgres/postgres.ts";
import { createTestDatabase } from "../support/cluster.ts";
import { startObjectStore } from "../support/object_store.ts";
import { setup } from "../support/setup.ts";
import { TcpProxy } from "../support/tcp_proxy.ts";
import { until } from "../support/until.ts";

Deno.test("while the database is unreachable or out of a resource, requests are answered 503; afterwards, they succeed again", async () => {
  const databaseUrl = await createTestDatabase();
  const { proxy, url } = await TcpProxy.forDatabase(databaseUrl);
  const t = await setup({ DATABASE_URL: url });
  const actor = await t.actor();
  await proxy.refuse();
  const response = await actor.get("/api/v1/auth/me");
  assert.equal(response.status, 503);
  assert.equal(response.body.code, "DATABASE_UNAVAILABLE");
  assert.equal(response.headers.get("retry-after"), "1");
  assert.doesNotMatch(
    JSON.stringify(response.body),
    /127\.0\.0\.1:(?!\d+\/problems)/,
    "no address of the database",
  );
  assert.equal((await t.nobody.get("/healthz")).status, 200);
  // a request may share checks that began before the outage
  await until(() => t.nobody.get("/readyz"), ({ body }) => body.checks.postgres === "failed");
  await proxy.pass();
  await until(() => t.nobody.get("/readyz"), ({ status }) => status === 200);
  assert.equal((await actor.get("/api/v1/auth/me")).status, 200);
  const job = await actor.post("/api/v1/jobs", { jobTypeName: "steward.echo", serializedArgs: "{}" });
  assert.equal(await t.settled(job.body.id), "Succeeded");

  // Writes fail for lack of a resource.
  const sql = connectPostgres(databaseUrl, { max: 1 });
  const write = () => t.systemAdmin.post("/api/v1/roles", { name: crypto.randomUUID() });
  const full = ["10", "the database has run out of disk space, memory or another resource"] as const;
  const unreachable = ["1", "the database is unreachable"] as const;
  const failures = {
    "53100": full, // disk full
    "53200": full, // out of memory
    "53400": full, // configuration limit exceeded
    "58030": full, // I/O error
    "53300": unreachable, // too many connections
    "57P03": unreachable, // cannot connect now
  };
  await sql.unsafe("create function fail() returns trigger language plpgsql as 'begin return new; end'");
  await sql.unsafe("create trigger failing before insert on roles for each row execute function fail()");
  for (const [state, [retryAfter, logged]] of Object.entries(failures)) {
    await sql.unsafe(`create or replace function fail() returns trigger language plpgsql
      as 'begin raise sqlstate ''${state}''; end'`);
    const { status, body, headers } = await write();
    assert.deepEqual([status, body.code], [503, "DATABASE_UNAVAILABLE"], state);
    assert.equal(headers.get("retry-after"), retryAfter, state);
    assert.ok(t.logs.some((line) => line.includes(logged) && line.includes(body.traceId)), state);
  }
  await sql.unsafe("drop trigger failing on roles");
  assert.equal((await write()).status, 201);
  await sql.end();
  await t.stop();
  await proxy.refuse();
});

Deno.test("without a readable Deno KV file, and while the object store is unreachable, requests that need the store get 503 immediately, and others work", async () => {
  const folder = await Deno.makeTempDir({ prefix: "steward-test-" });
  const KV_PATH = join(folder, "kv.sqlite");
  await Deno.writeTextFile(KV_PATH, "this is no database ".repeat(100));
  const { store, settings } = await startObjectStore(folder);
  const t = await setup({ KV_PATH, ...settings });
  assert.ok(t.logs.some((line) => line.includes("Deno KV could not be opened")));
  const actor = await t.actor({ permissions: ["read:users", "upload:files"] });
  const scheduledAt = new Date(Date.now() + 300).toISOString();
  const args = { jobTypeName: "steward.echo", serializedArgs: "{}", scheduledAt };
  const job = await actor.post("/api/v1/jobs", args);
  await store.stop();
  await until(() => t.nobody.get("/readyz"), ({ body }) => body.checks.objectStore === "failed");
  const report = await actor.post("/api/v1/reports/generate", { templateId: "users", format: 3 });
  assert.equal(report.status, 503);
  assert.equal(report.body.code, "FILE_STORAGE_UNAVAILABLE");
  assert.equal((await actor.get("/api/v1/users")).status, 200);
  assert.equal(await t.settled(job.body.id), "Succeeded");
  await t.stop();
  await Deno.remove(folder, { recursive: true });
});
