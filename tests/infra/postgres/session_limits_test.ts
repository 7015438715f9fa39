import assert from "node:assert/strict";
import { beginReading, connectReportReader } from "../../../infra/postgres/report_reader.ts";
import { databaseFailure } from "../../../infra/postgres/failures.ts";
import { connectPostgres, type Sql, transact } from "../../../infra/postgres/postgres.ts";
import { createTestDatabase } from "../../support/cluster.ts";
import { setup } from "../../support/setup.ts";

const databaseUrl = await createTestDatabase();

/** The URL of the same database, with other limits in its parameters. */
function limited(limits: Record<string, string>): string {
  const url = new URL(databaseUrl);
  for (const [name, value] of Object.entries(limits)) url.searchParams.set(name, value);
  return url.href;
}

async function timeouts(sql: Pick<Sql, "unsafe">): Promise<string[]> {
  const names = ["lock_timeout", "statement_timeout", "idle_in_transaction_session_timeout"];
  const columns = names.map((name, n) => `current_setting('${name}') as c${n}`);
  const [row] = await sql.unsafe(`select ${columns}`);
  return Object.values(row ?? {});
}

Deno.test("each kind of work has its session limits, with TCP keepalive", async () => {
  const limits = {
    service: ["3500ms", "90s", "8s"],
    pointRead: ["3500ms", "5s", "8s"],
    upkeep: ["3500ms", "0", "8s"],
    migration: ["0", "0", "8s"],
  };
  for (const [work, expected] of Object.entries(limits)) {
    const sql = connectPostgres(databaseUrl, { max: 1, work: work as keyof typeof limits });
    assert.deepEqual(await timeouts(sql), expected, work);
    const [tcp] = await sql`
      select current_setting('tcp_keepalives_idle') as idle, current_setting('tcp_keepalives_interval') as interval,
        current_setting('tcp_keepalives_count') as count, current_setting('tcp_user_timeout') as unread`;
    assert.deepEqual({ ...tcp }, { idle: "5", interval: "2", count: "3", unread: "10000" }, work);
    const [costs] = await sql`select current_setting('random_page_cost') as random_page`;
    assert.equal(costs?.randomPage, "1.1", work);
    await sql.end();
  }
});

Deno.test("the page costs of the database URL replace those of the service", async () => {
  const sql = connectPostgres(limited({ random_page_cost: "4" }), { max: 1 });
  assert.deepEqual({ ...(await sql`show random_page_cost`)[0] }, { randomPageCost: "4" });
  await sql.end();
});

Deno.test("behind a pooler, each transaction sets the limits, and the connection has no parameters", async () => {
  const sql = connectPostgres(limited({ lock_timeout: "77" }), { max: 1, pooled: true, statementMs: 4_000 });
  assert.deepEqual(await transact(sql, (tx) => timeouts(tx)), ["3500ms", "4s", "8s"]);
  assert.deepEqual(await timeouts(sql), ["77ms", "0", "0"]);
  await sql.end();
});

Deno.test("a report has no statement limit", async () => {
  const reader = connectReportReader(databaseUrl);
  await beginReading(reader.sql);
  const query = reader.sql`
    select string_agg(name || '=' || setting, ' ' order by name) as it from pg_settings
    where name in ('lock_timeout', 'statement_timeout', 'tcp_user_timeout', 'client_connection_check_interval')`;
  const texts: string[] = [];
  for await (const { bytes } of reader.rows(query, new AbortController().signal)) {
    texts.push(new TextDecoder().decode(bytes.slice(11)));
  }
  await reader.close();
  assert.deepEqual(texts, [
    "client_connection_check_interval=5000 lock_timeout=30000 statement_timeout=0 tcp_user_timeout=600000",
  ]);
});

Deno.test("an idle transaction loses its locks, and its next query fails", async () => {
  const sql = connectPostgres(limited({ idle_in_transaction_session_timeout: "100" }), { max: 1 });
  const other = connectPostgres(databaseUrl, { max: 1 });
  await other`create table held as select 1 as id`;
  const silent = transact(sql, async (tx) => {
    await tx`select from held for update`;
    await other`update held set id = 2`; // waits for the row lock
    return await tx`select 1`;
  });
  await assert.rejects(silent, (error) => databaseFailure(error) === "unreachable");
  assert.equal((await sql`select id from held`)[0]?.id, 2);
  await Promise.all([sql.end(), other.end()]);
});

Deno.test("a request with a lock timeout or a statement timeout is answered 503", async () => {
  const t = await setup({ DATABASE_URL: limited({ lock_timeout: "100", statement_timeout: "400" }) });
  const other = connectPostgres(databaseUrl, { max: 1 });
  const id = await t.tenant();
  const change = () => t.systemAdmin.put(`/api/v1/tenants/${id}`, { name: `Renamed ${id}` });
  const requireBusy = async () => {
    const { status, body, headers } = await change();
    assert.deepEqual([status, body.code], [503, "DATABASE_BUSY_UNAVAILABLE"]);
    assert.equal(headers.get("retry-after"), "2");
  };
  await transact(other, async (tx) => {
    await tx`select from tenants where id = ${id} for update`;
    await requireBusy();
  });
  await other.unsafe(`create function slow() returns trigger language plpgsql as
    'begin perform pg_sleep(10); return new; end'`);
  await other`create trigger slow before update on tenants for each row execute function slow()`;
  await requireBusy();
  await other`drop trigger slow on tenants`;
  assert.equal((await change()).status, 200);
  await other.end();
  await t.stop();
});
