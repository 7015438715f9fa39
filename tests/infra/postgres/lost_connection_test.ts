import assert from "node:assert/strict";
import { setTimeout as pause } from "node:timers/promises";
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
import { createTestDatabase } from "../../support/cluster.ts";

const url = await createTestDatabase();
const [sql, one, other] = [2, 1, 1].map((max) => connectPostgres(url, { max })) as [Pool, Pool, Pool];
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
