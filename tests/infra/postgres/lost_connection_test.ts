import assert from "node:assert/strict";
import { setTimeout as pause } from "node:timers/promises";
import { databaseFailure } from "../../../infra/postgres/failures.ts";
import {
  afterCommit,
  connectPostgres,
  type Sql,
  transact,
  type Tx,
  withCommit,
} from "../../../infra/postgres/postgres.ts";
import { createTestDatabase } from "../../support/cluster.ts";

/** Checks that all connections of the pool work. A late write to a closed connection would crash the process meanwhile. */
async function requireUsable(sql: Sql): Promise<void> {
  const answers = await Promise.all([1, 2, 3].map((n) => transact(sql, (tx) => tx`select ${n}::int as n`)));
  assert.deepEqual(answers.map(([row]) => row?.n), [1, 2, 3]);
}

Deno.test("if a transaction's connection is closed, only this transaction fails; the process and the pool continue", async () => {
  const url = await createTestDatabase();
  const [sql, other] = [connectPostgres(url, { max: 2 }), connectPostgres(url, { max: 1 })];
  try {
    for (let round = 0; round < 2; round++) {
      const started = Promise.withResolvers<number>();
      const work = transact(sql, async (tx) => {
        await tx`create table if not exists lost (id int)`;
        const [row] = await tx<{ pid: number }[]>`select pg_backend_pid() as pid`;
        started.resolve(row?.pid ?? 0);
        await tx`select pg_sleep(60)`;
      });
      await Promise.all([
        assert.rejects(work, (error) => databaseFailure(error) === "unreachable"),
        started.promise.then((pid) => other`select pg_terminate_backend(${pid})`),
      ]);
      await requireUsable(sql);
    }
    assert.equal((await sql`select to_regclass('lost') as it`)[0]?.it, null);
  } finally {
    await sql.end();
    await other.end();
  }
});

Deno.test("after the server ended a connection during a query, the next query on it succeeds", async () => {
  const url = await createTestDatabase();
  const [sql, other] = [connectPostgres(url, { max: 1 }), connectPostgres(url, { max: 1 })];
  try {
    for (let round = 0; round < 2; round++) {
      const [row] = await sql<{ pid: number }[]>`select pg_backend_pid() as pid`;
      const ending = sql`select pg_sleep(60)`;
      const rejected = assert.rejects(ending, (error) => databaseFailure(error) === "unreachable");
      await other`select pg_terminate_backend(${row?.pid ?? 0})`;
      await rejected;
      assert.deepEqual([...await sql`select 1 as n`], [{ n: 1 }]);
    }
  } finally {
    await sql.end();
    await other.end();
  }
});

Deno.test("after its connection is closed, a transaction's work sends no commit and no rollback", async () => {
  const url = await createTestDatabase();
  const [sql, other] = [connectPostgres(url, { max: 2 }), connectPostgres(url, { max: 1 })];
  const ends = [
    { withTrailing: false, outcome: () => "done" },
    { withTrailing: false, outcome: (tx: Tx) => tx`select 1` },
    { withTrailing: true, outcome: () => "done" },
    {
      withTrailing: true,
      outcome: () => {
        throw new Error("an error of the work");
      },
    },
  ];
  try {
    for (const { withTrailing, outcome } of ends) {
      const failing = transact(sql, async (tx) => {
        const [row] = await tx<{ pid: number }[]>`select pg_backend_pid() as pid`;
        if (withTrailing) await withCommit(tx, tx`select pg_sleep(60)`);
        await other`select pg_terminate_backend(${row?.pid ?? 0})`;
        await pause(30); // the driver learns of it
        return await outcome(tx);
      });
      await assert.rejects(failing, (error) => databaseFailure(error) === "unreachable");
      await requireUsable(sql);
    }
  } finally {
    await sql.end();
    await other.end();
  }
});

Deno.test("a committed transaction does not run again if its hook fails", async () => {
  const url = await createTestDatabase();
  const sql = connectPostgres(url, { max: 2 });
  try {
    await sql`create table done (id int)`;
    const failing = transact(sql, async (tx) => {
      await tx`insert into done values (1)`;
      afterCommit(tx, async () => void await sql`do $$ begin raise sqlstate '40P01'; end $$`);
    });
    await assert.rejects(failing, { code: "40P01" });
    assert.equal((await sql`select from done`).length, 1);
  } finally {
    await sql.end();
  }
});
