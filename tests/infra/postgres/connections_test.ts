// Connections to Postgres: hosts, limits of sessions, poolers, and connections that are lost.
import assert from "node:assert/strict";
import { connect, createServer } from "node:net";
import { setTimeout as pause } from "node:timers/promises";
import { freePort } from "../../../infra/embedded/free_port.ts";
import { databaseFailure } from "../../../infra/postgres/failures.ts";
import {
  afterCommit,
  connectPostgres,
  type Pool,
  type Sql,
  transact,
  type Tx,
  withCommit,
} from "../../../infra/postgres/postgres.ts";
import { beginReading, connectReportReader } from "../../../infra/postgres/report_reader.ts";
import { databaseUrl as databaseUrlShape } from "../../../infra/setting_shapes.ts";
import { atEnd } from "../../support/at_end.ts";
import { createTestDatabase } from "../../support/cluster.ts";

const databaseUrl = await createTestDatabase();
const [sql, one, other] = [2, 1, 1].map((max) => connectPostgres(databaseUrl, { max })) as [Pool, Pool, Pool];
Deno.test.afterAll(async () => {
  for (const pool of [sql, one, other]) await pool.end();
});

/** Checks that all connections of the pool work. A late write to a closed connection would crash the process meanwhile. */
async function requireUsable(): Promise<void> {
  const answers = await Promise.all([1, 2, 3].map((n) => transact(sql, (tx) => tx`select ${n}::int as n`)));
  assert.deepEqual(answers.map(([row]) => row?.n), [1, 2, 3]);
}
const pidOf = async (q: Sql): Promise<number> =>
  (await q<{ pid: number }[]>`select pg_backend_pid() as pid`)[0]?.pid ?? 0;
/** Ends a connection as the server does. */
const terminate = (pid: number) => other`select pg_terminate_backend(${pid})`;
const isUnreachable = (error: unknown) => databaseFailure(error) === "unreachable";

Deno.test("if a transaction's connection is closed, only this transaction fails; the process and the pool continue", async () => {
  for (let round = 0; round < 2; round++) {
    const started = Promise.withResolvers<number>();
    const work = transact(sql, async (tx) => {
      await tx`create table if not exists lost (id int)`;
      started.resolve(await pidOf(tx));
      await tx`select pg_sleep(60)`;
    });
    await Promise.all([assert.rejects(work, isUnreachable), started.promise.then(terminate)]);
    await requireUsable();
  }
  assert.equal((await sql`select to_regclass('lost') as it`)[0]?.it, null);
});

Deno.test("after the server ended a connection during a query, the next query on it succeeds", async () => {
  for (let round = 0; round < 2; round++) {
    const pid = await pidOf(one);
    const rejected = assert.rejects(one`select pg_sleep(60)`.execute(), isUnreachable);
    await terminate(pid);
    await rejected;
    assert.deepEqual([...await one`select 1 as n`], [{ n: 1 }]);
  }
});

Deno.test("after its connection is closed, a transaction's work sends no commit and no rollback", async () => {
  const fail = () => {
    throw new Error("an error of the work");
  };
  const ends: [isTrailing: boolean, outcome: (tx: Tx) => unknown][] = [
    [false, () => "done"],
    [false, (tx) => tx`select 1`],
    [true, () => "done"],
    [true, fail],
  ];
  for (const [isTrailing, outcome] of ends) {
    const failing = transact(sql, async (tx) => {
      const pid = await pidOf(tx);
      if (isTrailing) await withCommit(tx, tx`select pg_sleep(60)`);
      await terminate(pid);
      await pause(30); // the driver learns of it
      return await outcome(tx);
    });
    await assert.rejects(failing, isUnreachable);
    await requireUsable();
  }
});

Deno.test("a committed transaction does not run again if its hook fails", async () => {
  await sql`create table done (id int)`;
  const failing = transact(sql, async (tx) => {
    await tx`insert into done values (1)`;
    afterCommit(tx, async () => void await sql`do $$ begin raise sqlstate '40P01'; end $$`);
  });
  await assert.rejects(failing, { code: "40P01" });
  assert.equal((await sql`select from done`).length, 1);
});

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

Deno.test("each kind of work has its session limits, with TCP keepalive; page costs of the database URL hold", async () => {
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
  await other`create table held as select 1 as id`;
  const silent = transact(sql, async (tx) => {
    await tx`select from held for update`;
    await other`update held set id = 2`; // waits for the row lock
    return await tx`select 1`;
  });
  await assert.rejects(silent, isUnreachable);
  assert.equal((await sql`select id from held`)[0]?.id, 2);
  await sql.end();
});

/** `url` with other hosts before its own one. */
function withHosts(url: string, ...hosts: string[]): string {
  const { host } = new URL(url);
  return url.replace(host, [...hosts, host].join(","));
}
const closed = () => `127.0.0.1:${freePort()}`;

Deno.test("with several hosts, connections go to the one that is the primary", async () => {
  const url = withHosts(databaseUrl, closed(), closed());
  const sql = connectPostgres(url, { max: 3 });
  await using _ = atEnd(() => sql.end());
  const rows = await Promise.all(
    [1, 2, 3].map((n) => sql`select ${n}::int as n, pg_is_in_recovery() as standby`),
  );
  assert.deepEqual(rows.flat(), [1, 2, 3].map((n) => ({ n, standby: false })));
  const heard = Promise.withResolvers<string>();
  await sql.listen("several_hosts", heard.resolve);
  await sql.notify("several_hosts", "yes");
  assert.equal(await heard.promise, "yes");
});

Deno.test("if no host is the primary, queries fail as with an unreachable database, and the pool works later", async () => {
  const sql = connectPostgres(`postgres://steward:secret@${closed()},${closed()}/steward`, { max: 2 });
  await using _ = atEnd(() => sql.end());
  for (let n = 0; n < 3; n++) { // also right after a failed search, whose result is shared
    await assert.rejects(sql`select 1`.execute(), (error: Error) => {
      assert.match(
        error.message,
        /^no host of the database URL is the primary: host 1 does not answer, host 2 /,
      );
      return databaseFailure(error) === "unreachable";
    });
  }
});

Deno.test("DATABASE_URL may name several hosts", () => {
  for (const hosts of ["db", "db:5433", "db1:5432,db2:5432,[::1]:5432", "127.0.0.1:1,127.0.0.1:2"]) {
    const url = `postgres://user:pass%2C@${hosts}/steward?sslmode=require`;
    assert.ok(databaseUrlShape.safeParse(url).success, hosts);
  }
  const wrong = ["http://db/steward", "postgres://db1:5432,db2:99999/steward", "db1,db2", "postgres://a b/x"];
  for (const url of wrong) assert.ok(!databaseUrlShape.safeParse(url).success, url);
});

/** The types of complete messages. */
function typesOf(bytes: Uint8Array): string {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  let types = "";
  for (let at = 0; at + 5 <= bytes.length; at += 1 + view.getUint32(at + 1)) {
    types += String.fromCharCode(bytes[at] ?? 0);
  }
  return types;
}

Deno.test("behind a pooler, a query is sent after the end of the one before", async () => {
  const url = new URL(databaseUrl);
  const { hostname, port } = url;
  const sent: string[] = [];
  const proxy = createServer((client) => {
    client.on("data", (bytes: Uint8Array) => sent.push(typesOf(bytes)));
    client.pipe(connect(Number(port), hostname)).pipe(client);
  });
  await new Promise<void>((resolve) => proxy.listen(0, "127.0.0.1", resolve));
  url.port = String((proxy.address() as { port: number }).port);
  const sql = connectPostgres(url.href, { max: 1, pooled: true });
  await sql`select 0`; // opens the connection
  sent.length = 0;
  const answers = await Promise.all([sql`select 1 as n`, sql`select ${2}::int as n`, sql`select 3 as n`]);
  assert.deepEqual(answers.map(([row]) => row?.n), [1, 2, 3]);
  // a query with a parameter has two steps: its description, and its execution
  assert.deepEqual(sent.map((types) => types.slice(0, 1)), ["P", "P", "B", "P"]);
  await sql.end();
  proxy.close();
});
